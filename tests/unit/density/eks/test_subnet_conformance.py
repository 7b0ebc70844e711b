"""Subnets, row by row as AWS' own analysis has them, and the buffers that the table works out."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network

import pytest

from moorage.density.eks.capacity import NodePlan, fits, needed
from moorage.density.eks.instances import instance_types
from moorage.density.eks.ipamd import attached
from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.subnets import Analysis, BlockState, Subnet, analyse
from moorage.density.eks.targets import WarmTargets
from tests.unit.eks_rows import CASES, cases


def subnet_of(text: str) -> Subnet:
    """Read a subnet as the table writes it: `10.0.0.0/24, used .200, prefixes .16/28 .. .112/28 (7)`."""
    cidr = IPv4Network(re.split("[ ,]", text)[0])
    base = int(cidr.network_address)
    if "one in each" in text or "one used IP in each" in text:
        used = [base + 16 * at + 5 for at in range(1, cidr.num_addresses // 16 - 1)]
    elif span := re.search(r"used \.(\d+)-\.(\d+)", text):
        used = list(range(base + int(span[1]), base + int(span[2]) + 1))
    else:
        singles = re.sub(r"\S+/\d+( \.\. \S+/\d+)?", "", text)
        used = [base + int(each) for each in re.findall(r"(?<![\d.])\.(\d+)", singles)]
    prefixes: list[IPv4Network] = []
    if run := re.search(r"\.(\d+)/28 \.\. \.(\d+)/28", text):
        prefixes = [IPv4Network((base + at, 28)) for at in range(int(run[1]), int(run[2]) + 1, 16)]
    return Subnet(cidr, {IPv4Address(each): "" for each in used}, tuple(prefixes))


def told(found: Analysis, name: str) -> str:
    """Return what an analysis has for a name of the table."""
    match name:
        case "usable_ips":
            return str(found.free_addresses)
        case "free_ips":
            return str(found.free_addresses)
        case "blocks":
            return str(len(found.blocks))
        case "score":
            return f"{found.fragmentation} {found.band}"
        case "prefix_allocated":
            return str(found.count(BlockState.PREFIX_ALLOCATED))
        case _:
            return str(found.count(BlockState(name.removesuffix("_blocks"))))


@pytest.mark.parametrize("case", cases("subnet"))
def test_a_subnet_is_analysed_as_by_the_source(case: str) -> None:
    found = analyse(subnet_of(CASES[case]["other_input"]))
    expected = dict(re.findall(r"(\w+)=(\d+(?: [A-Z]+)?)", CASES[case]["expect_other"]))
    assert expected
    assert {name: told(found, name) for name in expected} == expected


def test_an_empty_subnet_gives_a_prefix_less_at_both_ends() -> None:
    free = {length: analyse(Subnet(IPv4Network(("10.0.0.0", length)))).free_prefixes for length in (*range(18, 29), 16)}
    assert free == {
        28: 0,
        27: 0,
        26: 2,
        25: 6,
        24: 14,
        23: 30,
        22: 62,
        21: 126,
        20: 254,
        19: 510,
        18: 1022,
        16: 4094,
    }


class TestBuffers:
    """The cases of kind `buffer`."""

    def test_500_pods_on_single_addresses(self) -> None:
        instance = instance_types()["m5.large"]
        plan = NodePlan(instance, Networking(), WarmTargets(), 29, 29 - 2 - 3)
        nodes = needed(plan, 500)
        full = plan.pool(29 - 2)
        told = f"nodes={nodes}; IP pods a node<={full.assigned}; ENIs={full.enis}"
        each, total = full.subnet_addresses, nodes * full.subnet_addresses
        assert f"{told}; subnet IPs a node={each}; total IPs={total}" == CASES["C263"]["expect_other"]

    def test_500_pods_on_prefixes_take_35_blocks(self) -> None:
        instance = instance_types()["m5.large"]
        plan = NodePlan(instance, Networking(Mode.PREFIX), WarmTargets(), 110, 110 - 2 - 3)
        nodes = needed(plan, 500)
        pool = attached(instance, plan.networking, plan.targets, max_pods=110, pods=500 // nodes + 3)
        assert (nodes, nodes * pool.prefixes, nodes * pool.subnet_addresses) == (5, 35, 565)

    def test_a_24_holds_two_full_nodes_on_prefixes(self) -> None:
        instance = instance_types()["m5.large"]
        plan = NodePlan(instance, Networking(Mode.PREFIX), WarmTargets(), 110, 108)
        found = fits(analyse(Subnet(IPv4Network("10.0.0.0/24"))), plan)
        assert f"nodes that fit={found.nodes} (14 blocks)" in CASES["C264"]["expect_other"]
        assert (found.nodes_at_worst, found.bound_by) == (1, "prefixes")
        assert "second node gets 6 prefixes (96 IPs)" in CASES["C264"]["note"]
        spoiled = fits(analyse(Subnet(IPv4Network("10.0.0.0/24"), {IPv4Address("10.0.0.200"): ""})), plan)
        assert (spoiled.nodes, spoiled.pods) == (1, 108 + 96)

    def test_a_22_holds_at_worst_31_idle_nodes_on_prefixes(self) -> None:
        instance = instance_types()["m5.large"]
        plan = NodePlan(instance, Networking(Mode.PREFIX), WarmTargets(), 110, 0)
        empty = analyse(Subnet(IPv4Network("10.0.0.0/22")))
        found = fits(empty, plan)
        by_blocks = empty.free_prefixes // plan.cost(0).prefixes
        told = f"blocks allow {by_blocks} nodes; with scattered primary IPs as few as {found.nodes_at_worst}"
        assert told == CASES["C265"]["expect_other"]
        # Not even at best are all 62 left: the addresses that spoil no block are those of the first and the last one.
        assert empty.loose_addresses == 12 + 15
        assert found.nodes == 59
        assert 59 + -(-(59 - 27) // 16) <= 62 < 60 + -(-(60 - 27) // 16)

    def test_an_idle_p3dn_takes_50_addresses_and_with_one_pod_100(self) -> None:
        plan = NodePlan(instance_types()["p3dn.24xlarge"], Networking(), WarmTargets(), 737, 1)
        idle, one = plan.pool(0).subnet_addresses, plan.pool(1).subnet_addresses
        assert f"{idle} subnet IPs a node; with one pod {one}" == CASES["C266"]["expect_other"]

    def test_all_cases_are_worked_out(self) -> None:
        assert set(cases("buffer")) == {"C263", "C264", "C265", "C266"}


def test_all_kinds_of_cases_are_tested() -> None:
    kinds = {row["kind"] for row in CASES.values()}
    assert kinds == {"max_pods", "expression", "kube_reserved", "warm_pool", "churn", "subnet", "buffer"}
