"""The test cluster itself: what every other test on it relies on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import Cluster, ControlPlane, KubectlError, wait_for
from tests.controlplane.binaries import BinariesError, find_binaries, find_kubectl
from tests.controlplane.build import SOURCES

StartControlPlane = Callable[..., ControlPlane]
REPOSITORY = SOURCES.parents[1]


def test_it_is_ready_in_seconds(own_control_plane: ControlPlane, figure: Callable[[str], None]) -> None:
    figure(f"ready after {own_control_plane.start_seconds:.1f} s, where 15 s are the aim")
    assert own_control_plane.kubectl("get", "--raw", "/readyz") == "ok"
    assert own_control_plane.get("serviceaccount", "default", "-n", "default")
    for component in own_control_plane.components:
        own_control_plane.wait_until_healthy(component, timeout=1)


def test_it_serves_the_version_that_is_built(own_control_plane: ControlPlane) -> None:
    version = json.loads(own_control_plane.kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"] == "v1.36.3"
    assert version["clientVersion"]["gitVersion"] == "v1.36.3"


def test_pods_of_a_deployment_run_on_simulated_nodes(own_control_plane: ControlPlane, namespace: str) -> None:
    zone = {"topology.kubernetes.io/zone": "a"}
    nodes = own_control_plane.add_nodes(
        3, cpu="4", memory="16Gi", pods=20, labels=zone, extended={"example.com/gpu": "2"}
    )
    own_control_plane.kubectl("create", "deployment", "web", "-n", namespace, "--image=web", "--replicas=30")
    own_control_plane.wait_for_rollout("web", namespace)
    made = own_control_plane.get("nodes", "-l", "topology.kubernetes.io/zone=a")
    assert sorted(node["metadata"]["name"] for node in made) == sorted(nodes)
    assert {node["status"]["allocatable"]["example.com/gpu"] for node in made} == {"2"}
    # Other tests are to find no room that they did not make. The pods go first, since nobody ends them without a node.
    own_control_plane.kubectl("delete", "deployment", "web", "-n", namespace, "--cascade=foreground")
    own_control_plane.kubectl("delete", "node", *nodes, "--wait=false")


def test_kubectl_errors_are_told(kubectl: Callable[..., str]) -> None:
    with pytest.raises(KubectlError, match=r"kubectl get pod none ended with exit code 1: .*\"none\" not found"):
        kubectl("get", "pod", "none")


def test_a_service_account_has_its_own_rights_and_no_others(control_plane: Cluster, namespace: str) -> None:
    control_plane.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    control_plane.kubectl("create", "role", "reader", "-n", namespace, "--verb=list", "--resource=pods")
    control_plane.kubectl(
        "create", "rolebinding", "reader", "-n", namespace, "--role=reader", f"--serviceaccount={namespace}:reader"
    )
    kubeconfig = control_plane.service_account_kubeconfig(namespace, "reader")

    listed = wait_for(
        lambda: [control_plane.kubectl("get", "pods", kubeconfig=kubeconfig)],
        timeout=30,
        ignore=KubectlError,
        message="the rights of the account",
    )
    assert listed == [""]
    with pytest.raises(KubectlError, match=rf"system:serviceaccount:{namespace}:reader.* cannot list resource"):
        control_plane.kubectl("get", "secrets", kubeconfig=kubeconfig)


def test_a_restarted_api_server_has_the_same_address_and_objects(
    own_control_plane: ControlPlane, namespace: str
) -> None:
    own_control_plane.kubectl("create", "configmap", "kept", "-n", namespace)
    own_control_plane.restart("kube-apiserver")
    assert own_control_plane.get("configmap", "kept", "-n", namespace)
    own_control_plane.kubectl("create", "deployment", "after", "-n", namespace, "--image=x", "--replicas=0")
    own_control_plane.kubectl("rollout", "status", "deployment/after", "-n", namespace, "--timeout=60s")


def test_a_killed_api_server_can_be_started_again(own_control_plane: ControlPlane) -> None:
    own_control_plane.kill("kube-apiserver")
    with pytest.raises(KubectlError, match=r"connection to the server|connection refused"):
        own_control_plane.kubectl("get", "nodes")
    own_control_plane.start("kube-apiserver")
    own_control_plane.kubectl("get", "nodes")


def test_a_paused_api_server_answers_nothing_until_it_is_resumed(own_control_plane: ControlPlane) -> None:
    own_control_plane.pause("kube-apiserver")
    try:
        with pytest.raises(KubectlError, match=r"(?i)timeout|timed out|deadline"):
            own_control_plane.kubectl("get", "namespaces", "--request-timeout=1s")
    finally:
        own_control_plane.resume("kube-apiserver")
    own_control_plane.kubectl("get", "namespaces")


def test_the_same_credentials_work_for_another_address(own_control_plane: ControlPlane) -> None:
    url = own_control_plane.place.url("kube-apiserver", "https").replace("127.0.0.1", "localhost")
    kubeconfig = own_control_plane.kubeconfig_for_server(url)
    assert url in own_control_plane.kubectl("config", "view", kubeconfig=kubeconfig)
    own_control_plane.kubectl("get", "nodes", kubeconfig=kubeconfig)


def test_several_start_at_the_same_time(start_control_plane: StartControlPlane) -> None:
    with ThreadPoolExecutor() as pool:
        started = [future.result() for future in [pool.submit(start_control_plane) for _ in range(2)]]
    servers = {json.loads(plane.kubeconfig.read_text())["clusters"][0]["cluster"]["server"] for plane in started}
    assert len(servers) == 2
    for plane in started:
        plane.add_nodes(1)
        assert len(plane.get("nodes")) == 1


def test_requests_are_in_the_audit_log_and_the_quota_period_is_passed_on(
    start_control_plane: StartControlPlane,
) -> None:
    plane = start_control_plane(audit=True, resource_quota_sync_period="7s")
    plane.kubectl("create", "configmap", "seen")

    def created() -> list[str]:
        # An answer may be there before its line is, and a line before its end.
        lines = plane.place.audit_log.read_text().split("\n")[:-1]
        events = [event for event in map(json.loads, lines) if event["user"]["username"] == "moorage-admin"]
        return [event["objectRef"]["resource"] for event in events if event["verb"] == "create"]

    wait_for(lambda: created() == ["configmaps"], timeout=10, message=lambda: f"the configmap alone: {created()}")
    assert "--resource-quota-sync-period=7s" in plane.components["kube-controller-manager"].command


OWNER = """
import sys
from tests.controlplane import ControlPlane
with ControlPlane() as plane:
    pids = [(component.pid, component._guard.pid) for component in plane.components.values()]
    print(plane.directory, *(pid for pair in pids for pid in pair), flush=True)
    sys.stdin.read()
