"""How many units fit into free room, where they go, and what keeps more from fitting."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.density.packing import Fit, Packing, Room, fit
from moorage.density.units import Refusals, Unit
from tests.builders import nano
from tests.nodes import GPU, a_unit, node, occupied_by, placed, resident

LARGE = nano(cpu="4", memory="16Gi", pods="110")


@pytest.mark.parametrize(
    ("asked", "has", "taken", "expected"),
    [
        ({"cpu": "1"}, LARGE, {}, Fit(4, "cpu")),
        ({"cpu": "1", "memory": "8Gi"}, LARGE, {}, Fit(2, "memory")),
        ({"cpu": "1"}, LARGE, {"cpu": "1500m"}, Fit(2, "cpu")),
        ({"cpu": "300m"}, LARGE, {}, Fit(13, "cpu")),
        ({}, LARGE, {"pods": "100"}, Fit(10, "pods")),
        ({"cpu": "1m"}, LARGE, {"pods": "110"}, Fit(0, "pods")),
        ({"cpu": "1"}, LARGE, {"cpu": "5"}, Fit(0, "cpu")),
        ({"memory": "1Gi"}, LARGE, {"cpu": "5"}, Fit(16, "memory")),
        ({GPU: "1"}, LARGE, {}, Fit(0, GPU)),
        ({GPU: "2"}, {**LARGE, **nano(**{GPU: "5"})}, {}, Fit(2, GPU)),
        ({"cpu": "1"}, nano(cpu="4"), {}, Fit(0, "pods")),
        ({"cpu": "1", "memory": "4Gi"}, LARGE, {}, Fit(4, "cpu")),
    ],
    ids=[
        "by cpu",
        "by memory",
        "beside pods",
        "rounded down",
        "a unit without requests, by pods",
        "no pod more",
        "an overcommitted node",
        "overcommitted in what it does not ask for",
        "an extended resource that a node lacks",
        "an extended resource",
        "a node that says nothing of pods",
        "equally scarce",
    ],
)
def test_the_scarcest_resource_bounds(
    asked: dict[str, str], has: dict[str, int], taken: dict[str, str], expected: Fit
) -> None:
    assert fit(a_unit(more=asked).requests, has, nano(**taken)) == expected


def test_units_go_to_nodes_in_order_and_no_further_than_wanted() -> None:
    nodes = [node("a"), node("b"), node("c")]
    assert placed(6, a_unit(cpu="1"), nodes) == {"a": 4, "b": 2}
    assert placed(100, a_unit(cpu="1"), nodes) == {"a": 4, "b": 4, "c": 4}
    assert placed(0, a_unit(cpu="1"), nodes) == {}


def test_pods_that_run_take_their_room() -> None:
    pods = [resident("a", cpu="3500m"), resident("b", cpu="1")]
    assert placed(9, a_unit(cpu="1"), [node("a"), node("b")], pods=pods) == {"b": 3}


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("selector", {"labels": {"disk": "hdd"}}, {"nodeSelector": {"disk": "ssd"}}),
    ("taint", {"taints": ["gpu=true:NoSchedule"]}, {}),
    ("taint of a state", {"taints": ["node.kubernetes.io/memory-pressure:NoSchedule"]}, {}),
    ("name", {}, {"nodeName": "other"}),
]


@pytest.mark.parametrize(("given", "spec"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_nodes_that_are_out_of_the_question_get_nothing(given: dict[str, Any], spec: dict[str, Any]) -> None:
    assert placed(9, a_unit(cpu="1", **spec), [node("a", **given)]) == {}


def test_nodes_that_a_unit_asks_for_and_tolerates_get_units() -> None:
    gpus = node("a", labels={"disk": "ssd"}, taints=["gpu=true:NoSchedule"])
    unit = a_unit(cpu="1", nodeSelector={"disk": "ssd"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
    assert placed(9, unit, [node("b"), gpus]) == {"a": 4}


def test_one_unit_on_each_node_when_it_takes_a_port_of_its_host() -> None:
    unit = a_unit(cpu="1", containers=[{"ports": [{"containerPort": 80, "hostPort": 80}]}])
    assert placed(9, unit, [node("a"), node("b")]) == {"a": 1, "b": 1}


def test_two_buffers_do_not_count_the_same_room() -> None:
    nodes, loads = [node("a"), node("b")], occupied_by().loads
    room = Room(loads)

    def place(unit: Unit, wanted: int) -> int:
        return sum(Packing(Refusals(unit), room, nodes=nodes, loads=loads).place(wanted, nodes).values())

    assert place(a_unit(cpu="3"), 10) == 2
    assert place(a_unit(cpu="500m"), 10) == 4
    assert place(a_unit(memory="1Gi"), 100) == 32


def test_the_same_shape_continues_on_further_nodes() -> None:
    one = a_unit(cpu="1")
    first, second = [node("a")], [node("b")]
    packing = Packing(Refusals(one), Room({}), nodes=[*first, *second], loads={})
    assert packing.place(6, first) == {"a": 4}
    assert packing.place(2, second) == {"b": 2}
    assert packing.place(9, second) == {"b": 2}
