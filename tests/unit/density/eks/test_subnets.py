"""What of a subnet is left, whom a drain would help, what reservations do, and that no node is promised too much."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.density.eks.capacity import Fits, NodePlan, fits
from moorage.density.eks.instances import instance_types
from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.subnets import (
    BLOCK,
    BlockState,
    Reservation,
    ReservationKind,
    Subnet,
    SubnetError,
    analyse,
)
from moorage.density.eks.targets import WarmTargets

CIDR = IPv4Network("10.0.0.0/24")
EXPLICIT, PREFIX = ReservationKind.EXPLICIT, ReservationKind.PREFIX


def block(number: int, length: int = 28) -> IPv4Network:
    return IPv4Network((int(CIDR.network_address) + BLOCK * number, length))


def used(*last_bytes: int, by: str = "") -> dict[IPv4Address, str]:
    return {CIDR.network_address + each: by for each in last_bytes}


def plan(name: str = "m5.large", mode: str = "prefix", pods: int = 20, **settings: bool) -> NodePlan:
    return NodePlan(instance_types()[name], Networking(Mode(mode), **settings), WarmTargets(), 110, pods)


class TestReservations:
    def test_from_an_explicit_one_nothing_is_given(self) -> None:
        found = analyse(Subnet(CIDR, reservations=(Reservation(block(8, 25), EXPLICIT),)))
        assert (found.free_prefixes, found.free_addresses) == (7, 251)
        assert found.single_addresses == 251 - 127

    def test_from_one_for_prefixes_no_single_address_is_given(self) -> None:
        found = analyse(Subnet(CIDR, reservations=(Reservation(block(4, 26), PREFIX),)))
        assert (found.free_prefixes, found.reserved_prefixes) == (14, 4)
        assert found.single_addresses == 251 - 64

    def test_it_keeps_prefixes_for_nodes_whose_interfaces_land_at_the_worst_place(self) -> None:
        most = tuple(Reservation(each, PREFIX) for each in (block(2, 27), block(4, 26), block(8, 26)))
        free, reserved = (
            fits(analyse(Subnet(CIDR, reservations=each)), plan(pods=0)).nodes_at_worst for each in ((), most)
        )
        assert (free, reserved) == (7, 10)

    @pytest.mark.parametrize(
        ("subnet", "complaint"),
        [
            (Subnet(CIDR, {IPv4Address("10.0.1.0"): ""}), "the address 10.0.1.0 is not in the subnet"),
            (Subnet(CIDR, prefixes=(IPv4Network("10.0.1.0/28"),)), "the prefix 10.0.1.0/28 is not in"),
            (Subnet(CIDR, prefixes=(IPv4Network("10.0.0.0/27"),)), "is no /28"),
            (Subnet(CIDR, reservations=(Reservation(IPv4Network("10.0.0.0/23"), PREFIX),)), "is not in the subnet"),
            (
                Subnet(CIDR, reservations=(Reservation(block(0, 25), PREFIX), Reservation(block(4), EXPLICIT))),
                "10.0.0.0/25 and 10.0.0.64/28 overlap",
            ),
            (Subnet(IPv4Network("10.0.0.0/29")), "from /16 to /28"),
        ],
        ids=["address", "prefix", "size", "reservation", "overlap", "no subnet"],
    )
    def test_what_contradicts_itself_is_refused(self, subnet: Subnet, complaint: str) -> None:
        with pytest.raises(SubnetError, match=complaint):
            analyse(subnet)


class TestWhatHelps:
    def test_a_block_that_one_node_spoils_comes_free_when_that_is_drained(self) -> None:
        addresses = {**used(21, 22, 37, by="i-a"), **used(38, 53, by="i-b"), **used(69)}
        assert analyse(Subnet(CIDR, addresses)).drainable() == {"i-a": 1, "i-b": 1}

    def test_the_largest_range_of_free_blocks_can_be_reserved(self) -> None:
        assert analyse(Subnet(CIDR)).reservable() == IPv4Network("10.0.0.64/26")
        spoiled = used(*range(21, 230, 32))
        assert analyse(Subnet(CIDR, spoiled)).reservable() == IPv4Network("10.0.0.32/28")
        assert analyse(Subnet(IPv4Network("10.0.0.0/27"))).reservable() is None

    def test_what_is_reserved_already_is_not_offered(self) -> None:
        reserved = Subnet(CIDR, reservations=(Reservation(block(4, 26), PREFIX), Reservation(block(8, 26), PREFIX)))
        assert analyse(reserved).reservable() == IPv4Network("10.0.0.32/27")


class TestRoomForNodes:
    def test_the_last_node_may_be_filled_in_part(self) -> None:
        found = fits(analyse(Subnet(CIDR, prefixes=(block(1), block(2)))), plan(pods=108))
        assert found == Fits(nodes=1, nodes_at_worst=1, pods=108 + 80, bound_by="prefixes")

    def test_on_single_addresses_these_bind(self) -> None:
        found = fits(analyse(Subnet(CIDR)), plan(mode="secondary", pods=27))
        assert (found.nodes, found.nodes_at_worst, found.bound_by) == (8, 8, "addresses")
        assert found.pods == 8 * 27 + 9

    def test_with_custom_networking_the_primary_interface_is_elsewhere(self) -> None:
        assert plan(mode="secondary", pods=9).cost(9).single_addresses == 20
        assert plan(mode="secondary", pods=9, custom_networking=True).cost(9).single_addresses == 20
        assert plan(pods=108, custom_networking=True).cost(108).single_addresses == 1

    def test_a_full_subnet_has_none(self) -> None:
        found = fits(analyse(Subnet(CIDR, used(*range(4, 255)))), plan())
        assert (found.nodes, found.pods, found.bound_by) == (0, 0, "addresses")

    def test_6_percent_used_can_leave_no_prefix(self) -> None:
        cidr = IPv4Network("10.0.0.0/22")
        spoiled = analyse(Subnet(cidr, {cidr.network_address + 16 * at + 5: "" for at in range(1, 63)}))
        assert fits(spoiled, plan()) == Fits(0, 0, 0, "prefixes")
        assert spoiled.free_addresses == 957


subnets = st.builds(
    lambda addresses, prefixes, reserved, kind: Subnet(
        CIDR,
        {CIDR.network_address + each: "" for each in addresses if each // BLOCK not in prefixes},
        tuple(block(each) for each in prefixes),
        tuple(Reservation(block(each), kind) for each in reserved),
    ),
    st.sets(st.integers(4, 254), max_size=40),
    st.sets(st.integers(1, 14), max_size=10),
    st.sets(st.integers(0, 15), max_size=6),
    st.sampled_from(ReservationKind),
)
plans = st.builds(
    plan,
    st.sampled_from(["m5.large", "t3.small", "r8gd.medium"]),
    st.sampled_from(["prefix", "secondary"]),
    st.integers(0, 108),
    custom_networking=st.booleans(),
)


@given(subnets)
def test_the_books_of_a_subnet_close(subnet: Subnet) -> None:
    found = analyse(subnet)
    assert sum(found.count(state) for state in BlockState) == len(found.blocks) == 16
    assert found.free_addresses == sum(each.free for each in found.blocks)
    assert found.free_addresses == 251 - len(subnet.used) - 16 * len(subnet.prefixes)
    assert 0 <= found.loose_addresses <= found.single_addresses <= found.free_addresses
    assert 0 <= found.reserved_prefixes <= found.free_prefixes <= found.count(BlockState.FREE)


@given(subnets, plans)
def test_no_more_is_promised_than_the_subnet_has(subnet: Subnet, wanted: NodePlan) -> None:
    before = analyse(subnet)
    found = fits(before, wanted)
    cost = wanted.cost(wanted.pods)
    assert found.nodes * (cost.single_addresses + BLOCK * cost.prefixes) <= before.free_addresses
    assert found.nodes * cost.prefixes <= before.free_prefixes
    assert found.nodes_at_worst <= found.nodes
    assert found.nodes * wanted.pool(wanted.pods).assigned <= found.pods <= before.free_addresses


@given(subnets, plans, st.integers(4, 254))
def test_one_more_address_in_use_never_makes_room(subnet: Subnet, wanted: NodePlan, taken: int) -> None:
    address = CIDR.network_address + taken
    if any(address in each for each in subnet.prefixes):
        return
    before, after = (
        fits(analyse(Subnet(CIDR, addresses, subnet.prefixes, subnet.reservations)), wanted)
        for addresses in (subnet.used, {**subnet.used, address: ""})
    )
    assert after.nodes <= before.nodes
    assert after.nodes_at_worst <= before.nodes_at_worst


def test_a_large_subnet_with_200_nodes_is_read_in_one_go() -> None:
    cidr = IPv4Network("10.0.0.0/20")
    addresses = {cidr.network_address + 20 + 17 * at: f"i-{at}" for at in range(200)}
    prefixes = tuple(cidr.subnets(new_prefix=28))[220:250]
    found = analyse(Subnet(cidr, addresses, prefixes))
    assert (len(found.blocks), found.count(BlockState.FRAGMENTED)) == (256, 200)
    assert fits(found, plan()).nodes_at_worst <= fits(found, plan()).nodes
