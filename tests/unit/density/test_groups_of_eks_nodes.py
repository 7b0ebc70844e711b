"""Nodes of EKS types: addresses bound units too, their cost is told, and nodes that are not there yet are judged."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.density.eks.networking import Mode
from moorage.density.eks.nodes import PlannedNodes
from moorage.density.groups import Group, outlook
from moorage.density.packing import Fit
from tests.nodes import GPU, a_unit, node, occupied_by, resident

TINY = a_unit(cpu="1m")


def labels(name: str) -> dict[str, str]:
    return {"node.kubernetes.io/instance-type": name, "eks.amazonaws.com/nodegroup": "main"}


def only(*nodes: Any, unit: Any = TINY, pods: Any = (), planned: PlannedNodes | None = None) -> Group:
    (found,) = outlook(unit, nodes, occupied_by(*pods).loads, planned).groups
    return found


def daemons(count: int, on: str = "node-1") -> list[Any]:
    return [resident(on, daemon=True) for _ in range(count)]


@pytest.mark.parametrize(
    ("name", "pods", "planned", "fit"),
    [
        ("m5.large", "29", None, Fit(26, "pods")),
        ("m5.large", "110", None, Fit(107, "pods")),
        ("r8gd.medium", "110", None, Fit(95, "addresses")),
        ("m5.large", "29", PlannedNodes("m5.large", custom_networking=True), Fit(17, "addresses")),
        ("m5.large", "29", PlannedNodes("t3.large", custom_networking=True), Fit(26, "pods")),
        ("e2-standard-4", "250", None, Fit(247, "pods")),
    ],
    ids=["single addresses", "prefixes", "over-promised", "custom networking", "of another type", "another cloud"],
)
def test_a_unit_needs_an_address(name: str, pods: str, planned: PlannedNodes | None, fit: Fit) -> None:
    found = outlook(TINY, [node(pods=pods, labels=labels(name))], occupied_by(*daemons(3)).loads, planned).groups
    assert found[0].fit == fit


@pytest.mark.parametrize(
    ("pods", "units", "addresses"),
    [
        ("29", 26, 30),  # 27 pods with an address: three interfaces of 10
        ("29", 1, 20),  # the second interface is the warm one
        ("29", 27, 30 + 20),
        ("110", 107, 113),  # 108 pods: 7 prefixes on one interface
        ("110", 0, 0),
        ("110", 214, 226),
    ],
)
def test_units_cost_what_the_cni_attaches_for_them_and_for_daemons(pods: str, units: int, addresses: int) -> None:
    found = only(node(pods=pods, labels=labels("m5.large")), pods=daemons(3))
    assert found.addresses_for(units) == addresses


def test_of_other_clouds_no_addresses_are_told() -> None:
    assert only(node(labels=labels("e2-standard-4"))).addresses_for(3) is None


class TestPlannedNodes:
    def test_are_judged_while_there_is_none(self) -> None:
        found = only(planned=PlannedNodes("m5.large", Mode.PREFIX), unit=a_unit(cpu="100m"))
        assert (found.name, found.nodes, found.fit) == ("m5.large, planned", 0, Fit(19, "cpu"))
        assert found.addresses_for(19) == 1 + 3 * 16

    @pytest.mark.parametrize(
        ("planned", "fit"),
        [
            (PlannedNodes("m5.large"), Fit(27, "pods")),
            (PlannedNodes("m5.large", Mode.PREFIX), Fit(108, "pods")),
            (PlannedNodes("m5.large", custom_networking=True), Fit(18, "pods")),
            (PlannedNodes("m5.large", custom_networking=True, max_pods=29), Fit(18, "addresses")),
            (PlannedNodes("m5.4xlarge"), Fit(232, "pods")),
            (PlannedNodes("m5.4xlarge", max_pods=110), Fit(108, "pods")),
        ],
    )
    def test_admit_what_such_nodes_usually_admit(self, planned: PlannedNodes, fit: Fit) -> None:
        assert only(planned=planned).fit == fit

    def test_have_the_memory_that_the_image_leaves(self) -> None:
        # 8192 less 615 for the hypervisor, 574 reserved for 29 pods, 100 before eviction: 6903 MiB.
        assert only(planned=PlannedNodes("m5.large"), unit=a_unit(memory="500Mi")).fit == Fit(13, "memory")

    def test_have_the_daemons_of_other_nodes_and_come_last(self) -> None:
        found = outlook(
            TINY,
            [node(pods="20", labels=labels("t3.large"))],
            occupied_by(*daemons(5)).loads,
            PlannedNodes("m5.large"),
        )
        assert [(each.name, each.fit.units) for each in found.groups] == [
            ("main t3.large", 15),
            ("m5.large, planned", 24),
        ]

    def test_give_way_to_live_ones_of_their_type(self) -> None:
        found = only(node(pods="29", labels=labels("m5.large")), planned=PlannedNodes("m5.large", Mode.PREFIX))
        assert (found.name, found.fit) == ("main m5.large", Fit(29, "pods"))

    def test_that_are_too_small_are_an_obstacle(self) -> None:
        found = outlook(a_unit(cpu="4"), [], {}, PlannedNodes("m5.large"))
        assert (found.groups, found.obstacles) == ((), {"cpu": 1})
        assert found.remark == "a planned m5.large is one of them"

    @pytest.mark.parametrize(
        ("planned", "unit"),
        [
            (PlannedNodes("m5.huge"), TINY),
            (PlannedNodes("u-6tb1.metal", Mode.PREFIX), TINY),
            (PlannedNodes("p3.2xlarge"), TINY),
            (PlannedNodes("g5.xlarge"), a_unit(more={GPU: "1"})),
        ],
        ids=["no such type", "max pods not known", "size not known", "a resource that the table does not know"],
    )
    def test_of_which_too_little_is_known_are_not_judged_and_it_is_said(self, planned: PlannedNodes, unit: Any) -> None:
        found = outlook(unit, [], {}, planned)
        assert not found.known
        assert planned.instance_type in found.remark
