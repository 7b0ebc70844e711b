"""`moorage subnet`: what is left of subnets in addresses and in /28 prefixes, and how many more nodes that is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

import click

from moorage.cli.ec2 import Answers, Found, address, network, read_answers
from moorage.cli.eks import find_types, networking_of
from moorage.cli.errors import BadInput
from moorage.cli.output import columns, emit, output_option
from moorage.cli.warm_pool import TARGETS, target_options
from moorage.density.eks.capacity import NodePlan, fits
from moorage.density.eks.maxpods import HOST_NETWORK_PODS, default_convention, max_pods
from moorage.density.eks.networking import Mode
from moorage.density.eks.subnets import Analysis, BlockState, Reservation, ReservationKind, Subnet, SubnetError, analyse
from moorage.density.eks.targets import WarmTargets
from moorage.status.findings import plural

_LETTERS = {
    BlockState.FREE: ".",
    BlockState.FRAGMENTED: "x",
    BlockState.FULL: "#",
    BlockState.PREFIX_ALLOCATED: "P",
    BlockState.RESERVED: "r",
}


@click.command()
@click.argument("files", nargs=-1, metavar="FILES...")
@click.option("--subnet", "only", help="Only the subnet of this id.")
@click.option("--live", is_flag=True, help="Ask EC2 instead of files: needs boto3 (pip install 'moorage[aws]').")
@click.option("--vpc", help="With --live: all subnets of this VPC.")
@click.option("--region", help="With --live: the region. Default: as for the AWS command line.")
@click.option("--profile", help="With --live: the profile of the AWS configuration.")
@click.option("--cidr", help="A subnet by its range, instead of one in the files.")
@click.option("--used", help="Addresses in use, with commas; with --cidr.")
@click.option("--prefixes", help="Prefixes in use, with commas; with --cidr.")
@click.option("--reservations", help="CIDR reservations for prefixes, with commas; explicit:CIDR for the other kind.")
@click.option("--type", "instance_type", help="Instance type of further nodes. Default: that of most in the files.")
@click.option("--pods-per-node", type=click.IntRange(min=0), help="With an address. Default: max pods less 2.")
@click.option(
    "--max-pods", "most", type=click.IntRange(min=1), help="Of further nodes. Default: as `moorage max-pods`."
)
@click.option(
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    help="Of further nodes. Default: prefix where prefixes are in use, else secondary.",
)
@click.option("--custom-networking", is_flag=True, help="It is a subnet for pods alone (ENIConfig).")
@click.option("--max-eni", type=click.IntRange(min=0), help="MAX_ENI of the CNI; 0 for none.")
@target_options
@click.option("--add-cidr", help="What if: another subnet of this range.")
@click.option("--reserve", help="What if: a CIDR reservation for prefixes in this range.")
@click.option("--blocks", is_flag=True, help="Show each block of 16.")
@output_option
def subnet(
    *,
    files: tuple[str, ...],
    only: str | None,
    live: bool,
    add_cidr: str | None,
    reserve: str | None,
    blocks: bool,
    output: str,
    **settings: Any,
) -> int:
    """Say how many addresses and /28 prefixes are left in subnets, and how many more nodes that is.

    FILES are answers of the AWS command line in JSON: describe-subnets, describe-network-interfaces, describe-instances
    and get-subnet-cidr-reservations, in any order; - for standard input.

    \b
    moorage subnet subnets.json interfaces.json --type m5.large --mode prefix
    moorage subnet --live --vpc vpc-0123 --type m5.large --mode prefix
    moorage subnet --cidr 10.0.0.0/24 --used 10.0.0.21,10.0.0.37 --prefixes 10.0.0.64/28

    Exit code 0 with an answer, 1 when no further node fits into any of the subnets, 2 for bad input.
    """
    where = {name: settings.pop(name) for name in ("vpc", "region", "profile")}
    answers = _asked(only, **where) if live else read_answers(files)
    if (live and files) or (not live and any(where.values())):
        raise BadInput("give either FILES, or --live with --subnet or --vpc, and perhaps --region and --profile")
    given = {name: settings.pop(name) for name in ("cidr", "used", "prefixes", "reservations")}
    found = _subnets(answers, only, **given)
    plan = _plan(answers, found, **settings)
    reports = [_Report(each, plan, complete=answers.complete or given["cidr"] is not None) for each in found]
    described = [each.as_dict(blocks=blocks) for each in reports]
    result: dict[str, Any] = described[0] if len(described) == 1 else {"subnets": described, "order": _order(reports)}
    if add_cidr is not None:
        added = Found("", Subnet(network(add_cidr, "--add-cidr")))
        result["withCidr"] = _Report(added, plan, complete=True).as_dict(blocks=False)
    if reserve is not None:
        result["withReservation"] = _with_reservation(found, network(reserve, "--reserve"))
    emit(result, output, lambda: _table(reports, result, blocks=blocks))
    return 1 if plan is not None and not any(each.nodes for each in reports) else 0


def _asked(only: str | None, **where: str | None) -> Answers:
    # Only here, since boto3 is an extra.
    from moorage.cli.aws import ask  # noqa: PLC0415

    return ask(only, **where)


def _subnets(answers: Answers, only: str | None, *, cidr: str | None, **parts: str | None) -> list[Found]:
    if cidr is None:
        if any(parts.values()):
            raise BadInput("--used, --prefixes and --reservations go with --cidr")
        found = [each for each in answers.found() if only in (None, each.id)]
        if not found:
            which = f"no subnet {only}" if only is not None else "no subnet with IPv4 addresses"
            raise BadInput(f"there is {which} in the files: give the answer of describe-subnets, or --cidr")
        return found
    known = answers.subnet(None, network(cidr, "--cidr"))
    used, prefixes, reservations = (_split(parts[name]) for name in ("used", "prefixes", "reservations"))
    return [
        Found(
            "",
            Subnet(
                known.cidr,
                {**known.used, **{address(each, "--used"): "" for each in used}},
                tuple(sorted({*known.prefixes, *(network(each, "--prefixes") for each in prefixes)})),
                (*known.reservations, *map(_reservation, reservations)),
            ),
        )
    ]


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def _reservation(text: str) -> Reservation:
    kind, colon, cidr = text.rpartition(":")
    if colon and kind not in set(ReservationKind):
        raise BadInput(f"--reservations: {kind!r} is neither prefix nor explicit")
    return Reservation(network(cidr, "--reservations"), ReservationKind(kind or "prefix"))


def _plan(
    answers: Answers,
    found: list[Found],
    *,
    instance_type: str | None,
    mode: str | None,
    most: int | None,
    pods_per_node: int | None,
    **settings: Any,
) -> NodePlan | None:
    """Return what further nodes are like; None when no instance type is known."""
    given = {name: value for name in TARGETS if (value := settings.pop(name)) is not None}
    name = instance_type or answers.usual_type()
    if name is None:
        return None
    ((instance, _), *more) = find_types([name], None)
    if more:
        raise BadInput(f"--type: {name!r} names {len(more) + 1} instance types; name one")
    in_use = any(each.subnet.prefixes for each in found)
    networking = networking_of(mode=mode or (Mode.PREFIX if in_use else Mode.SECONDARY), **settings)
    limit = most or max_pods(instance, networking, default_convention(networking.mode)).pods
    if limit is None:
        raise BadInput(f"the max pods of {name} are not known; give --max-pods")
    pods = max(limit - HOST_NETWORK_PODS, 0) if pods_per_node is None else pods_per_node
    return NodePlan(instance, networking, WarmTargets(**given), limit, pods)


def _analysis(subnet: Subnet, name: str) -> Analysis:
    try:
        return analyse(subnet)
    except SubnetError as error:
        raise BadInput(f"{name}: {error}" if name else str(error)) from error


class _Report:
    """What is said of one subnet."""

    def __init__(self, found: Found, plan: NodePlan | None, *, complete: bool) -> None:
        self.found = found
        self.analysis = _analysis(found.subnet, found.id)
        self.plan = plan
        self.fits = fits(self.analysis, plan) if plan is not None else None
        self._complete = complete

    @property
    def name(self) -> str:
        return self.found.id or str(self.found.subnet.cidr)

    @property
    def nodes(self) -> int:
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


def _block(block: Any) -> dict[str, Any]:
    kind = block.reservation
    return {
        "block": str(block.cidr),
        "state": block.state.value,
        "used": block.used,
        "free": block.free,
        **({"reservation": kind.value} if kind is not None else {}),
    }


def _order(reports: list[_Report]) -> list[str]:
    """Return the subnets, that which is exhausted first before the others."""
    by_nodes = sorted(reports, key=lambda each: (each.nodes, each.analysis.free_prefixes, each.analysis.free_addresses))
    return [each.name for each in by_nodes]


def _with_reservation(found: list[Found], cidr: IPv4Network) -> dict[str, Any]:
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


def _table(reports: list[_Report], result: dict[str, Any], *, blocks: bool) -> str:
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


def _lines(report: _Report) -> Iterator[str]:
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
