"""What is said of subnets, for programs and for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from moorage.cli.ec2 import Found
from moorage.cli.errors import BadInput
from moorage.cli.output import columns
from moorage.density.eks.capacity import NodePlan, fits
from moorage.density.eks.subnets import (
    Analysis,
    Block,
    BlockState,
    Reservation,
    ReservationKind,
    Subnet,
    SubnetError,
    analyse,
)
from moorage.status.findings import plural

_LETTERS = {
    BlockState.FREE: ".",
    BlockState.FRAGMENTED: "x",
    BlockState.FULL: "#",
    BlockState.PREFIX_ALLOCATED: "P",
    BlockState.RESERVED: "r",
}


def _analysis(subnet: Subnet, name: str) -> Analysis:
    try:
        return analyse(subnet)
    except SubnetError as error:
        raise BadInput(f"{name}: {error}" if name else str(error)) from error


class Report:
    """What is said of one subnet."""

    def __init__(self, found: Found, plan: NodePlan | None, *, complete: bool) -> None:
        self.found = found
        self.analysis = _analysis(found.subnet, found.id)
        self.plan = plan
        self.fits = fits(self.analysis, plan) if plan is not None else None
        self._complete = complete

    @property
    def name(self) -> str:
        """How it is called: by its id, else by its range."""
        return self.found.id or str(self.found.subnet.cidr)

    @property
    def nodes(self) -> int:
        """How many further nodes fit; 0 when none is described."""
        return self.fits.nodes if self.fits is not None else 0

    def as_dict(self, *, blocks: bool) -> dict[str, Any]:
        """Return it for programs."""
        analysis, reservable = self.analysis, self.analysis.reservable()
        own = {"subnet": self.found.id, "zone": self.found.zone}
        return {
            **{key: value for key, value in own.items() if value},
            "cidr": str(self.found.subnet.cidr),
            "usableAddresses": self.found.subnet.cidr.num_addresses - 5,
            "freeAddresses": analysis.free_addresses,
            "singleAddresses": analysis.single_addresses,
            "blocks": {"total": len(analysis.blocks)} | {each.value: analysis.count(each) for each in BlockState},
            "freePrefixes": analysis.free_prefixes,
            "fragmentation": analysis.fragmentation,
            "band": analysis.band,
            "fits": self._fits(),
            "drainable": analysis.drainable(),
            "reservable": None if reservable is None else str(reservable),
            **({"blockMap": [_block(each) for each in analysis.blocks]} if blocks else {}),
            "remarks": list(self.remarks()),
        }

    def _fits(self) -> dict[str, Any]:
        if self.fits is None or self.plan is None:
            return {"nodes": None, "pods": None}
        return {
            "nodes": self.fits.nodes,
            "pods": self.fits.pods,
            "nodesAtWorst": self.fits.nodes_at_worst,
            "boundBy": self.fits.bound_by,
            "instanceType": self.plan.instance.name,
            "mode": self.plan.networking.mode_on(self.plan.instance).value,
            "podsPerNode": self.plan.pods,
        }

    def remarks(self) -> Iterator[str]:
        """Say what is easily misread."""
        free, said, single = self.analysis.free_addresses, self.found.said_free, self.analysis.single_addresses
        if said is not None and said not in (free, single):
            yield f"EC2 counts {said} free addresses and the files make {free}: they are partial or of another time"
        elif said is not None and said == single != free:
            yield f"the {said} free addresses that EC2 counts leave out {free - single} in reservations"
        if not self._complete:
            yield "interfaces of others than instances are not in the files: give describe-network-interfaces too"
        if not self.analysis.free_prefixes and free >= 16:
            yield f"{free} addresses are free, and no prefix: a request for one fails with InsufficientCidrBlocks"


def _block(block: Block) -> dict[str, Any]:
    kind = block.reservation
    return {
        "block": str(block.cidr),
        "state": block.state.value,
        "used": block.used,
        "free": block.free,
        **({"reservation": kind.value} if kind is not None else {}),
    }


def order(reports: list[Report]) -> list[str]:
    """Return the subnets, that which is exhausted first before the others."""
    by_nodes = sorted(reports, key=lambda each: (each.nodes, each.analysis.free_prefixes, each.analysis.free_addresses))
    return [each.name for each in by_nodes]


def with_reservation(found: list[Found], cidr: IPv4Network) -> dict[str, Any]:
    """Return what a reservation for prefixes would give."""
    within = [each for each in found if cidr.subnet_of(each.subnet.cidr)]
    if not within:
        raise BadInput(f"--reserve: {cidr} is in none of the subnets")
    before = within[0].subnet
    reservation = Reservation(cidr, ReservationKind.PREFIX)
    after = _analysis(dataclasses.replace(before, reservations=(*before.reservations, reservation)), "--reserve")
    inside = [each for each in after.blocks if each.cidr.subnet_of(cidr)]
    return {
        "cidr": str(cidr),
        "blocks": len(inside),
        "freePrefixes": sum(each.state is BlockState.FREE for each in inside),
        "usedAddresses": sum(each in cidr for each in before.used),
        "singleAddresses": after.single_addresses,
    }


def table(reports: list[Report], result: dict[str, Any], *, blocks: bool) -> str:
    """Return the answer for people."""
    lines = []
    for report in reports:
        lines += [*_lines(report), ""]
        if blocks:
            lines += [*_map(report.analysis), ""]
    if "order" in result:
        lines.append(f"exhausted in this order: {', '.join(result['order'])}")
    if added := result.get("withCidr"):
        nodes = f", room for {plural(added['fits']['nodes'], 'node')}" if added["fits"]["nodes"] is not None else ""
        gives = f"{added['usableAddresses']} addresses, {added['freePrefixes']} prefixes"
        lines.append(f"a subnet {added['cidr']} would add {gives}{nodes}")
    if reserved := result.get("withReservation"):
        left = f"{reserved['usedAddresses']} addresses in it are in use and stay until they are released"
        kept = f"keeps {reserved['freePrefixes']} prefixes of {reserved['blocks']} from being spoiled; {left}"
        lines.append(f"a reservation {reserved['cidr']} {kept}")
    return "\n".join(lines).rstrip()


def _lines(report: Report) -> Iterator[str]:
    analysis = report.analysis
    counts = ", ".join(f"{analysis.count(each)} {_words(each)}" for each in BlockState)
    score = "N/A" if analysis.fragmentation is None else f"{analysis.fragmentation}% {analysis.band}"
    names = (report.found.id, str(report.found.subnet.cidr), report.found.zone)
    rows = [
        ("subnet", " ".join(each for each in names if each)),
        ("free addresses", f"{analysis.free_addresses} of {report.found.subnet.cidr.num_addresses - 5}"),
        ("free prefixes", f"{analysis.free_prefixes}"),
        ("blocks", f"{len(analysis.blocks)}: {counts}"),
        ("fragmentation", score),
    ]
    if report.fits is not None and report.plan is not None:
        worst = f", {report.fits.nodes_at_worst} at worst" if report.fits.nodes_at_worst != report.fits.nodes else ""
        kind = f"{report.plan.instance.name} with {report.plan.pods} pods each"
        nodes = f"{plural(report.fits.nodes, 'node')} ({kind}){worst}"
        room = f"{nodes}; {plural(report.fits.pods, 'pod')}; bound by {report.fits.bound_by}"
        rows.append(("room for", room))
    if drainable := analysis.drainable():
        first = [f"{name} ({count})" for name, count in list(drainable.items())[:3]]
        rows.append(("drain to free blocks", ", ".join(first)))
    if (reservable := analysis.reservable()) is not None and analysis.count(BlockState.FRAGMENTED):
        rows.append(("could be reserved", str(reservable)))
    yield columns(rows)
    yield from (f"note: {each}" for each in report.remarks())


def _words(state: BlockState) -> str:
    special = {BlockState.PREFIX_ALLOCATED: "allocated as prefixes", BlockState.RESERVED: "with addresses kept by AWS"}
    return special.get(state, state.value)


def _map(analysis: Analysis) -> Iterator[str]:
    """Draw the blocks, 16 a line, which is a /24."""
    yield "one sign a /28: . free, x fragmented, # full, P prefix, r kept by AWS"
    for at in range(0, len(analysis.blocks), 16):
        row = analysis.blocks[at : at + 16]
        yield f"{row[0].cidr.network_address}  {''.join(_LETTERS[each.state] for each in row)}"
