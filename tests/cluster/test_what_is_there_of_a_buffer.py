"""A buffer's status tells what is really there: units that pods would find room for on the cluster's nodes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.objects import (
    Object,
    buffer,
    condition,
    deployment,
    pod_template,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.cluster.recorded import created, turned
from tests.controlplane import ControlPlane
from tests.operator_process import OperatorProcess

UNIT = {"name": "unit"}
POOL = "example.com/pool"
HYBRID = {"scaleUpRate": 1, "standbyResumeLatency": "4s", "coldNodeLatency": "12s"}
"""4 active units and 8 standby ones."""
STANDBY = "buffer.gke.io/standby-capacity-node"
SUSPENDED = f"{STANDBY}-suspended"


class Pool:
    """Nodes of a test's own, with 4 cores each; its pods and units ask for them."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.name = f"pool-{secrets.token_hex(3)}"
        taint = {"key": POOL, "value": self.name, "effect": "NoSchedule"}
        self._taints = [taint]
        self.place: Object = {
            "nodeSelector": {POOL: self.name},
            "tolerations": [{**taint, "operator": "Equal"}],
        }
        """The fields of a pod spec that put it here; no other pod comes."""

    def add(self, count: int = 1, *, labels: dict[str, str] | None = None, **keywords: Any) -> list[str]:
        given = {"cpu": "4", "memory": "16Gi", **keywords}
        return self.plane.add_nodes(count, labels={POOL: self.name, **(labels or {})}, taints=self._taints, **given)

    def remove(self, *nodes: str) -> None:
        self.plane.kubectl("delete", "node", *nodes, "--wait=false")

    def suspend(self, node: str) -> None:
        self.plane.kubectl("cordon", node)
        self.plane.kubectl("taint", "node", node, f"{SUSPENDED}=true:NoSchedule")
        self._say_suspended(node, "True")

    def resume(self, node: str) -> None:
        self._say_suspended(node, "False")
        self.plane.kubectl("label", "node", node, f"{STANDBY}-")
        self.plane.kubectl("taint", "node", node, f"{SUSPENDED}-")
        self.plane.kubectl("uncordon", node)

    def _say_suspended(self, node: str, status: str) -> None:
        said = {"type": "Suspended", "status": status, "reason": "CapacityBuffer"}
        changes = {"status": {"conditions": [said]}}
        self.plane.kubectl("patch", "node", node, "--subresource=status", "-p", json.dumps(changes))


@pytest.fixture
def pool(own_control_plane: ControlPlane) -> Iterator[Pool]:
    own = Pool(own_control_plane)
    yield own
    own_control_plane.kubectl("delete", "nodes", "-l", f"{POOL}={own.name}", "--wait=false")


def units(pool: Pool, cpu: str = "1", **spec: Any) -> Object:
    return pod_template(cpu=cpu, **pool.place, **spec)


def run_pods(pool: Pool, namespace: str, count: int, *, name: str = "web", cpu: str = "1") -> None:
    pool.plane.apply(deployment(name, replicas=count, cpu=cpu, **pool.place), namespace=namespace)
    # A busy machine takes half a minute; a pod that the scheduler has forgotten would take five.
    wait = ("rollout", "status", f"deployment/{name}", "-n", namespace, "--timeout=120s")
    pool.plane.kubectl(*wait, timeout=140)


def wait_for_active(
    pool: Pool, namespace: str, active: Object, name: str = "buffer", *, timeout: float = 20.0
) -> Object:
    return wait_for_status(pool.plane, namespace, f"cbuf/{name}", {"active": active}, timeout=timeout)


@pytest.mark.usefixtures("operator")
def test_units_are_there_as_far_as_nodes_have_room(pool: Pool, namespace: str) -> None:
    pool.add(2)
    pool.plane.apply(units(pool), buffer(podTemplateRef=UNIT, replicas=6), namespace=namespace)
    status = wait_for_active(pool, namespace, {"replicas": 6, "readyReplicas": 6})
    assert status["readyReplicas"] == 6
    assert status["display"]["active"] == "6/6"
    assert condition(status, "Provisioned")["reason"] == "FitsExistingCapacity"
    assert status["nodes"] == {
        "group": "4 cpu, 16Gi memory",
        "unitsPerNode": 4,
        "boundBy": "cpu",
        "active": 2,
        "standby": 0,
    }
    columns = pool.plane.kubectl("get", "cbuf", "-n", namespace)
    assert "6/6" in columns


