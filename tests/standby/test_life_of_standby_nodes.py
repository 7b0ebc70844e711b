"""The test autoscaler's nodes live as GKE's do: they chill, are suspended, are used, and never go back."""

from __future__ import annotations

from typing import Any

from tests.cluster.objects import Object, deployment, pod_template
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.standby.autoscaler import HELD, STANDBY_STRATEGY, VERSION, StandbyAutoscaler
from tests.standby.nodes import ASSIGNED, POOL, STANDBY, SUSPENDED, State

SECONDS = 20.0


def upstream_buffer(name: str, replicas: int, strategy: str = "buffer.x-k8s.io/active-capacity") -> Object:
    spec = {"podTemplateRef": {"name": "unit"}, "replicas": replicas, "provisioningStrategy": strategy}
    return {"apiVersion": VERSION, "kind": "CapacityBuffer", "metadata": {"name": name}, "spec": spec}


def unit(autoscaler: StandbyAutoscaler) -> Object:
    return pod_template(cpu="1", nodeSelector={POOL: autoscaler.pool})


def workload(autoscaler: StandbyAutoscaler, replicas: int) -> Object:
    return deployment(replicas=replicas, cpu="1", nodeSelector={POOL: autoscaler.pool})


def wait_for_nodes(autoscaler: StandbyAutoscaler, **expected: int) -> None:
    """Wait until so many nodes are in each state."""

    def counts() -> dict[str, int]:
        return {state.value: len(autoscaler.nodes(state)) for state in State}

    wanted = {state.value: expected.get(state.value, 0) for state in State}
    wait_for(
        lambda: counts() == wanted,
        timeout=SECONDS,
        message=lambda: f"nodes {wanted}; there are {counts()}; {autoscaler.trouble} {autoscaler.history}",
    )


def node(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("node", name)
    return found


def condition_of(found: Object, kind: str) -> str:
    return next((each["status"] for each in found["status"]["conditions"] if each["type"] == kind), "")


def test_a_standby_node_chills_before_it_is_suspended(
    upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler
) -> None:
    autoscaler.latencies.chilling = HELD
    upstream.apply(unit(autoscaler), upstream_buffer("web-standby", 3, STANDBY_STRATEGY), namespace=namespace)
    wait_for_nodes(autoscaler, chilling=1)
    [name] = autoscaler.nodes(State.CHILLING)
    chilling = node(upstream, name)
    assert chilling["metadata"]["labels"][STANDBY] == "true"
    assert chilling["metadata"]["annotations"][ASSIGNED] == f"{namespace}/web-standby"
    assert {"key": STANDBY, "value": "true", "effect": "PreferNoSchedule"} in chilling["spec"]["taints"]
    assert not chilling["spec"].get("unschedulable")

    autoscaler.latencies.chilling = 1.0
    wait_for_nodes(autoscaler, suspended=1)
    wait_for(
        lambda: condition_of(node(upstream, name), "Suspended") == "True", timeout=SECONDS, message="the condition"
    )
    suspended = node(upstream, name)
    assert suspended["spec"]["unschedulable"]
    assert {"key": SUSPENDED, "value": "true", "effect": "NoSchedule"}.items() <= next(
        each for each in suspended["spec"]["taints"] if each["key"] == SUSPENDED
    ).items()


def test_a_pod_that_waits_resumes_a_suspended_node_which_is_replaced_and_not_suspended_again(
    upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler
) -> None:
    upstream.apply(unit(autoscaler), upstream_buffer("web-standby", 4, STANDBY_STRATEGY), namespace=namespace)
    wait_for_nodes(autoscaler, suspended=1)
    [first] = autoscaler.nodes(State.SUSPENDED)
    upstream.apply(workload(autoscaler, 1), namespace=namespace)
    upstream.wait_for_rollout("web", namespace, timeout=SECONDS)
    assert autoscaler.events("resumed") == [first]
    assert condition_of(node(upstream, first), "Suspended") == "False"
    wait_for_nodes(autoscaler, running=1, suspended=1)

    upstream.apply(workload(autoscaler, 0), namespace=namespace)
    wait_for(lambda: first in autoscaler.events("removed"), timeout=SECONDS, message="the end of the node")
    assert autoscaler.events("suspended").count(first) == 1
    wait_for_nodes(autoscaler, suspended=1)


def test_a_chilling_node_that_a_pod_finds_is_not_suspended(
    upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler
) -> None:
    autoscaler.latencies.chilling = HELD
    upstream.apply(unit(autoscaler), upstream_buffer("web-standby", 4, STANDBY_STRATEGY), namespace=namespace)
    wait_for_nodes(autoscaler, chilling=1)
    [first] = autoscaler.nodes(State.CHILLING)
    upstream.apply(workload(autoscaler, 1), namespace=namespace)
    wait_for(lambda: autoscaler.events("consumed") == [first], timeout=SECONDS, message="a consumed node")
    autoscaler.latencies.chilling = 1.0
    wait_for_nodes(autoscaler, running=1, suspended=1)
    assert first not in autoscaler.events("suspended")


def test_deleting_the_buffers_removes_their_nodes(
    upstream: Cluster, namespace: str, autoscaler: StandbyAutoscaler
) -> None:
    upstream.apply(
        unit(autoscaler),
        upstream_buffer("web-active", 4),
        upstream_buffer("web-standby", 4, STANDBY_STRATEGY),
        namespace=namespace,
    )
    wait_for_nodes(autoscaler, running=1, suspended=1)
    upstream.kubectl("delete", "capacitybuffers.autoscaling.x-k8s.io", "--all", "-n", namespace)
    wait_for_nodes(autoscaler)
