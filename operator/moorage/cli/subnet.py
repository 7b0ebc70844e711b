"""`moorage subnet`: what is left of subnets in addresses and in /28 prefixes, and how many more nodes that is."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.ec2 import Answers, Found, address, network, read_answers
from moorage.cli.eks import find_types, networking_of
from moorage.cli.errors import BadInput
from moorage.cli.output import emit, output_option
from moorage.cli.subnet_report import Report, order, table, with_reservation
from moorage.cli.warm_pool import TARGETS, target_options
from moorage.density.eks.capacity import NodePlan
from moorage.density.eks.maxpods import HOST_NETWORK_PODS, default_convention, max_pods
from moorage.density.eks.networking import Mode
from moorage.density.eks.subnets import Reservation, ReservationKind, Subnet
from moorage.density.eks.targets import WarmTargets
from moorage.quoting import quoted


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
    reports = [Report(each, plan, complete=answers.complete or given["cidr"] is not None) for each in found]
    described = [each.as_dict(blocks=blocks) for each in reports]
    result: dict[str, Any] = described[0] if len(described) == 1 else {"subnets": described, "order": order(reports)}
    if add_cidr is not None:
        added = Found("", Subnet(network(add_cidr, "--add-cidr")))
        result["withCidr"] = Report(added, plan, complete=True).as_dict(blocks=False)
    if reserve is not None:
        result["withReservation"] = with_reservation(found, network(reserve, "--reserve"))
    emit(result, output, lambda: table(reports, result, blocks=blocks))
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
        raise BadInput(f"--reservations: {quoted(kind)} is neither prefix nor explicit")
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
        raise BadInput(f"--type: {quoted(name)} names {len(more) + 1} instance types; name one")
    in_use = any(each.subnet.prefixes for each in found)
    networking = networking_of(mode=mode or (Mode.PREFIX if in_use else Mode.SECONDARY), **settings)
    limit = most or max_pods(instance, networking, default_convention(networking.mode)).pods
    if limit is None:
        raise BadInput(f"the max pods of {name} are not known; give --max-pods")
    pods = max(limit - HOST_NETWORK_PODS, 0) if pods_per_node is None else pods_per_node
    return NodePlan(instance, networking, WarmTargets(**given), limit, pods)
