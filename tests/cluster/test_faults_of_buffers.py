"""Whatever fails, no unit is lost or doubled, and status is true again within half a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import urllib3

from tests.cluster.backends import PRIORITY_CLASS, patch
from tests.cluster.case_objects import contains
from tests.cluster.crds import install_crds
from tests.cluster.objects import Object, buffer, pod_template, pods_of, quota
from tests.cluster.recorded import created, written
from tests.cluster.rest import Rest, rest_client
from tests.controlplane import ControlPlane
from tests.controlplane.choice import USER_KUBECONFIG, user_kubeconfig
from tests.controlplane.cluster import KubectlError
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess

SECONDS = 30.0
"""After that all is true again, from when the API server answers, the operator starts, or an object is edited."""
DEPLOYMENT = "deployment/buffer-placeholder"
PLACEHOLDERS = "moorage.placeholders-ours"
UNIT_PODS = "moorage.dev/buffer=buffer"
UNITS, MORE = 6, 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster of this module's own, since its parts are ended and started."""
    if user_kubeconfig() is not None:
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    with ControlPlane() as plane:
        install_crds(plane)
        plane.apply(PRIORITY_CLASS)
        plane.add_nodes(2)
        yield plane


@pytest.fixture
def namespace(cluster: ControlPlane) -> Iterator[str]:
    with cluster.namespace() as name:
        yield name


