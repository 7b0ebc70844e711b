"""Packing of any units onto any nodes, against a slow search that follows the rules word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.density.nodes import Node
from moorage.density.occupancy import Resident
from moorage.density.units import Unit
from tests.nodes import a_unit, affinity, anti_affinity, in_zone, near, node, occupied_by, placed, resident, spread

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CPUS = ("500m", "1", "1500m", "2", "3")


@st.composite
def clusters(draw: st.DrawFn) -> list[Node]:
    return [
        node(
            f"n{number}",
            cpu=draw(st.sampled_from(CPUS)),
            pods=draw(st.sampled_from(["1", "3", "110"])),
            labels=in_zone(draw(st.sampled_from("ab"))) if draw(st.integers(0, 4)) else {},
            taints=draw(st.sampled_from([[], [], ["gpu:NoSchedule"]])),
        )
        for number in range(draw(st.integers(0, 4)))
    ]


@st.composite
def residents(draw: st.DrawFn, nodes: Sequence[Node]) -> list[Resident]:
    if not nodes:
        return []
    return [
        resident(
            draw(st.sampled_from(nodes)).name,
            cpu=draw(st.sampled_from(["0", "250m", "1"])),
            labels={"app": draw(st.sampled_from(["web", "api"]))},
        )
        for _ in range(draw(st.integers(0, 3)))
    ]


RULES: list[dict[str, Any]] = [
    {},
    {"topologySpreadConstraints": [spread(ZONE)]},
    {"topologySpreadConstraints": [spread(HOST, skew=2)]},
    {"topologySpreadConstraints": [spread(ZONE, minDomains=3, skew=2)]},
    {"affinity": anti_affinity(near(HOST))},
    {"affinity": anti_affinity(near(ZONE, app="api"))},
    {"affinity": affinity(near(ZONE, app="api"))},
    {"affinity": affinity(near(ZONE))},
    {"topologySpreadConstraints": [spread(ZONE)], "affinity": anti_affinity(near(HOST))},
]


@st.composite
def units(draw: st.DrawFn) -> Unit:
    return a_unit(
        cpu=draw(st.sampled_from(["500m", "1"])),
        labels={"app": draw(st.sampled_from(["web", "web", "other"]))},
        tolerations=draw(st.sampled_from([[], [{"operator": "Exists"}]])),
        **draw(st.sampled_from(RULES)),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Unit, list[Node], list[Resident]]:
    nodes = draw(clusters())
    return draw(units()), nodes, draw(residents(nodes))


@settings(max_examples=400, deadline=None)
@given(case=cases(), wanted=st.integers(0, 9))
def test_as_many_units_are_placed_as_any_order_allows(
    case: tuple[Unit, list[Node], list[Resident]], wanted: int
) -> None:
    unit, nodes, pods = case
    found = placed(wanted, unit, nodes, pods=pods)
    assert sum(found.values()) == search(wanted, unit, nodes, pods)


@settings(max_examples=300, deadline=None)
@given(case=cases(), wanted=st.integers(0, 9))
def test_every_placing_can_be_reached_one_pod_after_another(
    case: tuple[Unit, list[Node], list[Resident]], wanted: int
) -> None:
    unit, nodes, pods = case
    found = placed(wanted, unit, nodes, pods=pods)
    goal = tuple(found.get(each.name, 0) for each in nodes)
    assert reaches(goal, unit, nodes, pods)


@settings(max_examples=200, deadline=None)
@given(case=cases(), wanted=st.integers(0, 9), cpu=st.sampled_from(CPUS))
def test_another_node_never_takes_places_away_from_units_without_rules(
    case: tuple[Unit, list[Node], list[Resident]], wanted: int, cpu: str
) -> None:
    _, nodes, pods = case
    unit = a_unit(cpu="1")
    before = sum(placed(wanted, unit, nodes, pods=pods).values())
    after = sum(placed(wanted, unit, [*nodes, node("more", cpu=cpu)], pods=pods).values())
    assert before <= after <= wanted


@settings(max_examples=200, deadline=None)
@given(case=cases(), order=st.randoms())
def test_a_pod_that_comes_and_goes_leaves_no_trace(case: tuple[Unit, list[Node], list[Resident]], order: Any) -> None:
    _, _, pods = case
    occupancy = occupied_by(*pods)
    gone = order.sample(pods, len(pods) // 2)
    for each in gone:
        occupancy.remove(each)
    left = occupied_by(*[each for each in pods if not any(each is other for other in gone)])
    for name in {each.node for each in pods}:
        one, other = occupancy.loads[name], left.loads.get(name)
        assert (one.used, one.kinds) == ((other.used, other.kinds) if other is not None else ({}, {}))


# The rules, word by word


def search(wanted: int, unit: Unit, nodes: Sequence[Node], pods: Sequence[Resident]) -> int:
    """Return how many of the units can be placed by the best order."""

    @cache
    def best(counts: tuple[int, ...]) -> int:
        if sum(counts) == wanted:
            return wanted
        steps = [best(after) for after in _steps(counts, unit, nodes, pods)]
        return max([sum(counts), *steps])

    return best((0,) * len(nodes))


def reaches(goal: tuple[int, ...], unit: Unit, nodes: Sequence[Node], pods: Sequence[Resident]) -> bool:
    """Tell whether some order of placing leads to these counts."""

    @cache
    def leads(counts: tuple[int, ...]) -> bool:
        if counts == goal:
            return True
        return any(
            leads(after)
            for after in _steps(counts, unit, nodes, pods)
            if all(one <= other for one, other in zip(after, goal, strict=True))
        )

    return leads((0,) * len(nodes))


def _steps(
    counts: tuple[int, ...], unit: Unit, nodes: Sequence[Node], pods: Sequence[Resident]
) -> list[tuple[int, ...]]:
    there = [(each.node, dict(each.labels or ())) for each in pods]
    there += [(each.name, dict(unit.labels)) for each, count in zip(nodes, counts, strict=True) for _ in range(count)]
    result = []
    for at, each in enumerate(nodes):
        own = [pod for pod in pods if pod.node == each.name]
        cpu = sum(pod.requests.get("cpu", 0) for pod in own) + counts[at] * unit.requests["cpu"]
        if cpu + unit.requests["cpu"] > each.allocatable["cpu"]:
            continue
        if (len(own) + counts[at] + 1) * 10**9 > each.allocatable["pods"]:
            continue
        if each.taints and not unit.spec.tolerations:
            continue
        if _rules_hold(unit, each, nodes, there):
            result.append((*counts[:at], counts[at] + 1, *counts[at + 1 :]))
    return result


def _rules_hold(unit: Unit, at: Node, nodes: Sequence[Node], there: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    labels = {each.name: each.labels for each in nodes}

    def peers(key: str, app: str, domain: str) -> int:
        return sum(1 for name, own in there if own.get("app") == app and labels[name].get(key) == domain)

    for term in unit.anti_affinity:
        app = (term.label_selector.match_labels or {})["app"] if term.label_selector is not None else ""
        if term.topology_key in at.labels and peers(term.topology_key, app, at.labels[term.topology_key]):
            return False
    for term in unit.affinity:
        app = (term.label_selector.match_labels or {})["app"] if term.label_selector is not None else ""
        key = term.topology_key
        if key not in at.labels:
            return False
        anywhere = sum(
            peers(key, app, domain) for domain in {each.labels.get(key) for each in nodes} - {None} if domain
        )
        first = not anywhere and unit.labels.get("app") == app
        if not first and not peers(key, app, at.labels[key]):
            return False
    for constraint in unit.spread:
        key = constraint.topology_key
        if key not in at.labels:
            return False
        domains = {each.labels[key] for each in nodes if key in each.labels}
        counts = {domain: peers(key, "web", domain) for domain in domains}
        least = 0 if len(domains) < (constraint.min_domains or 1) else min(counts.values())
        if counts[at.labels[key]] + (unit.labels.get("app") == "web") - least > constraint.max_skew:
            return False
    return True
