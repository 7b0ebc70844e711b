"""Units per empty node, nodes that so many units need, and whether any node could ever hold one."""

from __future__ import annotations

import pytest

from moorage.density.groups import Group, on_empty_node, outlook
from moorage.density.packing import Fit
from tests.builders import nano
from tests.nodes import GPU, a_unit, anti_affinity, near, node, node_affinity, occupied_by, resident

POOL = {"karpenter.sh/nodepool": "default", "node.kubernetes.io/instance-type": "c-4x"}
WEB = {"app": "web"}


def test_an_empty_node_is_one_with_nothing_but_its_daemons() -> None:
    pods = [resident(cpu="3"), resident(cpu="500m", daemon=True)]
    found = outlook(a_unit(cpu="1"), [node(labels=POOL)], occupied_by(*pods).loads)
    assert found.groups == (Group("default c-4x", 1, Fit(3, "cpu")),)


def test_nodes_that_are_alike_are_one_group_and_the_roomiest_group_is_first() -> None:
    nodes = [node("a", labels=POOL), node("b", labels=POOL), node("c", cpu="8")]
    found = outlook(a_unit(cpu="1"), nodes, {})
    assert found.groups == (
        Group("8 cpu, 16Gi memory", 1, Fit(8, "cpu")),
        Group("default c-4x", 2, Fit(4, "cpu")),
    )


@pytest.mark.parametrize(("units", "nodes"), [(0, 0), (1, 1), (4, 1), (5, 2), (60, 15), (180, 45)], ids=str)
def test_nodes_that_units_need_are_whole(units: int, nodes: int) -> None:
    assert Group("any", 1, Fit(4, "cpu")).nodes_for(units) == nodes


def test_its_own_anti_affinity_and_host_ports_leave_one_unit_a_node() -> None:
    room = nano(cpu="4", memory="16Gi", pods="110")
    apart = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near()))
    other = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near(app="noisy")))
    port = a_unit(cpu="1", containers=[{"ports": [{"hostPort": 80}]}])
    assert on_empty_node(apart, room, {}) == Fit(1, "pod anti-affinity")
    assert on_empty_node(other, room, {}) == Fit(4, "cpu")
    assert on_empty_node(port, room, {}) == Fit(1, "host port")


def test_max_pods_bounds_small_units() -> None:
    found = outlook(a_unit(cpu="10m"), [node(pods="29")], occupied_by(resident(daemon=True)).loads)
    assert found.groups[0].fit == Fit(28, "pods")


@pytest.mark.parametrize(
    "given",
    [
        {"ready": "False", "taints": ["node.kubernetes.io/not-ready:NoSchedule"]},
        {"cordoned": True, "taints": ["node.kubernetes.io/unschedulable:NoSchedule"]},
        {"suspended": "True", "cordoned": True},
    ],
    ids=["not ready", "cordoned", "suspended"],
)
def test_a_node_that_takes_no_pods_now_could_hold_a_unit_all_the_same(given: dict[str, object]) -> None:
    assert outlook(a_unit(cpu="1"), [node(**given)], {}).feasible


def test_a_full_node_could_hold_a_unit_all_the_same() -> None:
    assert outlook(a_unit(cpu="1"), [node()], occupied_by(resident(cpu="4")).loads).feasible


def test_a_unit_that_is_larger_than_every_node_is_infeasible_and_the_largest_is_told() -> None:
    pods = [resident("b", cpu="500m", daemon=True)]
    found = outlook(a_unit(cpu="64"), [node("a"), node("b", cpu="8")], occupied_by(*pods).loads)
    assert not found.feasible
    assert (found.obstacles, found.largest) == ({"cpu": 2}, nano(cpu="7500m"))


def test_each_obstacle_is_told_with_its_nodes() -> None:
    nodes = [
        node("a", labels={"disk": "ssd"}, taints=["gpu:NoSchedule"]),
        node("b"),
        node("c"),
        node("d", labels={"disk": "ssd"}),
    ]
    found = outlook(a_unit(cpu="1", more={GPU: "1"}, nodeSelector={"disk": "ssd"}), nodes, {})
    assert not found.feasible
    assert found.obstacles == {"the taint gpu:NoSchedule": 1, "the node selector": 2, GPU: 1}


def test_any_of_the_zones_that_a_unit_asks_for_will_do() -> None:
    zone = "topology.kubernetes.io/zone"
    nodes = [node("a", labels={zone: "a", **POOL}), node("b", labels={zone: "b", **POOL})]
    asks = a_unit(cpu="1", affinity=node_affinity([(zone, "In", ["b", "c"])]))
    found = outlook(asks, nodes, {})
    assert found.groups == (Group("default c-4x", 1, Fit(4, "cpu")),)
    assert not outlook(a_unit(cpu="1", nodeSelector={zone: "z"}), nodes, {}).feasible


def test_without_nodes_nothing_is_known() -> None:
    found = outlook(a_unit(cpu="1"), [], {})
    assert (found.known, found.feasible) == (False, False)


def test_nodes_that_are_gone_are_forgotten_once_their_pods_are() -> None:
    pod = resident("gone", cpu="1")
    occupancy = occupied_by(pod, resident("there", cpu="1"))
    occupancy.prune({"there"})
    assert set(occupancy.loads) == {"gone", "there"}
    occupancy.remove(pod)
    occupancy.prune({"there"})
    assert set(occupancy.loads) == {"there"}
