"""Rules about other pods: required affinity, anti-affinity and spread, while units are placed one after another.

Follows the filters `interpodaffinity` and `podtopologyspread` of kube-scheduler v1.36 for the pod that looks for a
place. The anti-affinity of pods that run already, against the unit, is not looked at; namespaces of a term are those it
names and, when it selects some by their labels, all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from moorage.density.nodes import Node
from moorage.density.occupancy import Labels, Load
from moorage.density.selectors import selects, untolerated
from moorage.density.units import Unit, unselected
from moorage.scheduling import LabelSelector, PlacementTerm, Requirement, TopologySpreadConstraint

AFFINITY, ANTI_AFFINITY, SPREAD = "pod affinity", "pod anti-affinity", "topology spread"
HOST_PORT = "host port"

Peers = Mapping[tuple[str, Labels], int]
"""How many pods of a namespace have which labels, on one node."""


class Topology:
    """All rules of one unit about other pods; `place` counts the units that were placed meanwhile."""

    def __init__(self, unit: Unit, nodes: Iterable[Node], loads: Mapping[str, Load]) -> None:
        nodes = list(nodes)
        self._one_per_node = unit.host_ports
        self._used_ports: set[str] = set()
        self._near = [_Near(unit, term) for term in unit.affinity]
        self._apart = [_Near(unit, term) for term in unit.anti_affinity]
        self._even = [_Even(unit, each) for each in unit.spread]
        spread_keys = [each.key for each in self._even]
        for node in nodes:
            load = loads.get(node.name)
            peers: Peers = load.kinds if load is not None else {}
            for rule in (*self._near, *self._apart):
                rule.note(node, peers)
            if all(key in node.labels for key in spread_keys):
                for even in self._even:
                    even.note(node, peers)
        self._starts_alone = all(each.chooses_itself for each in self._near)

    def domain(self, node: Node) -> tuple[str | None, ...]:
        """Return what the rules know of a node: two nodes with the same answer are the same to them."""
        keys = [*(rule.key for rule in (*self._near, *self._apart)), *(even.key for even in self._even)]
        return (*(node.labels.get(key) for key in keys), node.name if self._one_per_node else None)

    def obstacle(self, node: Node) -> str | None:
        """Return which rule forbids one more unit on a node now; None when none does."""
        if self._one_per_node and node.name in self._used_ports:
            return HOST_PORT
        for rule in self._near:
            if not rule.has_peer(node) and not (self._starts_alone and self._nobody_near and rule.key in node.labels):
                return AFFINITY
        if any(rule.has_peer(node) for rule in self._apart):
            return ANTI_AFFINITY
        return SPREAD if any(not even.admits(node) for even in self._even) else None

    def first_domain_key(self) -> str | None:
        """Return the label whose domain the first unit chooses for all others, when no peer has chosen it yet."""
        return self._near[0].key if self._near and self._starts_alone and self._nobody_near else None

    def crowd(self, node: Node) -> int:
        """Return how full a node's domains are of peers, to place units where there are fewest."""
        return sum(even.count(node) for even in self._even)

    def place(self, node: Node) -> bool:
        """Count one more unit on a node; tell whether nodes that were refused for the spread may be free now."""
        self._used_ports.add(node.name)
        for rule in (*self._near, *self._apart):
            rule.place(node)
        opened = [even.place(node) for even in self._even]  # all of them count, whatever the first says
        return any(opened)

    @property
    def _nobody_near(self) -> bool:
        return not any(each.peers for each in self._near)


class _Near:
    """The pods of one affinity term, by domain."""

    def __init__(self, unit: Unit, term: PlacementTerm) -> None:
        self.key = term.topology_key
        self._selector = _with_label_keys(
            term.label_selector, unit.labels, term.match_label_keys, mismatching=term.mismatch_label_keys
        )
        everywhere = term.namespace_selector is not None
        self._namespaces = None if everywhere else set(term.namespaces or (unit.namespace,))
        self.chooses_itself = self._chooses(unit.namespace, unit.labels)
        self.peers: Counter[str] = Counter()
        self._known: dict[tuple[str, Labels], bool] = {}

    def note(self, node: Node, peers: Peers) -> None:
        """Take in the pods of a node."""
        domain = node.labels.get(self.key)
        if domain is None:
            return
        for kind, count in peers.items():
            chosen = self._known.get(kind)
            if chosen is None:
                chosen = self._known[kind] = self._chooses(kind[0], dict(kind[1]))
            if chosen:
                self.peers[domain] += count

    def has_peer(self, node: Node) -> bool:
        """Whether a pod that the term chooses runs in a node's domain."""
        return self.peers[node.labels[self.key]] > 0 if self.key in node.labels else False

    def place(self, node: Node) -> None:
        """Count one more unit."""
        if self.chooses_itself and self.key in node.labels:
            self.peers[node.labels[self.key]] += 1

    def _chooses(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self._namespaces is None or namespace in self._namespaces) and selects(self._selector, labels)


