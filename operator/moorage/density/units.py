"""One unit of a buffer as a pod that looks for a place, and which nodes are out of the question for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from moorage.density.nodes import Node
from moorage.density.selectors import allows, untolerated
from moorage.quantity import NANO
from moorage.scheduling import (
    LabelSelector,
    NodeSelector,
    PlacementSpec,
    PlacementTerm,
    PlacementTerms,
    TopologySpreadConstraint,
)

PODS = "pods"


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """What a unit needs of a node and of the pods around it."""

    namespace: str
    labels: Mapping[str, str]
    requests: Mapping[str, int]
    """Effective requests above 0, in nano-units; one pod is among them."""
    spec: PlacementSpec
    volume_nodes: tuple[NodeSelector, ...]
    """From which nodes its volumes can be reached, where that is known: all of these hold."""

    @property
    def node_affinity(self) -> NodeSelector | None:
        """The nodes that it must run on by affinity; None for any."""
        affinity = self.spec.affinity
        if affinity is None or affinity.node_affinity is None:
            return None
        return affinity.node_affinity.requiredDuringSchedulingIgnoredDuringExecution

    @property
    def affinity(self) -> list[PlacementTerm]:
        """The pods that it must run beside."""
        return _required(self.spec.affinity.pod_affinity) if self.spec.affinity is not None else []

    @property
    def anti_affinity(self) -> list[PlacementTerm]:
        """The pods that it must not run beside."""
        return _required(self.spec.affinity.pod_anti_affinity) if self.spec.affinity is not None else []

    @property
    def spread(self) -> list[TopologySpreadConstraint]:
        """How evenly it must be spread; what is only preferred (ScheduleAnyway) keeps no pod waiting."""
        constraints = self.spec.topology_spread_constraints or ()
        return [each for each in constraints if each.when_unsatisfiable == "DoNotSchedule"]

    @property
    def host_ports(self) -> bool:
        """Whether it takes a port of its node, so that a second one needs another node."""
        return any(port.host_port for each in self.spec.containers or () for port in each.ports or ())

    @property
    def minds_other_pods(self) -> bool:
        """Whether a place depends on which pods run where."""
        return bool(self.host_ports or self.affinity or self.anti_affinity or self.spread)

    def label_keys(self) -> set[str]:
        """Return the labels of other pods that matter to it."""
        keys: set[str] = set()
        for selector in self._pod_selectors():
            keys.update(selector.match_labels or ())
            keys.update(each.key for each in selector.match_expressions or ())
        for each in [*self.affinity, *self.anti_affinity]:
            keys.update(each.match_label_keys or (), each.mismatch_label_keys or ())
        for constraint in self.spread:
            keys.update(constraint.match_label_keys or ())
        return keys

    def _pod_selectors(self) -> Iterator[LabelSelector]:
        terms = [*self.affinity, *self.anti_affinity]
        for selector in [*(each.label_selector for each in terms), *(each.label_selector for each in self.spread)]:
            if selector is not None:
                yield selector


def unit(
    namespace: str,
    requests: Mapping[str, int],
    *,
    labels: Mapping[str, str] | None = None,
    spec: PlacementSpec | None = None,
    volume_nodes: tuple[NodeSelector, ...] = (),
) -> Unit:
    """Return a unit that requests this much, in nano-units."""
    asked = {name: amount for name, amount in requests.items() if amount > 0}
    return Unit(
        namespace=namespace,
        labels=labels or {},
        requests={**asked, PODS: NANO},
        spec=spec or PlacementSpec(),
        volume_nodes=volume_nodes,
    )


def refusal(unit: Unit, node: Node, *, emptied: bool = False) -> str | None:
    """Return why a node is out of the question for a unit, however much room it has; None when it is not.

    `emptied`: look only at what would hold of any node of its kind.
    """
    if unit.spec.node_name and unit.spec.node_name != node.name:
        return "the node's name"
    if obstacle := unselected(unit, node):
        return obstacle
    if not all(allows(each, node.labels, node.name) for each in unit.volume_nodes):
        return "the zone of a volume"
    taint = untolerated(node.permanent_taints if emptied else node.taints, unit.spec.tolerations or ())
    return f"the taint {taint}" if taint is not None else None


class Refusals:
    """Remembers for one unit which nodes are out of the question; a node that changes is another value."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._known: dict[str, tuple[Node, str | None]] = {}

    def of(self, node: Node) -> str | None:
        """Return `refusal` of the unit for a node."""
        known = self._known.get(node.name)
        if known is None or known[0] is not node:
            known = self._known[node.name] = (node, refusal(self.unit, node))
        return known[1]

    def keep(self, nodes: Mapping[str, Node]) -> None:
        """Forget all other nodes."""
        for name in self._known.keys() - nodes.keys():
            del self._known[name]


def unselected(unit: Unit, node: Node) -> str | None:
    """Return why a unit does not ask for a node by its labels; None when it does."""
    if any(node.labels.get(key) != value for key, value in (unit.spec.node_selector or {}).items()):
        return "the node selector"
    return None if allows(unit.node_affinity, node.labels, node.name) else "the node affinity"


def _required(terms: PlacementTerms | None) -> list[PlacementTerm]:
    return terms.requiredDuringSchedulingIgnoredDuringExecution or [] if terms is not None else []
