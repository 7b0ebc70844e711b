"""On nodes of EKS types a buffer tells what binds its units and what they cost in addresses, and does so beforehand."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.cluster.objects import buffer, condition, pod_template, wait_for_status
from tests.controlplane import ControlPlane

UNIT = {"name": "unit"}
POOL = "example.com/pool"


class Pool:
    """Nodes of an instance type, as EKS would make them."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.name = f"eks-{secrets.token_hex(3)}"
        taint = {"key": POOL, "value": self.name, "effect": "NoSchedule"}
        self._taints = [taint]
        self.place = {
            "nodeSelector": {POOL: self.name},
            "tolerations": [{**taint, "operator": "Equal"}],
        }
        """The fields of a pod spec that put it here; no other pod comes."""

    def add(self, count: int, *, kind: str, pods: str) -> None:
        labels = {
            POOL: self.name,
            "eks.amazonaws.com/nodegroup": self.name,
            "node.kubernetes.io/instance-type": kind,
        }
        self.plane.add_nodes(count, labels=labels, taints=self._taints, cpu="2", memory="8Gi", pods=int(pods))


@pytest.fixture
def pool(own_control_plane: ControlPlane) -> Iterator[Pool]:
    own = Pool(own_control_plane)
    yield own
    own_control_plane.kubectl("delete", "nodes", "-l", f"{POOL}={own.name}", "--wait=false")


@pytest.mark.usefixtures("operator")
def test_units_and_their_addresses_are_told_before_and_after_there_are_nodes(pool: Pool, namespace: str) -> None:
    small = pod_template(cpu="1m", memory="1Mi", **pool.place)
    planned = {"instanceType": "m5.large", "networking": "Prefix"}
    pool.plane.apply(small, buffer(podTemplateRef=UNIT, replicas=150, nodes=planned), namespace=namespace)
    expected = {
        "group": "m5.large, planned",
        "unitsPerNode": 108,
        "boundBy": "pods",
        "active": 2,
        "addresses": 113 + 65,
    }
    # One node with 108 units holds 7 prefixes, one with 42 holds 4; each has an interface with an address of its own.
    status = wait_for_status(pool.plane, namespace, "cbuf/buffer", {"nodes": expected}, timeout=30)
    assert condition(status, "Infeasible")["reason"] == "NodesFit"
    pool.add(2, kind="m5.large", pods="110")
    expected = {"group": f"{pool.name} m5.large", "unitsPerNode": 110, "boundBy": "pods", "active": 2}
    wait_for_status(pool.plane, namespace, "cbuf/buffer", {"readyReplicas": 150, "nodes": expected}, timeout=30)


@pytest.mark.usefixtures("operator")
def test_pods_bound_units_on_single_addresses(pool: Pool, namespace: str) -> None:
    pool.add(3, kind="m5.large", pods="29")
    small = pod_template(cpu="1m", memory="1Mi", **pool.place)
    pool.plane.apply(small, buffer(podTemplateRef=UNIT, replicas=58), namespace=namespace)
    expected = {"group": f"{pool.name} m5.large", "unitsPerNode": 27, "boundBy": "addresses", "active": 3}
    # Two full nodes, and one with 4 units: two interfaces of 10 addresses, one of them warm.
    expected["addresses"] = 30 + 30 + 20
    wait_for_status(pool.plane, namespace, "cbuf/buffer", {"readyReplicas": 58, "nodes": expected}, timeout=30)