"""


@pytest.mark.usefixtures("control_plane")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_nothing_is_left_when_the_owner_ends(number: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        directory, *pids = owner.stdout.readline().split()
        assert len(pids) == 10
        assert live(pids) == set(pids)
        owner.send_signal(number)
        wait_for(lambda: not live(pids), timeout=10, message=lambda: f"end of processes {live(pids)}")
    wait_for(lambda: not Path(directory).exists(), timeout=10, message=f"removal of {directory}")


def live(pids: list[str]) -> set[str]:
    """Those of the processes that have not ended; one that only waits to be collected has."""
    found = subprocess.run(
        ["ps", "-o", "pid=,stat=", "-p", ",".join(pids)], capture_output=True, text=True, check=False
    )
    states = dict(line.split() for line in found.stdout.splitlines())
    return {pid for pid, state in states.items() if not state.startswith("Z")}


def test_envtest_programs_are_used_where_they_are(
    own_control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).symlink_to(own_control_plane.binaries.controlplane)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with ControlPlane(binaries=find_binaries()) as plane:
        programs = {name: Path(component.command[0]).parent for name, component in plane.components.items()}
        assert [name for name, folder in programs.items() if folder == tmp_path] == ["etcd", "kube-apiserver"]
        assert plane.get("namespace", "default")


def test_an_envtest_folder_without_its_programs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(BinariesError, match=r"KUBEBUILDER_ASSETS=.* has no program etcd and no kube-apiserver"):
        find_kubectl()


@pytest.fixture
def background(tmp_path: Path, control_plane: Cluster) -> Iterator[Path]:
    yield tmp_path / "cluster"
    run_cli("down", "--directory", str(tmp_path / "cluster"))


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.controlplane", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_cluster_outlives_the_command_that_starts_it_until_it_is_ended(background: Path) -> None:
    up = run_cli("up", "--nodes", "1", "--directory", str(background))
    assert up.returncode == 0, up.stderr
    shown = subprocess.run(
        ["sh", "-c", f"{up.stdout}\nkubectl get nodes -o name"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("node/node-")
    assert "is up already" in run_cli("up", "--directory", str(background)).stderr
    status = run_cli("status", "--directory", str(background))
    assert (status.returncode, status.stdout.count("running")) == (0, 5)
    pids = [line.split()[1] for line in status.stdout.splitlines()]

    assert "has ended" in run_cli("down", "--directory", str(background)).stderr
    assert live(pids) == set()
    assert sorted(path.name for path in background.iterdir()) == ["lock", "logs", "owner.log"]
    assert run_cli("status", "--directory", str(background)).stdout == "no cluster is up\n"


def test_a_cluster_that_cannot_start_says_why(
    background: Path, own_control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etcd").write_text("#!/bin/sh\necho the disk is full >&2\nexit 7\n")
    (tmp_path / "etcd").chmod(0o755)
    (tmp_path / "kube-apiserver").symlink_to(own_control_plane.binaries.controlplane)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    up = run_cli("up", "--directory", str(background))
    assert up.returncode == 1
    assert "etcd ended with exit code 7" in up.stderr
    assert "the disk is full" in up.stderr
    assert run_cli("status", "--directory", str(background)).returncode == 1


FAILING_TEST = """
def test_with_a_namespace(kubectl, namespace):
    kubectl("create", "configmap", "x", "-n", namespace)
    print("made", namespace)

