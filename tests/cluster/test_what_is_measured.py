"""A buffer learns how many pods come and how long they wait for nodes, and a restart loses nothing of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from math import ceil
from typing import Any

import pytest

from tests.cluster.backends import on_nodes, patch
from tests.cluster.objects import buffer, condition, deployment, status_of, wait_for_condition, wait_for_status
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess

RATE = 4
"""Pods a second that the script makes."""
COLD_SECONDS = 8
"""How long the script takes to make the node that the first pods wait for."""
LEARN_SECONDS = 60.0
WORKLOAD = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}


def measured_sizing(**further: Any) -> dict[str, Any]:
    return {
        "scaleUpRate": "Measured",
        "standbyResumeLatency": "2s",
        "coldNodeLatency": "Measured",
        "fallback": {"coldNodeLatency": "10s"},
        **further,
    }


def run_script(cluster: Cluster, namespace: str, *, seconds: int, first: int, node_after: int | None = None) -> None:
    """Scale the workload up by RATE pods a second; after some seconds a node appears that all of them fit on."""
    began = time.monotonic()
    for second in range(1, seconds + 1):
        replicas = first + RATE * second
        cluster.kubectl("scale", "-n", namespace, "deployment/web", f"--replicas={replicas}")
        if second == node_after:
            taint = {"key": "moorage-test", "value": namespace, "effect": "NoSchedule"}
            labels = {"moorage-test": namespace}
            cluster.add_nodes(1, cpu="400", pods=1000, labels=labels, taints=[taint], prefix=f"{namespace}-")
        time.sleep(max(began + second - time.monotonic(), 0))  # the script's own pace


def measured(status: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = status.get("sizing", {}).get("measured", {})
    return found


def truth(cluster: Cluster, namespace: str) -> tuple[float, float]:
    """What came of the script on this machine: pods per second, and how many seconds the first of them waited."""
    pods = cluster.get("-n", namespace, "pods", "-l", "app=web")
    created = [_seconds(each["metadata"]["creationTimestamp"]) for each in pods]
    waits = [
        _seconds(condition(each["status"], "PodScheduled")["lastTransitionTime"]) - at
        for each, at in zip(pods, created, strict=True)
    ]
    return len(pods) / (max(created) - min(created) + 1), max(waits)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


@pytest.fixture
def nodes_go(crds: Cluster, namespace: str) -> Iterator[None]:
    """What the script makes is not left to other tests' pods."""
    yield
    crds.kubectl("delete", "nodes", "-l", f"moorage-test={namespace}", "--wait=false")


@pytest.fixture
def own_operator(start_operator: Callable[..., OperatorProcess]) -> OperatorProcess:
    """An operator of the test's own, for all namespaces: nodes are read by that one only."""
    return start_operator()


@pytest.mark.usefixtures("nodes_go")
def test_the_buffer_reaches_the_size_that_the_truth_asks_for_and_a_restart_loses_nothing(
    crds: Cluster, namespace: str, own_operator: OperatorProcess
) -> None:
    web = deployment(replicas=0, **on_nodes(namespace))
    crds.apply(web, buffer(scalableRef=WORKLOAD, sizing=measured_sizing()), namespace=namespace)
    unknown = wait_for_condition(crds, namespace, "cbuf/buffer", "PromiseKept", "Unknown", "NotMeasured")
    assert "tells the rate" in unknown["message"]
    assert status_of(crds, namespace, "cbuf/buffer")["sizing"]["coldNodeLatency"] == "10s"
    listed = f"/namespaces/{namespace}/pods: listed at version"
    wait_for(lambda: listed in own_operator.output(), timeout=20, message="the pods to be watched")

    run_script(crds, namespace, seconds=40, first=0, node_after=COLD_SECONDS)

    def learnt() -> dict[str, Any] | None:
        status = status_of(crds, namespace, "cbuf/buffer")
        return status if measured(status).get("pods") == 40 * RATE else None

    status = wait_for(
        learnt, timeout=LEARN_SECONDS, message=lambda: f"all pods; {status_of(crds, namespace, 'cbuf/buffer')}"
    )
    sizing = status["sizing"]
    found = sizing["measured"]
    rate, longest = truth(crds, namespace)
    assert float(found["rate"]) == pytest.approx(rate, rel=0.2)
    assert sizing["sources"]["coldNodeLatency"].startswith("measured: p95 of ")
    cold = float(sizing["coldNodeLatency"].removesuffix("s"))
    assert longest - 3 <= cold <= longest + 3
    replicas = status["replicas"]
    assert replicas == pytest.approx(rate * longest, rel=0.4)
    assert replicas == ceil(float(sizing["scaleUpRate"]) * cold)
    wait_for(
        lambda: measured(status_of(crds, namespace, "cbuf/buffer")).get("record"),
        timeout=40,
        message="what was learnt to be kept",
    )

    own_operator.stop()
    crds.kubectl("scale", "-n", namespace, "deployment/web", f"--replicas={40 * RATE + 10}")
    own_operator.start_and_wait()
    sizes = set()

    def counted_on() -> bool:
        status = status_of(crds, namespace, "cbuf/buffer")
        sizes.add(status["replicas"])
        return measured(status).get("pods") == 40 * RATE + 10

    wait_for(counted_on, timeout=LEARN_SECONDS, message=lambda: f"{status_of(crds, namespace, 'cbuf/buffer')}")
    assert min(sizes) >= 0.6 * replicas, f"what was learnt stays in force while pods are read: {sizes}"
    kept = measured(status_of(crds, namespace, "cbuf/buffer"))
    assert kept["cold"]["samples"] == found["cold"]["samples"], "those that came later found their node there"


def test_the_autoscaler_of_the_workload_caps_the_buffer_and_tells_the_burst(
    crds: Cluster, namespace: str, own_operator: OperatorProcess
) -> None:
    web = deployment(replicas=20)
    target = {"type": "Utilization", "averageUtilization": 50}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 20,
            "maxReplicas": 200,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }
    sizing = {"method": "Burst", "scaleUpRate": 0, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
    crds.apply(web, scaler, buffer(scalableRef=WORKLOAD, sizing=sizing), namespace=namespace)
    tiers = {"replicas": 180, "active": {"replicas": 120}, "standby": {"replicas": 60}}
    wait_for_status(crds, namespace, "cbuf/buffer", tiers, timeout=40)
    quantile = {
        "method": "Quantile",
        "serviceLevel": {"percentile": 99},
        "scaleUpRate": 4,
        "standbyResumeLatency": "30s",
        "coldNodeLatency": "90s",
    }
    patch(crds, namespace, "cbuf/buffer", {"spec": {"sizing": quantile}})
    status = wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 180, "sizing": {"method": "Quantile"}})
    assert "the workload may get 180 more replicas, which decides" in status["sizing"]["explanation"]
    cut = wait_for_condition(crds, namespace, "cbuf/buffer", "PromiseKept", "False", "CutShort")
    assert "with 180 units; 421 would let 99% of pods start without a wait" in cut["message"]
