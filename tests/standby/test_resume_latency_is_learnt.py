"""A buffer learns how long resumes take from the nodes that resume, and is sized by that."""

from __future__ import annotations

from datetime import datetime
from math import ceil
from typing import Any

import pytest

from tests.cluster.objects import buffer, condition, pods_of, status_of, wait_for_status
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess
from tests.standby.autoscaler import HELD, Latencies, StandbyAutoscaler
from tests.standby.nodes import State
from tests.standby.test_life_of_standby_nodes import SECONDS, wait_for_nodes, workload

WORKLOAD = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
SIZING = {
    "scaleUpRate": 1,
    "standbyResumeLatency": "Measured",
    "coldNodeLatency": "24s",
    "fallback": {"standbyResumeLatency": "12s"},
}
"""12 active units and 12 standby ones until the resume latency is known; a node holds 4."""
UNITS, WAVE = 24, 24
"""Of the pods of a wave half find active units and half wait for nodes to resume."""


@pytest.fixture
def full(upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler, operator: OperatorProcess) -> None:
    """A buffer with all its units, sized by the fallback."""
    sizing = buffer("web", backend="Autoscaler", scalableRef=WORKLOAD, sizing=SIZING)
    upstream.apply(workload(autoscaler, 0), sizing, namespace=namespace)
    tiers = {"active": {"readyReplicas": 12}, "standby": {"readyReplicas": 12}}
    wait_for_status(upstream, namespace, "cbuf/web", tiers, timeout=2 * SECONDS)
    wait_for_nodes(autoscaler, running=3, suspended=3)
    listed = f"/namespaces/{namespace}/pods: listed at version"
    wait_for(lambda: listed in operator.output(), timeout=SECONDS, message="the pods to be watched")


def scale(cluster: Cluster, namespace: str, autoscaler: StandbyAutoscaler, replicas: int) -> None:
    """Scale the workload, and wait until all its pods are on nodes."""
    cluster.apply(workload(autoscaler, replicas), namespace=namespace)

    def placed() -> int:
        return sum(bool(each["spec"].get("nodeName")) for each in pods_of(cluster, namespace, "app=web"))

    wait_for(
        lambda: placed() == replicas,
        timeout=2 * SECONDS,
        message=lambda: f"{replicas} pods on nodes; there are {placed()}; {autoscaler.trouble} {autoscaler.history}",
    )


def waits_for_resumes(cluster: Cluster, namespace: str, autoscaler: StandbyAutoscaler) -> list[float]:
    """Return how long pods waited for a node that the autoscaler resumed meanwhile, by what the API says of both."""
    resumed = {}
    for name in autoscaler.events("resumed"):
        said = condition(cluster.get("node", name)["status"], "Suspended")
        assert said["status"] == "False"
        resumed[name] = seconds(said["lastTransitionTime"])
    waits = []
    for pod in pods_of(cluster, namespace, "app=web"):
        created = seconds(pod["metadata"]["creationTimestamp"])
        if resumed.get(pod["spec"]["nodeName"], 0) > created:
            waits.append(seconds(condition(pod["status"], "PodScheduled")["lastTransitionTime"]) - created)
    return sorted(waits)


def seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def sizing_of(cluster: Cluster, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = status_of(cluster, namespace, "cbuf/web").get("sizing", {})
    return found


def wait_for_samples(cluster: Cluster, namespace: str, count: int) -> dict[str, Any]:
    """Wait until so many resumes are learnt from, and return what the status says of sizes."""

    def learnt() -> bool:
        measured = sizing_of(cluster, namespace).get("measured", {})
        return bool(measured.get("resume", {}).get("samples") == count)

    wait_for(learnt, timeout=2 * SECONDS, message=lambda: f"{count} samples; there is {sizing_of(cluster, namespace)}")
    return sizing_of(cluster, namespace)


@pytest.mark.usefixtures("full")
def test_the_size_follows_the_resumes_that_pods_waited_for(
    upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler
) -> None:
    first = set(autoscaler.nodes(State.SUSPENDED))
    autoscaler.latencies.new_node = HELD  # so that it is resumes that pods wait for, however slow the machine
    autoscaler.latencies.resume = 6.0  # so that a pod that comes late waits too long for one that starts at once
    scale(upstream, namespace, autoscaler, WAVE)
    waits = waits_for_resumes(upstream, namespace, autoscaler)
    assert set(autoscaler.events("resumed")) == first
    assert len(waits) == WAVE // 2
    sizing = wait_for_samples(upstream, namespace, len(waits))
    assert sizing["sources"]["standbyResumeLatency"] == "fallback: 12 of 20 samples"
    assert sizing["standbyResumeLatency"] == "12s"

    autoscaler.latencies.new_node = Latencies.new_node
    wait_for_nodes(autoscaler, running=9, suspended=3)
    autoscaler.latencies.new_node = HELD
    autoscaler.latencies.resume = 9.0
    scale(upstream, namespace, autoscaler, 2 * WAVE)
    waits = waits_for_resumes(upstream, namespace, autoscaler)
    assert len(waits) == WAVE
    assert waits[0] < waits[-1], "the second resumes took longer"
    sizing = wait_for_samples(upstream, namespace, len(waits))
    assert sizing["sources"]["standbyResumeLatency"] == f"measured: p95 of {len(waits)} samples"
    truth = waits[ceil(0.95 * len(waits)) - 1]
    assert sizing["standbyResumeLatency"] == f"{truth:g}s"
    assert sizing["measured"].get("cold", {}).get("samples", 0) == 0, "no pod waited for a new node"
    tiers = {"active": {"replicas": truth}, "standby": {"replicas": UNITS - truth}}
    wait_for_status(upstream, namespace, "cbuf/web", tiers, timeout=SECONDS)
