"""What of a subnet's IPv4 addresses is used, and how many /28 prefixes are left, which is another matter.

A prefix needs a whole aligned block of 16: one address in it spoils it. EC2 counts free addresses (AvailableIpAddress
Count) and tells nothing of blocks. States, score and bands are those of awslabs/aws-support-tools,
EKS/subnet-fragmentation.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network

BLOCK = 16
"""Addresses of a block."""

_BANDS = ((25, "HEALTHY"), (50, "LOW"), (75, "MEDIUM"), (100, "HIGH"))


class SubnetError(ValueError):
    """What is said of a subnet contradicts itself; the message says what."""


class BlockState(StrEnum):
    """What a prefix request finds in a block."""

    FREE = "free"
    FRAGMENTED = "fragmented"
    """Spoiled: some addresses are used, some are free."""
    FULL = "full"
    PREFIX_ALLOCATED = "prefixAllocated"
    RESERVED = "reserved"
    """It holds one of the five addresses that AWS keeps: the first four and the last of the subnet."""


class ReservationKind(StrEnum):
    """What a CIDR reservation of a subnet is for."""

    PREFIX = "prefix"
    """EC2 takes prefixes from it, and no single addresses."""
    EXPLICIT = "explicit"
    """Nothing is taken from it but by name."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A CIDR reservation of a subnet."""

    cidr: IPv4Network
    kind: ReservationKind