def test_that_fails(kubectl, control_plane):
    control_plane.add_nodes(1)
    kubectl("create", "configmap", "x", "-n", "nowhere")
"""


def run_pytest(folder: Path, **environment: str) -> str:
    (folder / "test_it.py").write_text(FAILING_TEST)
    command = [sys.executable, "-m", "pytest", "-rP", "-c", os.devnull, "--rootdir", str(folder), str(folder)]
    done = subprocess.run(
        [*command, "-p", "tests.figures", "-p", "tests.controlplane.fixtures", "-p", "no:cacheprovider"],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.usefixtures("control_plane")
def test_a_failure_shows_what_the_components_logged_and_where_the_logs_are(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, TMPDIR=str(tmp_path), MOORAGE_KUBECONFIG="")
    assert "kwok log (call)" in output
    logs = Path(output.split("control plane logs kept in ")[1].split()[0])
    assert (logs / "kube-apiserver.log").stat().st_size > 0


def test_a_users_own_cluster_is_used_and_left_as_it_was(start_control_plane: StartControlPlane, tmp_path: Path) -> None:
    plane = start_control_plane()
    output = run_pytest(tmp_path, MOORAGE_KUBECONFIG=str(plane.kubeconfig))
    assert "made moorage-test-" in output
    assert "moorage-test-" not in plane.kubectl("get", "namespaces")


NODE_POOL: list[dict[str, Any]] = [
    {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}},
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                    "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}],
                }
            }
        },
    },
]


WORKER = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "worker"},
    "template": {"spec": {"containers": [{"name": "work", "image": "work", "resources": {"requests": {"cpu": "8"}}}]}},
}
BUFFER = {
    "apiVersion": "autoscaling.x-k8s.io/v1beta1",
    "kind": "CapacityBuffer",
    "metadata": {"name": "spare"},
    "spec": {"podTemplateRef": {"name": "worker"}, "replicas": 20},
}


@pytest.mark.karpenter
def test_karpenter_makes_nodes_for_pods_and_for_a_capacity_buffer(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(karpenter=True)
    assert "capacitybuffers" in plane.kubectl("api-resources", "--api-group=autoscaling.x-k8s.io", "-o", "name")
    plane.apply(*NODE_POOL)
    plane.kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
    plane.wait_for_rollout("web")
    before = {node["metadata"]["name"] for node in plane.get("nodes")}
    plane.apply(WORKER, BUFFER)
    wait_for(
        lambda: len(plane.get("nodes")) > len(before),
        timeout=60,
        message=lambda: plane.kubectl("describe", "capacitybuffers"),
    )