class _Even:
    """One spread constraint: how many peers each domain has, and how many the emptiest."""

    def __init__(self, unit: Unit, constraint: TopologySpreadConstraint) -> None:
        self.key = constraint.topology_key
        self._unit = unit
        self._constraint = constraint
        self._selector = _with_label_keys(constraint.label_selector, unit.labels, constraint.match_label_keys)
        self._counts_itself = selects(self._selector, unit.labels)
        self._counts: Counter[str] = Counter()
        self._known: dict[tuple[str, Labels], bool] = {}
        self._levels: Counter[int] | None = None
        """How many domains have how many peers; made when the first unit is placed."""
        self._lowest = 0

    def note(self, node: Node, peers: Peers) -> None:
        """Take in a node, which must have the labels of all constraints, and its pods."""
        if not self._counts_node(node):
            return
        found = 0
        for kind, count in peers.items():
            chosen = self._known.get(kind)
            if chosen is None:
                own_namespace = kind[0] == self._unit.namespace
                chosen = self._known[kind] = own_namespace and selects(self._selector, dict(kind[1]))
            found += count * chosen
        self._counts[node.labels[self.key]] += found

    def count(self, node: Node) -> int:
        """Return the peers in a node's domain."""
        return self._counts[node.labels[self.key]] if self.key in node.labels else 0

    def admits(self, node: Node) -> bool:
        """Whether one more unit in a node's domain leaves the skew within bounds."""
        domain = node.labels.get(self.key)
        if domain is None:
            return False
        return self._counts[domain] + self._counts_itself - self._minimum() <= self._constraint.max_skew

    def place(self, node: Node) -> bool:
        """Count one more unit; tell whether the emptiest domain is fuller now."""
        domain = node.labels[self.key]
        if not self._counts_itself or domain not in self._counts:
            return False
        before = self._minimum()
        assert self._levels is not None
        count = self._counts[domain]
        self._counts[domain] = count + 1
        self._levels[count] -= 1
        self._levels[count + 1] += 1
        if count == self._lowest and not self._levels[count]:
            self._lowest = count + 1
        return self._minimum() > before

    def _minimum(self) -> int:
        if self._levels is None:
            self._levels = Counter(self._counts.values())
            self._lowest = min(self._counts.values(), default=0)
        return 0 if len(self._counts) < (self._constraint.min_domains or 1) else self._lowest

    def _counts_node(self, node: Node) -> bool:
        constraint, unit = self._constraint, self._unit
        if constraint.node_affinity_policy != "Ignore" and unselected(unit, node) is not None:
            return False
        tolerations = unit.spec.tolerations or ()
        return constraint.node_taints_policy != "Honor" or untolerated(node.taints, tolerations) is None


def chooses_itself(unit: Unit, term: PlacementTerm) -> bool:
    """Whether a term speaks of pods that are like the unit itself."""
    return _Near(unit, term).chooses_itself


def _with_label_keys(
    selector: LabelSelector | None,
    own: Mapping[str, str],
    matching: Iterable[str] | None,
    *,
    mismatching: Iterable[str] | None = None,
) -> LabelSelector | None:
    """Return the selector with what `matchLabelKeys` and `mismatchLabelKeys` add; keys a unit lacks add nothing."""
    if selector is None or not (matching or mismatching):
        return selector
    lines = [*(selector.match_expressions or ()), *_lines("In", matching, own), *_lines("NotIn", mismatching, own)]
    return LabelSelector(match_labels=selector.match_labels, match_expressions=lines)


def _lines(operator: str, keys: Iterable[str] | None, own: Mapping[str, str]) -> Iterator[Requirement]:
    for key in keys or ():
        if key in own:
            yield Requirement(key=key, operator=operator, values=[own[key]])
