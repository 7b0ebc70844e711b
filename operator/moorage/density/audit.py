"""What groups of nodes admit in pods, what they should, and what that costs: read from what node objects say.

Only for instance types of Amazon EKS is there a recommended number, since it is made of their limits. Of other clouds'
nodes no more is told than is written in them: max pods, the pods there, and the range of their pods' addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network

from moorage.density.eks.cni import CniSettings
from moorage.density.eks.instances import InstanceType, instance_types
from moorage.density.eks.maxpods import HOST_NETWORK_PODS, Convention, MaxPods, max_pods
from moorage.density.eks.networking import Networking
from moorage.density.eks.nodes import TYPE_LABEL
from moorage.density.eks.reserved import EVICTION_MIB, kube_reserved

NEAR_PERCENT = 90
"""From this share of max pods on, a node is near its limit."""

_MANAGED_LABEL = "eks.amazonaws.com/nodegroup"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What is written in a node, and how many pods it has."""

    name: str
    labels: Mapping[str, str]
    max_pods: int
    kept_memory_mib: int
    """Capacity less allocatable."""
    pods: int | None = None
    """None where pods were not read."""
    pod_ranges: tuple[str, ...] = ()

    @property
    def instance(self) -> InstanceType | None:
        """Its type, if it is one of EC2."""
        return instance_types().get(self.labels.get(TYPE_LABEL, ""))

    @property
    def is_full(self) -> bool:
        """Whether it is near its limit of pods."""
        return self.pods is not None and 100 * self.pods >= NEAR_PERCENT * self.max_pods


@dataclass(frozen=True, slots=True)
class GroupAudit:
    """What is found of one group."""

    name: str
    nodes: tuple[NodeFacts, ...]
    recommended: MaxPods | None
    """For the type that admits fewest; None where it is no type of EC2."""
    wasted_memory_mib: int | None
    """Memory that all nodes keep for pods that they will not have; None where that is not known."""
    remarks: tuple[str, ...] = field(default=())

    @property
    def types(self) -> tuple[str, ...]:
        """The instance types."""
        return tuple(sorted({node.labels[TYPE_LABEL] for node in self.nodes if TYPE_LABEL in node.labels}))

    @property
    def max_pods(self) -> tuple[int, ...]:
        """The different numbers of max pods, the smallest first."""
        return tuple(sorted({node.max_pods for node in self.nodes}))

    @property
    def near_limit(self) -> tuple[str, ...]:
        """The nodes that are near their limit."""
        return tuple(node.name for node in self.nodes if node.is_full)


def audit(groups: Mapping[str, Iterable[NodeFacts]], cni: CniSettings | None) -> list[GroupAudit]:
    """Return what is found of each group; `cni` is None where the cluster has no DaemonSet aws-node."""
    return [_audit(name, tuple(nodes), cni) for name, nodes in sorted(groups.items())]


def _audit(name: str, nodes: tuple[NodeFacts, ...], cni: CniSettings | None) -> GroupAudit:
    answers = {node.instance: _recommended(node.instance, cni) for node in nodes if node.instance is not None}
    known = [each for each in answers.values() if each.pods is not None]
    least = min(known, key=lambda each: each.pods or 0, default=next(iter(answers.values()), None))
    wasted = [_wasted(node, answers[node.instance]) for node in nodes if node.instance is not None]
    remarks = (*_numbers(nodes), *_types(nodes, answers, cni), *_eks(nodes, least), *_ranges(nodes))
    total = None if not wasted or None in wasted else sum(each or 0 for each in wasted)
    return GroupAudit(name, nodes, least, total, remarks)


def _recommended(instance: InstanceType, cni: CniSettings | None) -> MaxPods:
    if cni is None:
        return max_pods(instance, Networking(), Convention.AMI_DEFAULT)
    return max_pods(instance, cni.networking, Convention.RECOMMENDED)


def _wasted(node: NodeFacts, answer: MaxPods) -> int | None:
    """Return how much more memory is kept than for the pods that the node can and should have.

    The image keeps for its own number, or for what it was told if that is more; what is kept beyond that has other
    reasons.
    """
    if answer.pods is None:
        return None
    own = max_pods(answer.instance, Networking(), Convention.AMI_DEFAULT).pods or 0
    kept_for = (node.kept_memory_mib - EVICTION_MIB - kube_reserved(None, 0).memory_mib) // 11
    return max(min(kept_for, max(own, node.max_pods)) - min(node.max_pods, answer.pods), 0) * 11


def _numbers(nodes: tuple[NodeFacts, ...]) -> Iterator[str]:
    numbers = sorted({node.max_pods for node in nodes})
    if len(numbers) > 1:
        yield f"its nodes admit different numbers of pods: {', '.join(map(str, numbers))}"
    for node in nodes:
        if node.is_full:
            yield f"{node.name} has {node.pods} of {node.max_pods} pods"


def _types(
    nodes: tuple[NodeFacts, ...], answers: Mapping[InstanceType, MaxPods], cni: CniSettings | None
) -> Iterator[str]:
    managed = any(_MANAGED_LABEL in node.labels for node in nodes)
    numbers = {each.pods for each in answers.values()}
    if managed and len(answers) > 1 and len(numbers) > 1:
        yield f"types are mixed: a managed node group gives all of them the smallest number, {_least(numbers)}"
    if managed and cni is None:
        yield "there is no DaemonSet kube-system/aws-node, so managed node groups have the image's own number"
    if managed and (others := {node.labels.get(TYPE_LABEL, "") for node in nodes if node.instance is None}):
        yield f"nothing is known of the type {', '.join(sorted(others))}"


def _least(numbers: Iterable[int | None]) -> str:
    known = [each for each in numbers if each is not None]
    return str(min(known)) if known else "?"


def _eks(nodes: tuple[NodeFacts, ...], answer: MaxPods | None) -> Iterator[str]:
    """Say what is amiss with nodes of EC2; all of a kind are told by the first."""
    if answer is None:
        return
    for node in nodes:
        if node.instance is not answer.instance:
            continue
        if answer.pods is not None and node.max_pods < answer.pods:
            yield f"{node.max_pods} pods are admitted where {answer.pods} are recommended"
        if answer.addresses is not None and node.max_pods - HOST_NETWORK_PODS > answer.addresses:
            yield f"{node.max_pods} pods are admitted, and only {answer.addresses} can have an address"
        needed = kube_reserved(None, node.max_pods).memory_mib + EVICTION_MIB
        if node.kept_memory_mib < needed:
            yield f"{node.kept_memory_mib}Mi are kept, and {node.max_pods} pods need {needed}Mi"
        return


def _ranges(nodes: tuple[NodeFacts, ...]) -> Iterator[str]:
    for node in nodes:
        for each in node.pod_ranges:
            size = ip_network(each, strict=False).num_addresses
            if size < node.max_pods:
                yield f"{node.name} admits {node.max_pods} pods, and its range {each} has {size} addresses"
