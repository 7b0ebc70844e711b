"""A buffer of both tiers on an autoscaler with suspended nodes: how pods use it, how it fills again, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.objects import Object, buffer, condition, pods_of, status_of, wait_for_status
from tests.cluster.upstream import UPSTREAM
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.standby.autoscaler import HELD, Latencies, StandbyAutoscaler
from tests.standby.nodes import State
from tests.standby.test_life_of_standby_nodes import SECONDS, unit, wait_for_nodes, workload

pytestmark = pytest.mark.usefixtures("operator")

SIZING = {"scaleUpRate": 1, "standbyResumeLatency": "4s", "coldNodeLatency": "12s"}
"""4 active units and 8 standby ones; a node holds 4."""
FULL: dict[str, Any] = {
    "readyReplicas": 12,
    "active": {"replicas": 4, "readyReplicas": 4},
    "standby": {"replicas": 8, "readyReplicas": 8},
}


class Case:
    """A buffer, and a workload that uses it."""

    def __init__(self, cluster: Cluster, namespace: str, autoscaler: StandbyAutoscaler) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.autoscaler = autoscaler
        cluster.apply(
            unit(autoscaler),
            workload(autoscaler, 0),
            buffer("web", backend="Autoscaler", podTemplateRef={"name": "unit"}, sizing=SIZING),
            namespace=namespace,
        )
        self.wait(FULL)
        wait_for_nodes(autoscaler, running=1, suspended=2)

    def scale(self, replicas: int) -> None:
        self.cluster.apply(workload(self.autoscaler, replicas), namespace=self.namespace)

    def wait(self, expected: Object) -> Object:
        return wait_for_status(self.cluster, self.namespace, "cbuf/web", expected, timeout=SECONDS)

    def status(self) -> Object:
        return status_of(self.cluster, self.namespace, "cbuf/web")

    def pods(self) -> dict[str, list[str]]:
        """Return the running pods by node."""
        found: dict[str, list[str]] = {}
        for each in pods_of(self.cluster, self.namespace, "app=web"):
            if node := each["spec"].get("nodeName"):
                found.setdefault(node, []).append(each["metadata"]["name"])
        return found

    def wait_for_pods(self, count: int) -> dict[str, list[str]]:
        """Wait until exactly so many pods run, and return where."""
        placed: dict[str, list[str]] = {}

        def are_placed() -> bool:
            placed.clear()
            placed.update(self.pods())
            return sum(map(len, placed.values())) == count

        wait_for(
            are_placed,
            timeout=SECONDS,
            message=lambda: f"{count} pods on nodes; there are {placed}; {self.autoscaler.history}",
        )
        return placed


@pytest.fixture
def case(upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler) -> Case:
    return Case(upstream, namespace, autoscaler)


def test_both_tiers_are_made_and_told(case: Case) -> None:
    status = case.wait(FULL)
    assert status["backend"]["name"] == "Autoscaler"
    assert condition(status, "Provisioned")["message"] == "all 4 active units and all 8 standby units are there"
    assert condition(status, "StandbyUnsupported")["status"] == "False"
    assert status["nodes"]["unitsPerNode"] == 4
    assert (status["nodes"]["active"], status["nodes"]["standby"]) == (1, 2)


def test_pods_use_active_then_waiting_then_suspended_standby_then_new_nodes(case: Case) -> None:
    auto = case.autoscaler
    [active], suspended = auto.nodes(State.RUNNING), auto.nodes(State.SUSPENDED)
    # One of the standby nodes is replaced, and the new one does not get suspended any more.
    auto.latencies.chilling = HELD
    case.cluster.kubectl("delete", "node", suspended[0])
    wait_for_nodes(auto, running=1, chilling=1, suspended=1)
    case.wait(FULL)
    [chilling] = auto.nodes(State.CHILLING)

    auto.latencies.new_node = auto.latencies.resume = HELD  # each step waits until the one before was looked at
    with auto.held:  # else it puts the chilling node in place of the active one before all four are placed
        case.scale(4)
        assert set(case.wait_for_pods(4)) == {active}, "active units first"
    case.scale(16)
    placed = case.wait_for_pods(8)
    assert {node: len(pods) for node, pods in placed.items()} == {active: 4, chilling: 4}, "then waiting standby"
    auto.latencies.resume = Latencies.resume
    placed = case.wait_for_pods(12)
    assert {node: len(pods) for node, pods in placed.items()} == {active: 4, chilling: 4, suspended[1]: 4}
    assert auto.events("resumed") == [suspended[1]], "then suspended standby, after a resume"
    auto.latencies.new_node = Latencies.new_node
    placed = case.wait_for_pods(16)
    assert not {active, chilling, suspended[1]}.issuperset(placed), "then new nodes"


def test_active_is_refilled_from_standby_and_standby_from_new_nodes(case: Case) -> None:
    auto = case.autoscaler
    [active], suspended = auto.nodes(State.RUNNING), auto.nodes(State.SUSPENDED)
    auto.latencies.new_node = auto.latencies.resume = HELD
    case.scale(3)
    case.wait_for_pods(3)
    status = case.wait({"active": {"readyReplicas": 1, "consumed": 3, "refilling": 3}})
    message = condition(status, "Provisioned")["message"]
    assert "3 active come from suspended nodes, after a resume" in message
    assert condition(status, "Provisioned")["status"] == "False"

    # The resumed node makes active full; what it takes out of standby comes from a new node.
    auto.latencies.resume = Latencies.resume
    status = case.wait({"active": {"readyReplicas": 4}, "standby": {"readyReplicas": 4}})
    assert "consumed" not in status["active"], "full again"
    assert "4 units need room on new nodes" in condition(status, "Provisioned")["message"]
    assert auto.events("resumed")[0] in suspended
    auto.latencies.new_node = Latencies.new_node
    case.wait(FULL)
    assert set(case.pods()) == {active}
    wait_for_nodes(auto, running=2, suspended=2)


def test_a_node_that_was_used_is_not_suspended_again(case: Case) -> None:
    auto = case.autoscaler
    first = auto.nodes(State.SUSPENDED)
    case.scale(8)
    case.wait_for_pods(8)
    case.wait(FULL)
    case.scale(0)
    case.wait_for_pods(0)
    wait_for_nodes(auto, running=1, suspended=2)
    case.wait(FULL)
    resumed = auto.events("resumed")
    assert set(resumed) <= set(first)
    assert all(auto.events("suspended").count(node) == 1 for node in resumed)
    assert not set(resumed) & set(auto.nodes(State.SUSPENDED))


def test_deleting_the_buffer_removes_all_that_was_made(case: Case) -> None:
    case.cluster.kubectl("delete", "cbuf", "web", "-n", case.namespace)
    wait_for_nodes(case.autoscaler)
    wait_for(  # the autoscaler removes its nodes once the template is gone, which may be sooner
        lambda: case.cluster.get(UPSTREAM, "-n", case.namespace) == [],
        timeout=SECONDS,
        message="the end of the autoscalers' objects",
    )