@pytest.fixture(scope="module")
def shared_operator(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    process = OperatorProcess(cluster.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log")
    yield process
    process.stop()


@pytest.fixture
def operator(shared_operator: OperatorProcess) -> OperatorProcess:
    """The operator of all tests here, which sees nodes; started again where a test has left it killed."""
    if not shared_operator.running:
        shared_operator.start_and_wait()
    return shared_operator


@pytest.fixture(autouse=True)
def units(cluster: ControlPlane, namespace: str, operator: OperatorProcess) -> None:
    """A buffer that is full, in a namespace with a quota."""
    cluster.apply(
        quota("ours", hard={"pods": 20}, enforcement="Enforce"),
        pod_template(),
        buffer(podTemplateRef={"name": "unit"}, replicas=UNITS, backend="Placeholder"),
        namespace=namespace,
    )
    wait_for_truth(cluster, namespace, UNITS)


def live_units(cluster: ControlPlane, namespace: str) -> int:
    """Return how many pods of units there are that are not going away."""
    return sum("deletionTimestamp" not in each["metadata"] for each in pods_of(cluster, namespace, UNIT_PODS))


def wait_for_truth(cluster: ControlPlane, namespace: str, count: int) -> None:
    """Wait until what is there, and what is said of it, is so many units, all at the same time.

    Each controller has to have seen what is wanted now: an edit that was put back at once may still be on its way.
    """
    pods = str(count)
    truth: dict[str, Object] = {
        "Deployment": {"spec": {"replicas": count}, "status": {"readyReplicas": count}},
        "ReplicaSet": {"spec": {"replicas": count}, "status": {"readyReplicas": count}},
        "CapacityBuffer": {"status": {"replicas": count, "readyReplicas": count}},
        "NamespaceQuota": {"status": {"buffered": {"pods": pods}, "used": {"pods": pods}}},
    }

    def found() -> list[Object]:
        every = cluster.get("-n", namespace, "deployment,replicaset,cbuf,nsq")
        return [each for each in every if each["kind"] != "ReplicaSet" or each["spec"]["replicas"]]

    def is_true() -> bool:
        now = found()
        return (
            sorted(each["kind"] for each in now) == sorted(truth)
            and all(contains(each, truth[each["kind"]]) for each in now)
            and all(each["status"]["observedGeneration"] == each["metadata"]["generation"] for each in now)
            and live_units(cluster, namespace) == count
        )

    unreachable = (KubectlError, urllib3.exceptions.HTTPError, OSError)
    wait_for(is_true, timeout=SECONDS, ignore=unreachable, message=lambda: f"{count} units; there is {found()}")


@pytest.fixture
def assert_in_time(cluster: ControlPlane, namespace: str, figure: Callable[[str], None]) -> Callable[[float], None]:
    """Assert that what has become true was so in time, counted from a moment; called as soon as it is true."""

    def check(since: float) -> None:
        def get(*what: str) -> Any:
            return cluster.get("-n", namespace, "--show-managed-fields", *what)

        took = {
            "placeholders asked for": written(get(DEPLOYMENT)),
            "placeholders allowed": written(get(f"resourcequota/{PLACEHOLDERS}")),
            "placeholders made": max(map(created, get("pods", "-l", UNIT_PODS))),
            "buffer's status": written(get("cbuf/buffer"), part="status"),
            "quota's status": written(get("nsq/ours"), part="status"),
        }
        took = {what: moment - since for what, moment in took.items()}
        last = max(took, key=lambda what: took[what])
        figure(f"true again after {max(took[last], 0):.0f} s; the last was {last}")
        assert took[last] <= SECONDS, took

    return check


@dataclass
class Seen:
    """All that there was at any moment."""

    pods: set[int] = field(default_factory=set)
    """How many that were not going away."""
    wanted: set[int] = field(default_factory=set)
    """Placeholders that the Deployment asked for."""
    allowed: set[int] = field(default_factory=set)
    """Placeholders that their quota allowed."""


@contextmanager
def watching(cluster: ControlPlane, namespace: str) -> Iterator[Seen]:
    """Look many times a second; while the API server is down there is nothing to see."""
    seen, stop = Seen(), threading.Event()
    with rest_client(cluster.kubeconfig) as rest:
        watcher = threading.Thread(target=_watch, args=(rest, namespace, seen, stop), daemon=True)
        watcher.start()
        try:
            yield seen
        finally:
            stop.set()
            watcher.join()


def _watch(rest: Rest, namespace: str, seen: Seen, stop: threading.Event) -> None:
    place = f"/namespaces/{namespace}"
    looks: list[tuple[str, Callable[[Object], None]]] = [
        (
            f"/api/v1{place}/pods?labelSelector=moorage.dev/buffer%3Dbuffer",
            lambda body: seen.pods.add(sum("deletionTimestamp" not in each["metadata"] for each in body["items"])),
        ),
        (
            f"/apis/apps/v1{place}/deployments/buffer-placeholder",
            lambda body: seen.wanted.add(body["spec"]["replicas"]),
        ),
        (
            f"/api/v1{place}/resourcequotas/{PLACEHOLDERS}",
            lambda body: seen.allowed.add(int(body["spec"]["hard"]["pods"])),
        ),
    ]
    while not stop.wait(0.05):
        for path, note in looks:
            try:
                answer = rest.request("GET", path)
            except (urllib3.exceptions.HTTPError, OSError, ValueError):
                continue
            if answer.ok:
                note(answer.body)


def test_the_api_server_restarts_while_a_buffer_grows(
    cluster: ControlPlane, namespace: str, assert_in_time: Callable[[float], None]
) -> None:
    with watching(cluster, namespace) as seen:
        patch(cluster, namespace, "cbuf/buffer", {"spec": {"replicas": MORE}})
        cluster.restart("kube-apiserver")
        since = time.time()
        wait_for_truth(cluster, namespace, MORE)
        assert_in_time(since)
    assert (seen.wanted | seen.allowed) <= {UNITS, MORE}
    assert UNITS <= min(seen.pods) <= max(seen.pods) <= MORE


def test_the_operator_is_killed_half_way_through_a_change(
    cluster: ControlPlane, namespace: str, operator: OperatorProcess, assert_in_time: Callable[[float], None]
) -> None:
    """As if it had allowed more placeholders, and made none."""
    with watching(cluster, namespace) as seen:
        operator.kill()
        patch(cluster, namespace, "cbuf/buffer", {"spec": {"replicas": MORE}})
        patch(cluster, namespace, f"resourcequota/{PLACEHOLDERS}", {"spec": {"hard": {"pods": str(MORE)}}})
        since = time.time()
        operator.start_and_wait()
        wait_for_truth(cluster, namespace, MORE)
        assert_in_time(since)
    assert (seen.wanted | seen.allowed) <= {UNITS, MORE}
    assert UNITS <= min(seen.pods) <= max(seen.pods) <= MORE


def test_a_restart_takes_no_unit_away_for_a_moment(
    cluster: ControlPlane, namespace: str, operator: OperatorProcess
) -> None:
    with watching(cluster, namespace) as seen:
        operator.kill()
        patch(cluster, namespace, "cbuf/buffer", {"spec": {"priority": 1}})  # no size, but true only once it was seen
        operator.start_and_wait()
        wait_for_truth(cluster, namespace, UNITS)
        patch(cluster, namespace, "cbuf/buffer", {"spec": {"replicas": MORE}})
        wait_for_truth(cluster, namespace, MORE)
    assert (seen.wanted | seen.allowed) <= {UNITS, MORE}
    assert min(seen.pods) >= UNITS


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(("scale", DEPLOYMENT, "--replicas=1"), id="fewer"),
        pytest.param(("scale", DEPLOYMENT, "--replicas=50"), id="more"),
        pytest.param(("set", "image", DEPLOYMENT, "app=other"), id="image"),
        pytest.param(("delete", DEPLOYMENT, "--wait=false"), id="deleted"),
        pytest.param(("delete", "pods", "-l", UNIT_PODS, "--wait=false"), id="pods deleted"),
        pytest.param(("delete", f"resourcequota/{PLACEHOLDERS}"), id="quota deleted"),
        pytest.param(
            ("patch", f"resourcequota/{PLACEHOLDERS}", "--type=merge", "-p", '{"spec": {"hard": {"pods": "0"}}}'),
            id="quota lowered",
        ),
    ],
)
def test_objects_are_edited_by_hand(
    cluster: ControlPlane, namespace: str, edit: tuple[str, ...], assert_in_time: Callable[[float], None]
) -> None:
    before = cluster.get("-n", namespace, DEPLOYMENT)["spec"]["template"]
    with watching(cluster, namespace) as seen:
        verb, *rest = edit
        since = time.time()
        cluster.kubectl(verb, "-n", namespace, *rest)

        def is_back() -> bool:
            found = {
                each["metadata"]["name"]: each for each in cluster.get("-n", namespace, "deployment,resourcequota")
            }
            deployment, limit = found.get("buffer-placeholder"), found.get(PLACEHOLDERS)
            return (
                deployment is not None
                and deployment["spec"]["template"] == before
                and deployment["spec"]["replicas"] == UNITS
                and limit is not None
                and limit["spec"]["hard"] == {"pods": str(UNITS)}
                and deployment["status"].get("readyReplicas") == UNITS
                and live_units(cluster, namespace) == UNITS
            )

        wait_for(is_back, timeout=SECONDS, message=lambda: f"all to be as before; seen: {seen}")
        wait_for_truth(cluster, namespace, UNITS)
        assert_in_time(since)
    assert max(seen.pods) <= UNITS, "their quota lets nobody make more"
