"""Groups of nodes that are alike, how many units an empty node of each holds, and whether any node ever could."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from moorage.density.eks.maxpods import HOST_NETWORK_PODS
from moorage.density.eks.nodes import TYPE_LABEL, EksNodes, PlannedNodes, live_nodes, planned_nodes, room, sized
from moorage.density.nodes import Node
from moorage.density.occupancy import Load
from moorage.density.packing import Fit, fit
from moorage.density.topology import ANTI_AFFINITY, HOST_PORT, chooses_itself
from moorage.density.units import PODS, Unit, refusal
from moorage.quantity import NANO, canonical

_POOL_LABELS = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
)
ADDRESSES = "addresses"
"""What bounds units on nodes whose interfaces carry fewer pods than their kubelet admits."""

_NO_LOAD = Load()


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that hold equally many units when they are empty but for their daemons."""

    name: str
    """The node pool and the instance type, as far as labels tell; else the size of the nodes."""
    nodes: int
    """How many there are; 0 for nodes that are planned, of which there is none yet."""
    fit: Fit
    eks: EksNodes | None = None
    """What is known of their addresses, where they are of an EKS type."""

    def nodes_for(self, units: int) -> int:
        """Return how many such nodes hold so many units, each node whole."""
        return -(-units // self.fit.units)

    def addresses_for(self, units: int) -> int | None:
        """Return how many addresses of their subnets so many units cost; None where that is not known."""
        return None if self.eks is None else self.eks.subnet_addresses(units, self.fit.units)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What nodes say of a unit: the groups that could hold one, the largest first, planned ones last, or why not."""

    groups: tuple[Group, ...]
    obstacles: Mapping[str, int]
    """Of how many nodes what keeps a unit away even when they are empty; a resource name means too little of it."""
    largest: Mapping[str, int]
    """The most that any node that the unit may run on has, by the resources that are too little, in nano-units."""

    read: bool = True
    """Whether nodes may be read at all."""
    remark: str = ""
    """What is to be said of nodes that are planned and do not help."""

    @property
    def known(self) -> bool:
        """Whether there is any node to judge by."""
        return bool(self.groups or self.obstacles)

    @property
    def feasible(self) -> bool:
        """Whether a node that is there could hold a unit, were it empty."""
        return bool(self.groups)


UNREAD = Outlook((), {}, {}, read=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Verdict:
    """What one node says of a unit, shared by nodes that say the same."""

    group: str = ""
    fit: Fit | None = None
    obstacle: str = ""
    eks: EksNodes | None = None


class Prospects:
    """Judges nodes for one unit as if they were empty, ready and resumed; a node is judged anew when it changes.

    Nodes that are planned are judged beside them while there is none of their type.
    """

    def __init__(self, unit: Unit, planned: PlannedNodes | None = None) -> None:
        self._unit = unit
        self._planned = planned
        self._known: dict[str, tuple[Node, int, _Verdict, int]] = {}
        """By name: the node, the version of its daemons, the verdict, and how much it has of what is too little."""
        self._verdicts: dict[tuple[str, Fit | None, str, EksNodes | None], _Verdict] = {}

    def outlook(self, nodes: Iterable[Node], loads: Mapping[str, Load]) -> Outlook:
        """Return what all nodes say together."""
        counts: Counter[_Verdict] = Counter()
        largest: dict[str, int] = {}
        known = self._known
        self._known = {}
        for node in nodes:
            load = loads.get(node.name, _NO_LOAD)
            judged = known.get(node.name)
            if judged is None or judged[0] is not node or judged[1] != load.daemons_changed:
                verdict, has = self._judge(node, load.daemons)
                judged = (node, load.daemons_changed, verdict, has)
            self._known[node.name] = judged
            counts[judged[2]] += 1
            if judged[2].fit is not None and not judged[2].fit.units:
                bound_by = judged[2].fit.bound_by
                largest[bound_by] = max(largest.get(bound_by, 0), judged[3])
        remark = self._judge_planned(counts, largest, loads)
        return _outlook(counts, largest, remark)

    def _judge_planned(self, counts: Counter[_Verdict], largest: dict[str, int], loads: Mapping[str, Load]) -> str:
        """Add the verdict on a node that is planned, unless there are live ones of its type; return what to say."""
        planned, live = self._planned, {node.labels.get(TYPE_LABEL) for node, *_ in self._known.values()}
        if planned is None or planned.instance_type in live:
            return ""
        daemons = max((load.daemons for load in loads.values()), key=lambda each: each.get(PODS, 0), default={})
        daemons = {**daemons, PODS: max(daemons.get(PODS, 0), HOST_NETWORK_PODS * NANO)}
        eks = planned_nodes(planned, daemon_pods=daemons[PODS] // NANO)
        if eks is None:
            return f"the type {planned.instance_type} of spec.nodes is not in the table, or its max pods are not known"
        has, requests = room(eks), sized(self._unit.requests)
        if has is None or requests is None:
            return f"of the type {planned.instance_type} of spec.nodes too little is known to judge it"
        found = _bounded(on_empty_node(replace(self._unit, requests=requests), has, daemons), eks)
        name = f"{planned.instance_type}, planned"
        verdict = self._shared(name if found.units else "", found, "" if found.units else found.bound_by, eks)
        counts[verdict] = 0 if found.units else 1
        if not found.units:
            largest[found.bound_by] = max(largest.get(found.bound_by, 0), has.get(found.bound_by, 0))
            return f"a planned {planned.instance_type} is one of them"
        return ""

    def _judge(self, node: Node, daemons: Mapping[str, int]) -> tuple[_Verdict, int]:
        if reason := refusal(self._unit, node, emptied=True):
            return self._shared("", None, reason), 0
        pods, daemon_pods = node.allocatable.get(PODS, 0) // NANO, daemons.get(PODS, 0) // NANO
        eks = live_nodes(node.labels, pods, daemon_pods=daemon_pods, planned=self._planned)
        empty = _bounded(on_empty_node(self._unit, node.allocatable, daemons), eks)
        if empty.units:
            return self._shared(group_name(node), empty, "", eks), 0
        has = node.allocatable.get(empty.bound_by, 0) - daemons.get(empty.bound_by, 0)
        return self._shared("", empty, empty.bound_by), has

    def _shared(self, group: str, fit: Fit | None, obstacle: str, eks: EksNodes | None = None) -> _Verdict:
        return self._verdicts.setdefault((group, fit, obstacle, eks), _Verdict(group, fit, obstacle, eks))


def outlook(
    unit: Unit, nodes: Iterable[Node], loads: Mapping[str, Load], planned: PlannedNodes | None = None
) -> Outlook:
    """Judge nodes for a unit once."""
    return Prospects(unit, planned).outlook(nodes, loads)


def addressable(node: Node, planned: PlannedNodes | None = None) -> Node:
    """Return a node that admits no more pods than can have an address, the two of the host network beside them."""
    pods = node.allocatable.get(PODS, 0) // NANO
    eks = live_nodes(node.labels, pods, daemon_pods=0, planned=planned)
    most = eks.most_units if eks is not None else None
    if most is None or pods <= most + HOST_NETWORK_PODS:
        return node
    return replace(node, allocatable={**node.allocatable, PODS: (most + HOST_NETWORK_PODS) * NANO})


def _bounded(found: Fit, eks: EksNodes | None) -> Fit:
    """Return a fit with no more units than get an address."""
    most = eks.most_units if eks is not None else None
    return found if most is None or most >= found.units else Fit(most, ADDRESSES)


def _outlook(counts: Mapping[_Verdict, int], largest: Mapping[str, int], remark: str) -> Outlook:
    obstacles: Counter[str] = Counter()
    groups = []
    for verdict, count in counts.items():
        if verdict.fit is not None and verdict.fit.units:
            groups.append(Group(verdict.group, count, verdict.fit, verdict.eks))
        else:
            obstacles[verdict.obstacle] += count
    groups.sort(key=lambda group: (not group.nodes, -group.fit.units, -group.nodes, group.name))
    return Outlook(tuple(groups), obstacles, largest, remark=remark)


def on_empty_node(unit: Unit, allocatable: Mapping[str, int], daemons: Mapping[str, int]) -> Fit:
    """Return how many units an empty node holds beside its daemons, each of which it must have."""
    found = fit(unit.requests, allocatable, daemons)
    if found.units > 1 and unit.host_ports:
        return Fit(1, HOST_PORT)
    if found.units > 1 and any(chooses_itself(unit, term) for term in unit.anti_affinity):
        return Fit(1, ANTI_AFFINITY)
    return found


def pool_name(labels: Mapping[str, str]) -> str:
    """Return the node pool that a node's labels tell; empty when they tell none."""
    return next((labels[label] for label in _POOL_LABELS if label in labels), "")


def group_name(node: Node) -> str:
    """Return what people call nodes like this one: by pool and instance type, or by size."""
    parts = [pool_name(node.labels), node.labels.get(TYPE_LABEL, "")]
    return " ".join(each for each in parts if each) or _size(node)


def _size(node: Node) -> str:
    cpu = canonical(node.allocatable.get("cpu", 0))
    return f"{cpu} cpu, {canonical(node.allocatable.get('memory', 0), binary=True)} memory"
