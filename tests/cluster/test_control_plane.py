"""The test cluster itself: what every other test on it relies on."""

from tests.controlplane import ControlPlane


def test_it_serves_the_kubernetes_version_that_is_built(own_control_plane: ControlPlane) -> None:
    assert "Server Version: v1.36.3" in own_control_plane.kubectl("version")


def test_pods_of_a_deployment_run_on_simulated_nodes(own_control_plane: ControlPlane, namespace: str) -> None:
    own_control_plane.add_nodes(3, cpu="4", memory="16Gi", pods=20)
    own_control_plane.kubectl("create", "deployment", "web", "-n", namespace, "--image=web", "--replicas=30")
    own_control_plane.kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=60s")
