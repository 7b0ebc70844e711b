"""Required pod affinity, anti-affinity and spread, of units among themselves and towards pods that run."""

from __future__ import annotations

from tests.nodes import a_unit, affinity, anti_affinity, in_zone, near, node, placed, resident, spread

WEB = {"app": "web"}
ZONE = "topology.kubernetes.io/zone"
TWO_ZONES = [node("a", labels=in_zone("a")), node("b", labels=in_zone("b"))]
THREE_NODES = [node("a1", labels=in_zone("a")), node("a2", labels=in_zone("a")), node("b1", labels=in_zone("b"))]


# Anti-affinity


def test_its_own_anti_affinity_leaves_one_unit_a_node() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near()))
    assert placed(9, unit, THREE_NODES) == {"a1": 1, "a2": 1, "b1": 1}


def test_its_own_anti_affinity_by_zone_leaves_one_unit_a_zone() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near(ZONE)))
    assert placed(9, unit, THREE_NODES) == {"a1": 1, "b1": 1}


def test_pods_that_run_keep_units_from_their_domain() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near(ZONE)))
    assert placed(9, unit, THREE_NODES, pods=[resident("a2", labels=WEB)]) == {"b1": 1}


def test_anti_affinity_to_others_does_not_bound_the_units_themselves() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near(app="noisy")))
    assert placed(9, unit, THREE_NODES, pods=[resident("a1", labels={"app": "noisy"})]) == {"a2": 4, "b1": 4}


def test_anti_affinity_looks_at_its_own_namespace_unless_it_names_others() -> None:
    elsewhere = [resident("a1", labels={"app": "noisy"}, namespace="team-b")]
    own = a_unit(cpu="4", labels=WEB, affinity=anti_affinity(near(app="noisy")))
    named = a_unit(cpu="4", labels=WEB, affinity=anti_affinity(near(app="noisy", namespaces=["team-b"])))
    every = a_unit(cpu="4", labels=WEB, affinity=anti_affinity(near(app="noisy", namespaceSelector={})))
    assert placed(9, own, THREE_NODES, pods=elsewhere) == {"a1": 1, "a2": 1, "b1": 1}
    assert placed(9, named, THREE_NODES, pods=elsewhere) == {"a2": 1, "b1": 1}
    assert placed(9, every, THREE_NODES, pods=elsewhere) == {"a2": 1, "b1": 1}


def test_a_node_without_the_label_of_the_domain_keeps_nobody_apart() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=anti_affinity(near(ZONE)))
    assert placed(9, unit, [node("bare")]) == {"bare": 4}


def test_match_label_keys_narrow_a_term_to_pods_with_the_units_own_value() -> None:
    term = near(ZONE, matchLabelKeys=["version"])
    unit = a_unit(cpu="4", labels={**WEB, "version": "2"}, affinity=anti_affinity(term))
    pods = [resident("a1", labels={**WEB, "version": "1"}), resident("b1", labels={**WEB, "version": "2"})]
    assert placed(9, unit, THREE_NODES, pods=pods) == {"a1": 1}


def test_mismatch_label_keys_narrow_a_term_to_pods_with_other_values() -> None:
    term = near(ZONE, mismatchLabelKeys=["version"])
    unit = a_unit(cpu="4", labels={**WEB, "version": "2"}, affinity=anti_affinity(term))
    pods = [resident("a1", labels={**WEB, "version": "1"}), resident("b1", labels={**WEB, "version": "2"})]
    assert placed(9, unit, THREE_NODES, pods=pods) == {"b1": 1}


# Affinity


def test_affinity_needs_a_peer_in_the_domain() -> None:
    unit = a_unit(cpu="1", affinity=affinity(near(ZONE, app="cache")))
    assert placed(99, unit, THREE_NODES) == {}
    assert placed(99, unit, THREE_NODES, pods=[resident("a1", labels={"app": "cache"})]) == {"a1": 4, "a2": 4}


def test_units_that_want_to_be_together_start_in_the_roomiest_domain() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=affinity(near(ZONE)))
    nodes = [node("b1", labels=in_zone("b")), *THREE_NODES[:2]]
    assert placed(99, unit, nodes) == {"a1": 4, "a2": 4}