@dataclass(frozen=True, slots=True)
class Block:
    """An aligned /28 of a subnet."""

    cidr: IPv4Network
    state: BlockState
    used: int
    free: int
    holders: frozenset[str] = frozenset()
    """Who has its addresses, as far as known."""
    reservation: ReservationKind | None = None
    """The kind of reservation that it overlaps, if it does."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet and what is taken of it."""

    cidr: IPv4Network
    used: Mapping[IPv4Address, str] = field(default_factory=dict)
    """Single addresses, each with who has it; empty for not known."""
    prefixes: tuple[IPv4Network, ...] = ()
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is left of a subnet."""

    subnet: Subnet
    free_addresses: int
    """Neither used nor kept by AWS; those of reservations are among them."""
    blocks: tuple[Block, ...]

    def count(self, state: BlockState) -> int:
        """Return how many blocks are in a state."""
        return sum(block.state is state for block in self.blocks)

    @property
    def free_prefixes(self) -> int:
        """How many prefixes EC2 could still give by itself: none from explicit reservations."""
        return sum(each.state is BlockState.FREE and each.reservation is not _EXPLICIT for each in self.blocks)

    @property
    def reserved_prefixes(self) -> int:
        """Those of them that lie in reservations for prefixes, where no single address can spoil them."""
        return sum(each.state is BlockState.FREE and each.reservation is _PREFIX for each in self.blocks)

    @property
    def single_addresses(self) -> int:
        """How many single addresses EC2 could still give by itself: none from reservations."""
        return self.free_addresses - _free_in(self.subnet, self.subnet.reservations)

    @property
    def loose_addresses(self) -> int:
        """Those of them that spoil no block: they lie in blocks that give no prefix any more."""
        free = sum(each.state is BlockState.FREE and each.reservation is None for each in self.blocks)
        return self.single_addresses - free * BLOCK

    @property
    def fragmentation(self) -> int | None:
        """Of the blocks that could serve prefixes, how many per cent do not, rounded up; None when there is none."""
        lost = self.count(BlockState.FRAGMENTED) + self.count(BlockState.FULL)
        candidates = lost + self.count(BlockState.FREE)
        return -(-100 * lost // candidates) if candidates else None

    @property
    def band(self) -> str:
        """How bad that is, in a word."""
        score = self.fragmentation
        if score is None:
            return "N/A"
        if score == 100:
            return "CRITICAL" if self.count(BlockState.FRAGMENTED) else "EXHAUSTED"
        return next(name for end, name in _BANDS if score < end)

    def drainable(self) -> dict[str, int]:
        """Return how many fragmented or full blocks each holder alone keeps from being free, the most first."""
        spoiled = (BlockState.FRAGMENTED, BlockState.FULL)
        alone = (each.holders for each in self.blocks if each.state in spoiled and len(each.holders) == 1)
        return dict(Counter(holder for holders in alone for holder in holders if holder).most_common())

    def reservable(self) -> IPv4Network | None:
        """Return the largest range that a reservation for prefixes could take as it is: all of it free blocks."""
        free = {int(each.cidr.network_address) for each in self.blocks if each.state is BlockState.FREE}
        free -= {int(each.cidr.network_address) for each in self.blocks if each.reservation is not None}
        for length in range(self.subnet.cidr.prefixlen + 1, 29):
            size = 1 << (32 - length)
            for start in sorted(free):
                if start % size == 0 and all(each in free for each in range(start, start + size, BLOCK)):
                    return IPv4Network((start, length))
        return None


_EXPLICIT, _PREFIX = ReservationKind.EXPLICIT, ReservationKind.PREFIX


def analyse(subnet: Subnet) -> Analysis:
    """Return what is left of a subnet.

    Raises SubnetError when addresses, prefixes or reservations lie outside of it or overlap.
    """
    _check(subnet)
    first, size = int(subnet.cidr.network_address), subnet.cidr.num_addresses
    kept = {*range(first, first + 4), first + size - 1}
    by_block: dict[int, list[IPv4Address]] = {}
    for address in subnet.used:
        by_block.setdefault(int(address) // BLOCK, []).append(address)
    prefixes = {int(each.network_address) // BLOCK for each in subnet.prefixes}
    blocks = []
    for start in range(first, first + size, BLOCK):
        own = by_block.get(start // BLOCK, [])
        blocks.append(_block(subnet, start, own, kept, prefix=start // BLOCK in prefixes))
    taken = {int(each) for each in subnet.used} | {number * BLOCK + at for number in prefixes for at in range(BLOCK)}
    return Analysis(subnet, size - len(taken | kept), tuple(blocks))


def _block(subnet: Subnet, start: int, used: list[IPv4Address], kept: set[int], *, prefix: bool) -> Block:
    addresses = range(start, start + BLOCK)
    taken = {int(each) for each in used} | kept.intersection(addresses)
    free = 0 if prefix else BLOCK - len(taken)
    if prefix:
        state = BlockState.PREFIX_ALLOCATED
    elif not kept.isdisjoint(addresses):
        state = BlockState.RESERVED
    elif not used:
        state = BlockState.FREE
    else:
        state = BlockState.FRAGMENTED if free else BlockState.FULL
    cidr = IPv4Network((start, 28))
    kinds = [each.kind for each in subnet.reservations if each.cidr.overlaps(cidr)]
    return Block(
        cidr=cidr,
        state=state,
        used=BLOCK if prefix else len(used),
        free=free,
        holders=frozenset(subnet.used[each] for each in used),
        reservation=max(kinds, key=lambda kind: kind is _EXPLICIT, default=None),
    )


def _free_in(subnet: Subnet, reservations: Iterable[Reservation]) -> int:
    """Return how many free addresses lie in reservations."""
    first, size = int(subnet.cidr.network_address), subnet.cidr.num_addresses
    taken = {int(each) for each in subnet.used} | {*range(first, first + 4), first + size - 1}
    for prefix in subnet.prefixes:
        taken.update(range(int(prefix.network_address), int(prefix.network_address) + BLOCK))
    ranges = [range(int(each.cidr.network_address), int(each.cidr.broadcast_address) + 1) for each in reservations]
    return sum(address not in taken for each in ranges for address in each)


def _check(subnet: Subnet) -> None:
    if not 16 <= subnet.cidr.prefixlen <= 28:
        raise SubnetError(f"{subnet.cidr} is no subnet of AWS: they are from /16 to /28")
    for address in subnet.used:
        if address not in subnet.cidr:
            raise SubnetError(f"the address {address} is not in the subnet {subnet.cidr}")
    for prefix in subnet.prefixes:
        if prefix.prefixlen != 28:
            raise SubnetError(f"the prefix {prefix} is no /28")
        if not prefix.subnet_of(subnet.cidr):
            raise SubnetError(f"the prefix {prefix} is not in the subnet {subnet.cidr}")
    ranges = sorted((each.cidr for each in subnet.reservations), key=lambda each: each.network_address)
    for reserved in ranges:
        if not reserved.subnet_of(subnet.cidr):
            raise SubnetError(f"the reservation {reserved} is not in the subnet {subnet.cidr}")
    for one, other in itertools.pairwise(ranges):
        if one.overlaps(other):
            raise SubnetError(f"the reservations {one} and {other} overlap")
