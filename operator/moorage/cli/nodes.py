"""`moorage nodes`: what node groups admit in pods, what they should, and what is wasted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from moorage.cli.convert import convert
from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.output import columns, emit, output_option
from moorage.density.audit import GroupAudit, NodeFacts, audit
from moorage.density.eks.cni import CniSettings, settings_of
from moorage.density.eks.nodes import TYPE_LABEL
from moorage.density.groups import pool_name
from moorage.quantity import NANO, QuantityError, parse_nano

_CNI = ("DaemonSet", "kube-system", "aws-node")
_FINISHED = ("Succeeded", "Failed")


class _Model(msgspec.Struct, frozen=True, rename="camel"):
    """A part of an object; what is not named here is passed over."""


class _NodeSpec(_Model, frozen=True):
    pod_cidr: str | None = msgspec.field(name="podCIDR", default=None)
    pod_cidrs: tuple[str, ...] = msgspec.field(name="podCIDRs", default=())


class _NodeStatus(_Model, frozen=True):
    capacity: dict[str, str | int]
    allocatable: dict[str, str | int]


class _Meta(_Model, frozen=True):
    labels: dict[str, str] = {}


class _Node(_Model, frozen=True):
    status: _NodeStatus
    metadata: _Meta = _Meta()
    spec: _NodeSpec = _NodeSpec()


class _Variable(_Model, frozen=True):
    name: str
    value: str = ""


class _Container(_Model, frozen=True):
    name: str
    image: str = ""
    env: tuple[_Variable, ...] = ()


class _PlacedPodSpec(_Model, frozen=True):
    node_name: str | None = None


class _PodStatus(_Model, frozen=True):
    phase: str | None = None


class _Pod(_Model, frozen=True):
    spec: _PlacedPodSpec | None = None
    status: _PodStatus | None = None


class _PodSpec(_Model, frozen=True):
    containers: tuple[_Container, ...]


class _Template(_Model, frozen=True):
    spec: _PodSpec


class _DaemonSetSpec(_Model, frozen=True):
    template: _Template


@click.command()
@click.option("-f", "--filename", "filenames", multiple=True, help="File or folder of objects; - for standard input.")
@click.option("--kubeconfig", help="Kubeconfig file, for a live cluster.")
@click.option("--context", help="Context of the kubeconfig.")
@output_option
def nodes(*, filenames: tuple[str, ...], kubeconfig: str | None, context: str | None, output: str) -> int:
    """Say for each node group how many pods its nodes admit and should, what binds, and what memory is wasted.

    Without -f the live cluster is read. How pods get addresses is read from the DaemonSet kube-system/aws-node.

    \b
    moorage nodes
    kubectl get nodes,pods,daemonsets -A -o yaml | moorage nodes -f -

    Exit code 0 with an answer, 2 for bad input, such as no node among it or a cluster that cannot be read.
    """
    documents = read_documents(filenames) if filenames else _live(kubeconfig, context)
    groups: dict[str, list[NodeFacts]] = {}
    pods = _pods_by_node(documents)
    for document in documents:
        if document.kind == "Node":
            facts = _facts(document, pods)
            name = pool_name(facts.labels) or facts.labels.get(TYPE_LABEL, "") or "no group"
            groups.setdefault(name, []).append(facts)
    if not groups:
        raise BadInput("there is no Node among the objects")
    settings = _settings(documents)
    found = audit(groups, settings)
    emit(
        {"cni": _cni(settings), "groups": [_described(each) for each in found]},
        output,
        lambda: "\n".join(_table(found, settings)),
    )
    return 0


def _live(kubeconfig: str | None, context: str | None) -> list[Document]:
    # The client takes half a second to import.
    from moorage.cli.live import connected, live_fleet  # noqa: PLC0415

    with connected(kubeconfig, context) as api:
        return live_fleet(api)


def _pods_by_node(documents: list[Document]) -> Counter[str] | None:
    """Return how many pods each node has, which have not ended; None where there is no pod among the objects."""
    pods = [convert(each, _Pod, each.body) for each in documents if each.kind == "Pod"]
    running = (each for each in pods if each.status is None or each.status.phase not in _FINISHED)
    return Counter(each.spec.node_name or "" if each.spec is not None else "" for each in running) if pods else None


def _facts(document: Document, pods: Counter[str] | None) -> NodeFacts:
    node = convert(document, _Node, document.body)
    ranges = node.spec.pod_cidrs or ((node.spec.pod_cidr,) if node.spec.pod_cidr else ())
    leaves = node.status.allocatable
    memory = _amount(document, "capacity", node.status.capacity, "memory")
    kept = memory - _amount(document, "allocatable", leaves, "memory")
    return NodeFacts(
        name=document.name,
        labels=node.metadata.labels,
        max_pods=_amount(document, "allocatable", leaves, "pods") // NANO,
        kept_memory_mib=kept // NANO >> 20,
        pods=None if pods is None else pods[document.name],
        pod_ranges=ranges,
    )


def _amount(document: Document, where: str, amounts: dict[str, str | int], name: str) -> int:
    if name not in amounts:
        raise BadInput(f"{document.label}: status.{where}.{name} is missing")
    try:
        return parse_nano(str(amounts[name]))
    except QuantityError as error:
        raise BadInput(f"{document.label}: status.{where}.{name}: {error}") from error


def _settings(documents: list[Document]) -> CniSettings | None:
    for document in documents:
        if (document.kind, document.namespace("default"), document.name) == _CNI:
            spec = convert(document, _DaemonSetSpec, document.spec)
            for container in spec.template.spec.containers:
                if container.name == "aws-node":
                    return settings_of(container.image, {each.name: each.value for each in container.env})
            raise BadInput(f"{document.label}: it has no container aws-node")
    return None


def _cni(settings: CniSettings | None) -> dict[str, Any] | None:
    if settings is None:
        return None
    networking, targets = settings.networking, settings.targets
    return {
        "version": ".".join(map(str, settings.version)) if settings.version is not None else None,
        "mode": networking.mode.value,
        "customNetworking": networking.custom_networking,
        "inForce": targets.in_force(networking.mode),
        "warmEniTarget": targets.warm_eni,
        "warmIpTarget": targets.warm_ip,
        "minimumIpTarget": targets.minimum_ip,
        "warmPrefixTarget": targets.warm_prefix,
        "remarks": list(settings.remarks()),
    }


def _described(group: GroupAudit) -> dict[str, Any]:
    best, wasted = group.recommended, group.wasted_memory_mib
    return {
        "group": group.name,
        "nodes": len(group.nodes),
        "instanceTypes": list(group.types),
        "maxPods": list(group.max_pods),
        "recommended": best.pods if best is not None else None,
        "boundBy": best.bound_by if best is not None else None,
        "addresses": best.addresses if best is not None else None,
        "pods": None if any(node.pods is None for node in group.nodes) else sum(node.pods or 0 for node in group.nodes),
        "nearLimit": list(group.near_limit),
        "wastedMemory": None if wasted is None else f"{wasted}Mi",
        "remarks": list(group.remarks),
    }


def _table(found: list[GroupAudit], settings: CniSettings | None) -> Iterator[str]:
    header = ("GROUP", "NODES", "TYPES", "MAX PODS", "RECOMMENDED", "BOUND BY", "PODS", "NEAR LIMIT", "WASTED MEMORY")
    rows = [
        (
            each["group"],
            str(each["nodes"]),
            ",".join(each["instanceTypes"]) or "-",
            ",".join(map(str, each["maxPods"])),
            _cell(each["recommended"]),
            _cell(each["boundBy"]),
            _cell(each["pods"]),
            str(len(each["nearLimit"])),
            _cell(each["wastedMemory"]),
        )
        for each in map(_described, found)
    ]
    yield columns([header, *rows])
    yield ""
    if settings is not None:
        cni = _cni(settings) or {}
        custom = ", custom networking" if settings.networking.custom_networking else ""
        yield f"CNI {cni['version'] or '?'}: {cni['mode']} mode{custom}, {cni['inForce']}"
        yield from (f"note: {remark}" for remark in cni["remarks"])
    for group in found:
        yield from (f"note: {group.name}: {remark}" for remark in group.remarks)


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