def test_units_that_want_to_be_together_join_pods_that_run() -> None:
    unit = a_unit(cpu="1", labels=WEB, affinity=affinity(near(ZONE)))
    assert placed(99, unit, THREE_NODES, pods=[resident("b1", cpu="1", labels=WEB)]) == {"b1": 3}


# Spread


def test_spread_bounds_by_the_smallest_domain() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread()])
    small = [node("a", labels=in_zone("a"), cpu="16"), node("b", labels=in_zone("b"), cpu="2")]
    assert placed(99, unit, small) == {"a": 3, "b": 2}


def test_a_wider_skew_lets_more_in() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread(skew=5)])
    small = [node("a", labels=in_zone("a"), cpu="16"), node("b", labels=in_zone("b"), cpu="2")]
    assert placed(99, unit, small) == {"a": 7, "b": 2}


def test_pods_that_run_count_for_the_spread() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread()])
    pods = [resident("a", labels=WEB), resident("a", labels=WEB), resident("b", labels={"app": "api"})]
    assert placed(2, unit, TWO_ZONES, pods=pods) == {"b": 2}
    assert placed(99, unit, TWO_ZONES, pods=pods) == {"a": 3, "b": 4}
    assert placed(99, unit, TWO_ZONES, pods=[*pods, resident("b", cpu="3500m")]) == {}


def test_a_domain_that_takes_no_pods_holds_the_others_back() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread()])
    cordoned = node("c", labels=in_zone("c"), cordoned=True)
    assert placed(99, unit, [*TWO_ZONES, cordoned], among=TWO_ZONES) == {"a": 1, "b": 1}


def test_domains_that_the_unit_does_not_ask_for_do_not_count() -> None:
    chosen = [node(each, labels={**in_zone(each), "pool": "web"}) for each in "ab"]
    other = node("c", labels=in_zone("c"))
    honours = a_unit(cpu="1", labels=WEB, nodeSelector={"pool": "web"}, topologySpreadConstraints=[spread()])
    ignores = a_unit(
        cpu="1",
        labels=WEB,
        nodeSelector={"pool": "web"},
        topologySpreadConstraints=[spread(nodeAffinityPolicy="Ignore")],
    )
    assert placed(99, honours, [*chosen, other]) == {"a": 4, "b": 4}
    assert placed(99, ignores, [*chosen, other]) == {"a": 1, "b": 1}


def test_tainted_domains_count_unless_the_constraint_honours_taints() -> None:
    tainted = node("c", labels=in_zone("c"), taints=["gpu:NoSchedule"])
    counts = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread()])
    honours = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread(nodeTaintsPolicy="Honor")])
    assert placed(99, counts, [*TWO_ZONES, tainted]) == {"a": 1, "b": 1}
    assert placed(99, honours, [*TWO_ZONES, tainted]) == {"a": 4, "b": 4}


def test_too_few_domains_count_as_one_that_is_empty() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread(minDomains=3)])
    assert placed(99, unit, TWO_ZONES) == {"a": 1, "b": 1}


def test_nodes_without_the_label_take_no_unit() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread()])
    assert placed(4, unit, [node("bare"), *TWO_ZONES]) == {"a": 2, "b": 2}


def test_all_constraints_hold_at_once() -> None:
    by_zone, by_node = spread(), spread("kubernetes.io/hostname")
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[by_zone, by_node])
    assert placed(99, unit, THREE_NODES) == {"a1": 2, "a2": 1, "b1": 2}


def test_a_spread_over_other_pods_places_no_unit_where_they_crowd() -> None:
    unit = a_unit(cpu="1", labels={"app": "api"}, topologySpreadConstraints=[spread()])
    pods = [resident("a", labels=WEB)] * 2
    assert placed(99, unit, TWO_ZONES, pods=pods) == {"b": 4}


def test_a_preferred_spread_bounds_nothing() -> None:
    unit = a_unit(cpu="1", labels=WEB, topologySpreadConstraints=[spread(whenUnsatisfiable="ScheduleAnyway")])
    small = [node("a", labels=in_zone("a")), node("b", labels=in_zone("b"), cpu="1")]
    assert placed(99, unit, small) == {"a": 4, "b": 1}