@pytest.mark.usefixtures("operator")
def test_units_that_pods_take_are_consumed_until_the_buffer_is_full_again(pool: Pool, namespace: str) -> None:
    pool.add(2)
    pool.plane.apply(units(pool), buffer(podTemplateRef=UNIT, replicas=8), namespace=namespace)
    wait_for_active(pool, namespace, {"readyReplicas": 8})
    run_pods(pool, namespace, 3)
    status = wait_for_active(pool, namespace, {"readyReplicas": 5, "consumed": 3, "refilling": 3})
    assert "pods have taken 3 since the buffer was last full" in condition(status, "Provisioned")["message"]
    pool.add(1, cpu="2")
    wait_for_active(pool, namespace, {"readyReplicas": 7, "consumed": 3, "refilling": 1})
    run_pods(pool, namespace, 4)
    wait_for_active(pool, namespace, {"readyReplicas": 6, "consumed": 4, "refilling": 2})
    pool.add(1)
    status = wait_for_active(pool, namespace, {"readyReplicas": 8})
    assert "consumed" not in status["active"]
    assert "refilling" not in status["active"]
    run_pods(pool, namespace, 0)
    wait_for_active(pool, namespace, {"readyReplicas": 8})


@pytest.mark.usefixtures("operator")
def test_units_that_go_with_their_node_are_missing_but_not_consumed(pool: Pool, namespace: str) -> None:
    first, second = pool.add(2)
    pool.plane.apply(units(pool), buffer(podTemplateRef=UNIT, replicas=8), namespace=namespace)
    wait_for_active(pool, namespace, {"readyReplicas": 8})
    pool.plane.kubectl("cordon", first)
    status = wait_for_active(pool, namespace, {"readyReplicas": 4, "refilling": 4})
    assert "consumed" not in status["active"]
    pool.plane.kubectl("uncordon", first)
    wait_for_active(pool, namespace, {"readyReplicas": 8})
    pool.remove(second)
    status = wait_for_active(pool, namespace, {"readyReplicas": 4, "refilling": 4})
    assert "consumed" not in status["active"]


@pytest.mark.usefixtures("operator")
def test_a_unit_that_no_node_could_ever_hold_is_infeasible_within_a_minute(pool: Pool, namespace: str) -> None:
    pool.add(1)
    pool.plane.apply(units(pool, cpu="1000"), buffer(podTemplateRef=UNIT, replicas=2), namespace=namespace)
    told = wait_for_condition(pool.plane, namespace, "cbuf/buffer", "Infeasible", "True", "NoNodeFits")
    found = pool.plane.get("-n", namespace, "cbuf/buffer")
    assert turned(found, "Infeasible") - created(found) <= 60
    assert "cpu, of which a unit requests 1k and the largest has 4" in told["message"]
    assert "by the node selector" in told["message"] or len(pool.plane.get("nodes")) == 1
    status = status_of(pool.plane, namespace, "cbuf/buffer")
    assert status["active"] == {"replicas": 2, "readyReplicas": 0}
    pool.plane.apply(units(pool), namespace=namespace)
    wait_for_condition(pool.plane, namespace, "cbuf/buffer", "Infeasible", "False", "NodesFit")


@pytest.mark.usefixtures("operator")
def test_standby_units_are_on_suspended_nodes_and_refill_active_ones_after_a_resume(pool: Pool, namespace: str) -> None:
    standby = pool.add(2, labels={STANDBY: "true"})
    pool.add(1)
    pool.plane.apply(units(pool), buffer(podTemplateRef=UNIT, sizing=HYBRID), namespace=namespace)
    full = {"active": {"readyReplicas": 4}, "standby": {"replicas": 8, "readyReplicas": 8}}
    wait_for_status(pool.plane, namespace, "cbuf/buffer", full)
    # It is full with nodes that are not suspended yet as with those that are; in between it is not.
    pool.plane.kubectl("cordon", *standby)
    wait_for_status(pool.plane, namespace, "cbuf/buffer", {"standby": {"readyReplicas": 0}})
    for node in standby:
        pool.suspend(node)
    wait_for_status(pool.plane, namespace, "cbuf/buffer", full)

    run_pods(pool, namespace, 3)
    status = wait_for_status(
        pool.plane,
        namespace,
        "cbuf/buffer",
        {"active": {"readyReplicas": 1, "consumed": 3}, "standby": {"readyReplicas": 8}},
    )
    message = condition(status, "Provisioned")["message"]
    assert "3 active come from suspended nodes, after a resume; 3 units need room on new nodes" in message
    pool.resume(standby[0])
    wait_for_status(
        pool.plane,
        namespace,
        "cbuf/buffer",
        {"active": {"readyReplicas": 4}, "standby": {"readyReplicas": 4, "refilling": 4}},
    )


@pytest.mark.usefixtures("operator", "placeholder_class")
def test_placeholders_that_pods_push_out_are_consumed_until_they_have_room_again(pool: Pool, namespace: str) -> None:
    pool.add(2)
    placeholders = buffer(backend="Placeholder", podTemplateRef=UNIT, replicas=8)
    pool.plane.apply(units(pool), placeholders, namespace=namespace)
    status = wait_for_active(pool, namespace, {"replicas": 8, "readyReplicas": 8})
    assert condition(status, "Provisioned")["reason"] == "FitsExistingCapacity"
    run_pods(pool, namespace, 3)
    wait_for_active(pool, namespace, {"readyReplicas": 5, "consumed": 3, "refilling": 3})
    pool.add(1)
    status = wait_for_active(pool, namespace, {"readyReplicas": 8})
    assert "consumed" not in status["active"]
    run_pods(pool, namespace, 0)
    wait_for_active(pool, namespace, {"readyReplicas": 8})


