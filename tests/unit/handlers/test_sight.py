"""One look at nodes and pods tells what is there of each buffer, and what was taken since the last look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.buffer.presence import Refill
from moorage.density.eks.networking import Mode
from moorage.density.eks.nodes import PlannedNodes
from moorage.density.nodes import Node
from moorage.density.occupancy import Resident
from moorage.handlers.sight import Sight, Wish
from moorage.status.presence import Sighting, TierSighting
from tests.nodes import a_unit, node, occupied_by, resident

WEB, OTHER = ("team-a", "web"), ("team-b", "other")
UNIT = a_unit(cpu="1")
CHILLING: dict[str, Any] = {"labels": {"buffer.gke.io/standby-capacity-node": "true"}}
SUSPENDED: dict[str, Any] = {**CHILLING, "suspended": "True", "cordoned": True}


class World:
    """Nodes and pods that a test changes between looks."""

    def __init__(self, *nodes: Node) -> None:
        self.sight = Sight()
        self.nodes = {each.name: each for each in nodes}
        self.occupancy = occupied_by()
        self.version = 0

    def add(self, *nodes: Node) -> None:
        self.nodes.update({each.name: each for each in nodes})
        self.version += 1

    def drop(self, name: str) -> None:
        del self.nodes[name]
        self.version += 1

    def run(self, pod: Resident, count: int = 1) -> None:
        for _ in range(count):
            self.occupancy.add(pod)

    def look(
        self, wishes: Mapping[tuple[str, str], Wish], places: Mapping[tuple[str, str], Mapping[str, int]] | None = None
    ) -> dict[tuple[str, str], Sighting]:
        look = self.sight.look(
            wishes,
            self.nodes,
            self.occupancy.loads,
            places=places or {},
            nodes_version=self.version,
            daemons_version=self.occupancy.daemons_changed,
        )
        return dict(look)

    def tiers(self, wish: Wish) -> tuple[TierSighting, TierSighting]:
        seen = self.look({WEB: wish})[WEB]
        return seen.active, seen.standby


def wish(active: int = 0, standby: int = 0, **keywords: Any) -> Wish:
    return Wish(UNIT, active, standby, **keywords)


def test_units_that_fit_are_there() -> None:
    world = World(node("a"), node("b"))
    assert world.tiers(wish(active=6)) == (TierSighting(6, 6), TierSighting(0, 0))
    assert world.tiers(wish(active=20))[0] == TierSighting(20, 8)


def test_units_that_pods_take_are_consumed_until_the_tier_is_full_again() -> None:
    world, wanted = World(node("a"), node("b")), wish(active=8)
    world.look({WEB: wanted})
    world.run(resident("a", cpu="1"), 3)
    assert world.tiers(wanted)[0] == TierSighting(8, 5, consumed=3)
    world.run(resident("b", cpu="1"))
    assert world.tiers(wanted)[0] == TierSighting(8, 4, consumed=4)
    world.add(node("c"))
    assert world.tiers(wanted)[0] == TierSighting(8, 8)


def test_units_of_a_node_that_goes_are_missing_but_not_consumed() -> None:
    world, wanted = World(node("a"), node("b")), wish(active=8)
    world.look({WEB: wanted})
    world.drop("b")
    assert world.tiers(wanted)[0] == TierSighting(8, 4)


def test_a_node_that_takes_no_pods_any_more_holds_no_units() -> None:
    world, wanted = World(node("a"), node("b")), wish(active=8)
    world.look({WEB: wanted})
    world.add(node("b", cordoned=True))
    assert world.tiers(wanted)[0] == TierSighting(8, 4)


def test_units_stay_where_they_are_so_that_pods_beside_them_take_nothing() -> None:
    world, wanted = World(node("b")), wish(active=4)
    world.look({WEB: wanted})
    world.add(node("a"))
    world.run(resident("a", cpu="1"), 2)
    assert world.tiers(wanted)[0] == TierSighting(4, 4)


def test_standby_units_are_on_standby_nodes_only() -> None:
    world = World(node("a", cpu="16"), node("w", **CHILLING), node("s", **SUSPENDED))
    seen = world.look({WEB: wish(active=8, standby=8)})[WEB]
    assert (seen.active, seen.standby) == (TierSighting(8, 8), TierSighting(8, 8))
    assert World(node("a", cpu="16")).tiers(wish(active=8, standby=8))[1] == TierSighting(8, 0)


def test_standby_nodes_that_run_stand_in_for_active_units_and_suspended_ones_refill_them() -> None:
    world = World(node("w", **CHILLING), node("s", **SUSPENDED))
    seen = world.look({WEB: wish(active=6, standby=8)})[WEB]
    assert (seen.active, seen.standby) == (TierSighting(6, 4), TierSighting(8, 4))
    assert seen.refill == Refill(0, 2, 0, 6)


def test_standby_nodes_of_another_buffer_do_not_count() -> None:
    world = World(node("s", standby_of="team-b/other-standby", **SUSPENDED))
    assert world.tiers(wish(standby=4, standby_of="team-a/web-standby"))[1] == TierSighting(4, 0)
    assert world.tiers(wish(standby=4, standby_of="team-b/other-standby"))[1] == TierSighting(4, 4)


def test_the_first_buffer_has_the_first_choice_and_no_room_is_counted_twice() -> None:
    world = World(node("a"), node("b"))
    seen = world.look({WEB: wish(active=6), OTHER: wish(active=6)})
    assert [each.active.ready for each in seen.values()] == [6, 2]
    seen = world.look({OTHER: wish(active=6), WEB: wish(active=6)})
    assert {key: each.active for key, each in seen.items()} == {OTHER: TierSighting(6, 6), WEB: TierSighting(6, 2)}


def test_placeholders_are_the_units_where_there_are_any() -> None:
    world = World(node("a"), node("b"), node("c", cordoned=True))
    holders = wish(active=9, placeholders="Deployment/web-placeholder")
    seen = world.look({WEB: holders}, {WEB: {"a": 4, "b": 2, "c": 1}})[WEB]
    assert seen.active == TierSighting(9, 6)
    world.run(resident("a", cpu="1"), 4)
    seen = world.look({WEB: holders}, {WEB: {"b": 2}})[WEB]
    assert seen.active == TierSighting(9, 2, consumed=4)


def test_after_a_restart_what_was_consumed_is_what_status_says() -> None:
    world = World(node("a"))
    assert world.tiers(wish(active=8, consumed=(4, 0)))[0] == TierSighting(8, 4, consumed=4)


def test_another_shape_of_the_unit_is_looked_for_anew() -> None:
    world = World(node("a"))
    world.look({WEB: wish(active=8)})
    larger = Wish(a_unit(cpu="2"), 8, 0)
    assert world.tiers(larger)[0] == TierSighting(8, 2)


def test_the_group_that_holds_most_units_is_named() -> None:
    pool = {"karpenter.sh/nodepool": "small"}
    world = World(node("a", labels=pool, cpu="1"), node("b", cpu="8"))
    assert world.look({WEB: wish(active=9)})[WEB].group == "8 cpu, 16Gi memory"
    assert World(node("a", labels=pool)).look({WEB: wish(active=1)})[WEB].group == "small"
    assert World().look({WEB: wish(active=1)})[WEB].group == ""


def test_a_node_whose_daemons_change_is_judged_anew() -> None:
    world = World(node("a"))
    assert world.look({WEB: wish(active=1)})[WEB].outlook.groups[0].fit.units == 4
    world.run(resident("a", cpu="500m", daemon=True))
    assert world.look({WEB: wish(active=1)})[WEB].outlook.groups[0].fit.units == 3


def test_placeholders_count_even_where_nodes_may_not_be_read() -> None:
    world = World()
    holders = wish(active=6, placeholders="Deployment/web-placeholder")
    loads = world.occupancy.loads
    assert world.sight.count(WEB, holders, {"a": 4, "b": 2}, loads).active == TierSighting(6, 6)
    world.run(resident("a", cpu="1"), 3)
    seen = world.sight.count(WEB, holders, {"a": 1, "b": 2}, loads)
    assert (seen.active, seen.taken, seen.outlook.read) == (TierSighting(6, 3, consumed=3), 3, False)


def test_nodes_that_are_planned_are_judged_while_there_is_none_and_follow_the_spec() -> None:
    world = World()

    def fits(planned: PlannedNodes | None) -> list[tuple[str, int]]:
        groups = world.look({WEB: wish(active=4, planned=planned)})[WEB].outlook.groups
        return [(group.name, group.fit.units) for group in groups]

    assert fits(None) == []
    assert fits(PlannedNodes("m5.xlarge")) == [("m5.xlarge, planned", 3)]
    assert fits(PlannedNodes("m5.4xlarge", Mode.PREFIX)) == [("m5.4xlarge, planned", 15)]
    world.add(node("a", labels={"node.kubernetes.io/instance-type": "m5.4xlarge"}))
    assert fits(PlannedNodes("m5.4xlarge", Mode.PREFIX)) == [("m5.4xlarge", 4)]


def test_units_find_no_room_where_they_would_have_no_address() -> None:
    small = a_unit(cpu="1m")
    label = {"node.kubernetes.io/instance-type": "m5.large"}
    world = World(node("a", pods="29", labels=label), node("b", pods="29", labels=label))

    def ready(planned: PlannedNodes | None) -> int:
        return world.look({WEB: Wish(small, 58, 0, planned=planned)})[WEB].active.ready

    assert ready(None) == 58
    assert ready(PlannedNodes("m5.large", custom_networking=True)) == 2 * (18 + 2)
    assert ready(PlannedNodes("t3.large", custom_networking=True)) == 58
    world.add(node("c", pods="110", labels={"node.kubernetes.io/instance-type": "r8gd.medium"}))
    assert world.look({WEB: Wish(small, 200, 0)})[WEB].active.ready == 58 + 98
