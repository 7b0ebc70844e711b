"""A buffer on the real Karpenter (instances are simulated): units become nodes, pods use them, and they come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.cluster.backends import PRIORITY_CLASS, wait_for_made
from tests.cluster.objects import (
    Object,
    buffer,
    condition,
    deployment,
    pod_template,
    pods_of,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.cluster.recorded import created, turned
from tests.cluster.rest import rest_client
from tests.controlplane import ControlPlane, Options
from tests.controlplane.choice import USER_KUBECONFIG, user_kubeconfig
from tests.controlplane.waiting import wait_for
from tests.manifests.documents import CRDS
from tests.operator_process import OperatorProcess

pytestmark = [pytest.mark.karpenter, pytest.mark.timeout(600)]

UPSTREAM = "capacitybuffers.autoscaling.x-k8s.io"
NODES_SECONDS = 60.0
UNITS = 20
NODE_POOL: list[Object] = [
    {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}},
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                        {"key": "karpenter.kwok.sh/instance-cpu", "operator": "In", "values": ["8"]},
                    ],
                }
            },
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "1s",
                "budgets": [{"nodes": "100%"}],
            },
        },
    },
]
"""Instances of 8 cores, which go when they are empty."""


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    if user_kubeconfig() is not None:
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    with ControlPlane(options=Options(karpenter=True)) as found:
        found.kubectl("apply", "--server-side", "-k", str(CRDS))
        found.apply(PRIORITY_CLASS, *NODE_POOL)
        found.wait_until_served()
        yield found


@pytest.fixture(scope="module")
def operator(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    process = OperatorProcess(plane.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log")
    process.start_and_wait()
    yield process
    process.stop()


@pytest.fixture
def team(plane: ControlPlane, operator: OperatorProcess) -> Iterator[str]:
    """A namespace on a cluster without nodes."""
    with plane.namespace() as name:
        yield name
        plane.kubectl("delete", "cbuf,deployments", "--all", "-n", name, "--cascade=foreground", "--timeout=60s")
    wait_for_nodes(plane, 0)


def nodes(plane: ControlPlane) -> set[str]:
    with rest_client(plane.kubeconfig) as rest:
        return {each["metadata"]["name"] for each in rest.items("", "Node")}


def wait_for_nodes(plane: ControlPlane, count: int, *, timeout: float = NODES_SECONDS) -> None:
    wait_for(
        lambda: len(nodes(plane)) == count,
        timeout=timeout,
        message=lambda: f"{count} nodes; there are {nodes(plane)}: {plane.kubectl('get', 'nodeclaims')}",
    )


def wait_until_ready(plane: ControlPlane, namespace: str, units: int = UNITS) -> Object:
    expected = {"readyReplicas": units, "active": {"replicas": units, "readyReplicas": units}}
    return wait_for_status(plane, namespace, "cbuf/buffer", expected, timeout=NODES_SECONDS)


def run_pods(plane: ControlPlane, namespace: str, count: int) -> list[dict[str, Any]]:
    """Scale the workload and return its pods once all are on nodes."""
    plane.apply(deployment(replicas=count, cpu="1"), namespace=namespace)
    pods: list[dict[str, Any]] = []

    def all_on_nodes() -> bool:
        pods[:] = pods_of(plane, namespace, "app=web")
        return len(pods) == count and all(each["spec"].get("nodeName") for each in pods)

    wait_for(all_on_nodes, timeout=NODES_SECONDS, message=lambda: f"{count} pods on nodes; {pods}")
    return pods


def pending_seconds(pod: Object) -> float:
    """Return how long a pod waited for a node; the API has whole seconds."""
    placed = next(each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
    made, done = (
        datetime.fromisoformat(each) for each in (pod["metadata"]["creationTimestamp"], placed["lastTransitionTime"])
    )
    return (done - made).total_seconds()


def found_no_room(plane: ControlPlane, namespace: str) -> list[str]:
    """Return the pods that the scheduler had no node for when it looked."""
    events = plane.get("events", "-n", namespace, "--field-selector=reason=FailedScheduling,involvedObject.kind=Pod")
    return [each["involvedObject"]["name"] for each in events]


def test_units_become_nodes_that_pods_use_at_once_and_that_come_back_and_go(
    plane: ControlPlane, team: str, figure: Callable[[str], None]
) -> None:
    plane.apply(pod_template(cpu="1"), deployment(replicas=0, cpu="1"), namespace=team)
    plane.apply(buffer(backend="Auto", podTemplateRef={"name": "unit"}, replicas=UNITS), namespace=team)
    status = wait_until_ready(plane, team)
    warm = nodes(plane)
    assert status["backend"]["name"] == "Autoscaler"
    assert status["backend"]["controller"] == "Karpenter"
    assert condition(status, "Provisioned")["status"] == "True"
    assert status["nodes"]["active"] == len(warm) == 3
    assert "c-8x" in status["nodes"]["group"]

    pods = run_pods(plane, team, UNITS)
    assert {each["spec"]["nodeName"] for each in pods} <= warm, "on the nodes that stood ready"
    assert found_no_room(plane, team) == [], "no pod waits longer than the scheduler needs"
    figure(f"pods that used units waited for {max(map(pending_seconds, pods)):.0f} s at most")

    wait_for(
        lambda: len(nodes(plane) - warm) >= 2,
        timeout=NODES_SECONDS,
        message=lambda: f"the units that were taken on further nodes than {warm}: {nodes(plane)}",
    )
    wait_until_ready(plane, team)
    assert {each["spec"]["nodeName"] for each in plane.get("pods", "-n", team, "-l", "app=web")} <= warm

    plane.kubectl("delete", "cbuf", "buffer", "-n", team)
    wait_for(lambda: plane.get(UPSTREAM, "-n", team) == [], timeout=15, message="the end of Karpenter's buffers")
    wait_for_nodes(plane, 3)
    run_pods(plane, team, 0)
    wait_for_nodes(plane, 0)


def test_a_unit_that_no_instance_holds_is_infeasible_within_a_minute(
    plane: ControlPlane, team: str, figure: Callable[[str], None]
) -> None:
    plane.apply(pod_template(cpu="1000"), namespace=team)
    plane.apply(buffer(backend="Auto", podTemplateRef={"name": "unit"}, replicas=2), namespace=team)
    told = wait_for_condition(plane, team, "cbuf/buffer", "Infeasible", "True", "AutoscalerFoundNone", timeout=60)
    found = plane.get("-n", team, "cbuf/buffer")
    took = turned(found, "Infeasible") - created(found)
    figure(f"a unit that no instance holds was said to be infeasible after {took:.0f} s")
    assert took <= 60
    assert "Karpenter" in told["message"]
    assert status_of(plane, team, "cbuf/buffer")["active"] == {"replicas": 2, "readyReplicas": 0}
    plane.apply(pod_template(cpu="1"), namespace=team)
    wait_until_ready(plane, team, 2)
    wait_for_condition(plane, team, "cbuf/buffer", "Infeasible", "False", "NodesFit")


def test_karpenter_is_killed_and_comes_back_while_a_buffer_grows(plane: ControlPlane, team: str) -> None:
    plane.apply(pod_template(cpu="1"), namespace=team)
    plane.apply(buffer(backend="Auto", podTemplateRef={"name": "unit"}, replicas=5), namespace=team)
    wait_until_ready(plane, team, 5)
    warm = nodes(plane)
    plane.kill("karpenter")
    try:
        plane.kubectl("scale", "-n", team, "cbuf/buffer", f"--replicas={UNITS}")
        # It is not forgotten for that: nothing else is made in its place, and what is missing is told.
        wait_for_status(plane, team, "cbuf/buffer", {"replicas": UNITS, "backend": {"name": "Autoscaler"}})
        told = wait_for_condition(plane, team, "cbuf/buffer", "Provisioned", "False", "RequiresNewCapacity")
        assert f"of {UNITS} active units are there" in told["message"]
        wait_for_made(plane, team, UPSTREAM, {"buffer-active": UNITS})
        assert plane.get("deployments", "-n", team) == []
    finally:
        plane.start("karpenter")
    wait_until_ready(plane, team)
    assert warm <= nodes(plane), "the nodes that stood ready still do"
    assert len(nodes(plane)) == 3, "and there are no more than it takes"
    plane.kubectl("delete", "cbuf", "buffer", "-n", team)
    wait_for_nodes(plane, 0, timeout=2 * NODES_SECONDS)  # seen to take more than a minute after a restart