@pytest.mark.usefixtures("operator", "placeholder_class")
@pytest.mark.parametrize("backend", ["None", "Placeholder"])
def test_units_that_were_taken_are_not_made_anew_when_refill_is_none(pool: Pool, namespace: str, backend: str) -> None:
    pool.add(2)
    once = buffer(backend=backend, podTemplateRef=UNIT, replicas=8, refill="None")
    pool.plane.apply(units(pool), once, namespace=namespace)
    wait_for_active(pool, namespace, {"replicas": 8, "readyReplicas": 8})
    run_pods(pool, namespace, 3)
    status = wait_for_active(pool, namespace, {"replicas": 5, "readyReplicas": 5})
    assert status["refill"]["withheld"] == 3
    pool.add(1)
    # Another buffer gets what the first leaves, which says that the new node was seen.
    pool.plane.apply(buffer("other", podTemplateRef=UNIT, replicas=8), namespace=namespace)
    wait_for_active(pool, namespace, {"replicas": 8, "readyReplicas": 4}, "other")
    status = wait_for_active(pool, namespace, {"replicas": 5, "readyReplicas": 5})
    assert condition(status, "Provisioned")["reason"] == "FitsExistingCapacity"


@pytest.mark.usefixtures("operator")
def test_two_buffers_do_not_count_the_same_room(pool: Pool, namespace: str) -> None:
    pool.add(1)
    pool.plane.apply(
        units(pool),
        buffer("a", podTemplateRef=UNIT, replicas=3),
        buffer("b", podTemplateRef=UNIT, replicas=3),
        namespace=namespace,
    )
    wait_for_active(pool, namespace, {"readyReplicas": 3}, "a")
    wait_for_active(pool, namespace, {"readyReplicas": 1}, "b")
    pool.plane.kubectl("delete", "cbuf", "-n", namespace, "a")
    wait_for_active(pool, namespace, {"readyReplicas": 3}, "b")


@pytest.mark.usefixtures("operator")
def test_rules_about_other_pods_are_kept(pool: Pool, namespace: str) -> None:
    pool.add(3)
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    template = units(pool, affinity=apart)
    template["template"]["metadata"]["labels"] = {"app": "web"}
    run_pods(pool, namespace, 1)
    pool.plane.apply(template, buffer(podTemplateRef=UNIT, replicas=6), namespace=namespace)
    status = wait_for_active(pool, namespace, {"readyReplicas": 2})
    assert status["nodes"]["boundBy"] == "pod anti-affinity"
    run_pods(pool, namespace, 0)
    wait_for_active(pool, namespace, {"readyReplicas": 3})


@pytest.mark.usefixtures("operator")
def test_units_are_where_the_volume_is_that_they_mount(pool: Pool, namespace: str) -> None:
    zone = "topology.kubernetes.io/zone"
    for each in ("a", "b"):
        pool.add(1, labels={zone: each})
    line = {"key": zone, "operator": "In", "values": ["b"]}
    common: Object = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-data"},
        "spec": {
            **common,
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/data"},
            "claimRef": {"namespace": namespace, "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [line]}]}},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            **common,
            "volumeName": volume["metadata"]["name"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    mounts = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pool.plane.apply(volume, claim, units(pool, volumes=[mounts]), namespace=namespace)
    pool.plane.apply(buffer(podTemplateRef=UNIT, replicas=8), namespace=namespace)
    status = wait_for_active(pool, namespace, {"replicas": 8, "readyReplicas": 4}, timeout=30)
    assert status["nodes"]["unitsPerNode"] == 4
    pool.add(1, labels={zone: "b"})
    wait_for_active(pool, namespace, {"readyReplicas": 8})
    pool.plane.kubectl("delete", "pv", volume["metadata"]["name"], "--wait=false")


def test_what_was_consumed_is_known_after_a_restart(pool: Pool, namespace: str, operator: OperatorProcess) -> None:
    pool.add(2)
    pool.plane.apply(units(pool), buffer(podTemplateRef=UNIT, replicas=8), namespace=namespace)
    wait_for_active(pool, namespace, {"readyReplicas": 8})
    run_pods(pool, namespace, 3)
    wait_for_active(pool, namespace, {"readyReplicas": 5, "consumed": 3})
    operator.stop()
    run_pods(pool, namespace, 5)
    operator.start_and_wait()
    wait_for_active(pool, namespace, {"readyReplicas": 3, "consumed": 3})
    run_pods(pool, namespace, 6)
    wait_for_active(pool, namespace, {"readyReplicas": 2, "consumed": 4})
