"""`moorage max-pods`: how many pods a node of an instance type takes, and what bounds that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import yaml

from moorage.cli.eks import Found, find_types, networking_of, networking_options, overridden, version_of
from moorage.cli.errors import BadInput
from moorage.cli.output import columns, emit, output_option
from moorage.density.eks.expression import ExpressionError, evaluate
from moorage.density.eks.instances import InstanceType
from moorage.density.eks.maxpods import HOST_NETWORK_PODS, Convention, MaxPods, default_convention, max_pods
from moorage.density.eks.networking import Family, Mode, Networking
from moorage.density.eks.reserved import kube_reserved


@click.command("max-pods")
@click.argument("types", nargs=-1, metavar="TYPE...")
@networking_options
@click.option("--reserved-enis", type=click.IntRange(min=0), default=0, help="RESERVED_ENIS of Karpenter.")
@click.option(
    "--convention",
    type=click.Choice([each.value for each in Convention]),
    help="Whose number: the image's own, the recommended one (managed node groups set it), or all addresses. "
    "Default: ami-default, with prefixes recommended.",
)
@click.option(
    "--family",
    type=click.Choice([each.value for each in Family]),
    default=Family.AL2023.value,
    show_default=True,
    help="The family of the node's image.",
)
@click.option("--ipv6", is_flag=True, help="The cluster's pods have IPv6 addresses.")
@click.option("--security-groups-for-pods", "trunk", is_flag=True, help="ENABLE_POD_ENI: a trunk takes an interface.")
@click.option("--cni-version", help="Version of the CNI, such as 1.18.1. Default: one that can do all.")
@click.option("--expression", help="A maxPodsExpression of nodeadm, instead of a convention.")
@click.option("--instance-types", metavar="FILE", help="JSON of `aws ec2 describe-instance-types`, for newer limits.")
@click.option("--enis", type=click.IntRange(min=1), help="Interfaces of the default card, instead of the table's.")
@click.option("--ips-per-eni", type=click.IntRange(min=2), help="Addresses of an interface, instead of the table's.")
@click.option("--vcpus", type=click.IntRange(min=1), help="vCPUs, instead of the table's.")
@click.option("--snippet", type=click.Choice(["nodeadm", "eksctl"]), help="Print the setting that makes it so.")
@output_option
def max_pods_command(
    *,
    types: tuple[str, ...],
    convention: str | None,
    expression: str | None,
    instance_types: str | None,
    enis: int | None,
    ips_per_eni: int | None,
    vcpus: int | None,
    snippet: str | None,
    cni_version: str | None,
    output: str,
    **settings: Any,
) -> int:
    """Say how many pods a node of an EKS instance type takes, what bounds that, and what the kubelet keeps.

    \b
    moorage max-pods m5.large
    moorage max-pods m5.large 'c7g.*' --mode prefix
    moorage max-pods m5.4xlarge --convention recommended

    Exit code 0 with an answer, 1 when it is not known for one of the types, 2 for bad input.
    """
    if not types:
        raise BadInput("name an instance type, such as m5.large, or a pattern, such as 'm5.*'")
    if expression is not None and convention is not None:
        raise BadInput("give either --convention or --expression, not both")
    networking = networking_of(cni_version=version_of(cni_version), **settings)
    found = find_types(types, instance_types)
    found = [overridden(each, enis=enis, addresses_per_eni=ips_per_eni, vcpus=vcpus) for each in found]
    usual = default_convention(Mode.PREFIX if networking.ipv6 else networking.mode)
    wanted = Convention(convention) if convention else usual
    answers = [_answer(each, networking, wanted, expression) for each in found]
    group = _managed(found, networking)
    if snippet is not None:
        click.echo(_snippet(snippet, answers), nl=False)
    else:
        emit(
            {"types": answers, **({} if group is None else {"managedNodeGroup": group})},
            output,
            lambda: _table(answers, group),
        )
    return 1 if any(each["maxPods"] is None for each in answers) else 0


def _managed(found: list[Found], networking: Networking) -> int | None:
    """Return what a managed node group of several types gives each of its nodes: the smallest of their numbers."""
    pods = [max_pods(instance, networking, Convention.RECOMMENDED).pods for instance, _ in found]
    return None if len(pods) < 2 or None in pods else min(each for each in pods if each is not None)


def _answer(found: Found, networking: Networking, convention: Convention, expression: str | None) -> dict[str, Any]:
    instance, remark = found
    result = max_pods(instance, networking, Convention.AMI_DEFAULT if expression is not None else convention)
    remarks = [each for each in (remark, *result.remarks) if each]
    answer = _described(result)
    if expression is not None:
        remarks = [remark] if remark else []
        answer |= _expressed(instance, expression, remarks)
    return {**answer, "remarks": remarks}


def _described(result: MaxPods) -> dict[str, Any]:
    instance, networking = result.instance, result.networking
    return {
        "instanceType": instance.name,
        "maxPods": result.pods,
        "boundBy": result.bound_by,
        "convention": result.convention.value,
        "mode": networking.mode_on(instance).value,
        "addresses": result.addresses,
        "enis": networking.enis(instance),
        "addressesPerEni": instance.addresses_per_eni,
        "vcpus": instance.vcpus,
        "kubeReserved": result.reserved.as_dict() if result.reserved is not None else None,
        "explanation": result.explanation,
    }


def _expressed(instance: InstanceType, expression: str, remarks: list[str]) -> dict[str, Any]:
    """Return what an expression changes; where nodeadm would not use it, a remark says so, as its log would."""
    own = instance.enis * instance.slots_per_eni + HOST_NETWORK_PODS
    try:
        pods = evaluate(expression, default_enis=instance.enis, ips_per_eni=instance.addresses_per_eni, max_pods=own)
        explanation = f"{expression} = {pods}"
    except ExpressionError as error:
        pods, explanation = own, f"the image's own number, since the expression has no usable result: {error}"
        remarks.append(f"nodeadm does not use the expression: {error}")
    return {
        "maxPods": pods,
        "boundBy": "expression",
        "convention": "expression",
        "kubeReserved": kube_reserved(instance.vcpus, pods).as_dict(),
        "explanation": explanation,
    }


def _table(answers: list[dict[str, Any]], group: int | None) -> str:
    header = ("TYPE", "MAX PODS", "BOUND BY", "ADDRESSES", "ENIS", "PER ENI", "KEPT CPU", "KEPT MEMORY")
    rows = [
        (
            each["instanceType"],
            _cell(each["maxPods"]),
            each["boundBy"],
            _cell(each["addresses"]),
            str(each["enis"]),
            str(each["addressesPerEni"]),
            (each["kubeReserved"] or {}).get("cpu", "?"),
            (each["kubeReserved"] or {}).get("memory", "?"),
        )
        for each in answers
    ]
    return "\n".join([columns([header, *rows]), *_remarks(answers, group)])


def _cell(number: int | None) -> str:
    return "?" if number is None else str(number)


def _remarks(answers: list[dict[str, Any]], managed: int | None) -> Iterator[str]:
    yield ""
    if len(answers) == 1:
        yield f"{answers[0]['convention']}: {answers[0]['explanation']}"
    else:
        yield f"convention: {answers[0]['convention']}"
        if managed is not None:
            yield f"a managed node group of all these types gives each of its nodes {managed}"
    told: dict[str, list[str]] = {}
    for each in answers:
        for remark in each["remarks"]:
            told.setdefault(remark, []).append(each["instanceType"])
    for remark, names in told.items():
        which = "" if len(answers) == 1 else f"{', '.join(names[:3])}{' and more' if len(names) > 3 else ''}: "
        yield f"note: {which}{remark}"


def _snippet(kind: str, answers: list[dict[str, Any]]) -> str:
    if any(each["maxPods"] is None for each in answers):
        unknown = ", ".join(each["instanceType"] for each in answers if each["maxPods"] is None)
        raise BadInput(f"no snippet: the max pods of {unknown} are not known; --vcpus may help")
    if kind == "eksctl":
        names = [each["instanceType"] for each in answers]
        group = {
            "name": names[0].replace(".", "-"),
            "instanceTypes": names,
            "maxPodsPerNode": min(each["maxPods"] for each in answers),
        }
        return yaml.safe_dump({"managedNodeGroups": [group]}, sort_keys=False)
    by_count: dict[int, list[str]] = {}
    for each in answers:
        by_count.setdefault(each["maxPods"], []).append(each["instanceType"])
    return "---\n".join(_node_config(pods, names) for pods, names in by_count.items())


def _node_config(pods: int, names: list[str]) -> str:
    # By the expression, not by the kubelet's maxPods: only then is memory reserved for that count.
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"kubelet": {"maxPodsExpression": str(pods)}},
    }
    return f"# {', '.join(names)}\n{yaml.safe_dump(config, sort_keys=False)}"
