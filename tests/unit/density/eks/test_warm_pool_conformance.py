"""What the CNI attaches, row by row as its own code does it; the churn cases are played."""

from __future__ import annotations

import re

import pytest

from moorage.density.eks.ipamd import Ipamd, Pool, attached
from moorage.density.eks.targets import WarmTargets
from tests.unit.eks_rows import CASES, Row, cases, instance_of, networking_of


def targets_of(row: Row) -> WarmTargets:
    return WarmTargets(
        warm_eni=int(row["warm_eni"] or 1),
        warm_ip=int(row["warm_ip"] or 0),
        minimum_ip=int(row["min_ip"] or 0),
        warm_prefix=int(row["warm_prefix"] or 1),
    )


def booted(case: str, *, scatter: bool = False) -> Ipamd:
    row = CASES[case]
    networking = networking_of(row)
    if "custom networking" in row["other_input"]:
        networking = networking.__class__(networking.mode, custom_networking=True)
    return Ipamd(instance_of(row), networking, targets_of(row), max_pods=int(row["max_pods"]), scatter=scatter)


def come_slowly(node: Ipamd, pods: int) -> None:
    """Let pods come one at a time, the pool following each."""
    for _ in range(pods):
        node.come(1)
        node.settle()


@pytest.mark.parametrize("case", cases("warm_pool"))
@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "one by one"])
def test_a_node_holds_what_the_driven_code_holds(case: str, slowly: bool) -> None:
    row = CASES[case]
    if slowly:
        node = booted(case)
        come_slowly(node, int(row["pods"]))
        pool = node.pool()
    else:
        pool = attached(
            instance_of(row),
            networking_of(row),
            targets_of(row),
            max_pods=int(row["max_pods"]),
            pods=int(row["pods"]),
        )
    expected = {name.removeprefix("expect_"): int(row[name]) for name in EXPECTED if row[name]}
    assert {name: VALUES[name](pool) for name in expected} == expected
    slots = row["expect_slots_per_eni"]
    assert pool.slots_per_eni == tuple(map(int, slots.split("/")))


VALUES = {
    "enis": lambda pool: pool.enis,
    "prefixes": lambda pool: pool.prefixes,
    "pod_ips": lambda pool: pool.pod_addresses,
    "unused_ips": lambda pool: pool.unused,
    "failed_pods": lambda pool: pool.failed_pods,
    "subnet_ips": lambda pool: pool.subnet_addresses,
}
EXPECTED = [f"expect_{name}" for name in VALUES]


class TestChurn:
    """Pods that come and go."""

    @pytest.mark.parametrize("case", ["C230", "C231"])
    def test_free_addresses_are_used_before_a_prefix_is_attached(self, case: str) -> None:
        node = booted(case)
        come_slowly(node, 25)
        held = [node.pool().prefixes]
        node.leave(10)
        node.wait(120)
        held.append(node.pool().prefixes)
        for _ in range(4):
            come_slowly(node, 5)
            node.wait(120)
            held.append(node.pool().prefixes)
        assert f"prefixes {','.join(map(str, held))}" == CASES[case]["expect_other"]

    def test_a_pod_in_each_prefix_keeps_them_all(self) -> None:
        node = booted("C232", scatter=True)
        come_slowly(node, 80)
        before = node.pool().prefixes
        node.leave(80 - before)
        node.wait(600)
        after = node.pool()
        told = f"prefixes {before},{after.prefixes}; pod IPs {after.pod_addresses}, pods {after.pods}"
        assert f"{told}, unused {after.unused}" == CASES["C232"]["expect_other"]

    def test_without_pods_one_warm_prefix_stays(self) -> None:
        node = booted("C233")
        come_slowly(node, 80)
        before = node.pool().prefixes
        node.leave(80)
        node.wait(600)
        assert f"prefixes {before},{node.pool().prefixes}" == CASES["C233"]["expect_other"]

    def test_interfaces_are_freed_once_they_are_old_and_nothing_cools(self) -> None:
        node = booted("C235")
        come_slowly(node, 27)
        node.wait(90)
        before = node.pool()
        node.leave(27)
        node.wait(30)
        assert node.pool() == Pool(0, before.slots_per_eni, 0, before.pod_addresses, 0)
        node.wait(60)
        after = node.pool()
        told = f"ENIs {before.enis},{after.enis}; pod IPs {before.pod_addresses},{after.pod_addresses}"
        assert told == CASES["C235"]["expect_other"]

    def test_cooling_addresses_count_as_available_and_serve_nobody(self) -> None:
        node = booted("C237")
        come_slowly(node, 21)
        node.leave(4)
        assert node.pool().pod_addresses == 23
        node.come(3)
        node.wait(25)
        pool = node.pool()
        assert (pool.pod_addresses, pool.failed_pods) == (23, 1)
        assert "third pod gets no IP though T-n=4" in CASES["C237"]["expect_other"]
        assert pool.unused == 4
        node.wait(10)
        assert node.pool().failed_pods == 0

    def test_a_minimum_alone_stalls(self) -> None:
        node = booted("C238")
        come_slowly(node, 35)
        node.wait(600)
        pool = node.pool()
        told = f"{pool.prefixes} prefixes; {pool.assigned} pods run, {pool.failed_pods} fail"
        assert told == CASES["C238"]["expect_other"]

    def test_scattered_pods_can_cost_a_prefix_more(self) -> None:
        held = []
        for scatter in (False, True):
            node = booted("C239", scatter=scatter)
            come_slowly(node, 17)
            held.append(node.pool().prefixes)
        assert f"{held[0]} or {held[1]} prefixes ({held[0]} if packed)" == CASES["C239"]["expect_other"]

    def test_three_nodes_of_one_pod_each_waste_93_addresses(self) -> None:
        node = booted("C240")
        node.come(1)
        node.settle()
        pool = node.pool()
        told = f"per node {pool.prefixes} prefixes, {pool.unused} unused; {3 * pool.unused} unused in all"
        assert told == CASES["C240"]["expect_other"]

    def test_all_churn_cases_are_played(self) -> None:
        played = {"C230", "C231", "C232", "C233", "C235", "C237", "C238", "C239", "C240"}
        assert played == set(cases("churn"))
        assert all(re.fullmatch("C[0-9]+", each) for each in played)
