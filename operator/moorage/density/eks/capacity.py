"""How many more nodes and pods a subnet holds, and what runs out first: blocks for prefixes, or addresses.

Every interface of a node takes a single address too, and EC2 puts it anywhere outside of reservations. At best it lands
where no prefix fits any more, at worst it spoils a block that was free; both bounds are told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from moorage.density.eks.instances import InstanceType
from moorage.density.eks.ipamd import Pool, attached
from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.subnets import BLOCK, Analysis
from moorage.density.eks.targets import WarmTargets


@dataclass(frozen=True, slots=True)
class NodeCost:
    """What one node takes from the subnet of its pods."""

    single_addresses: int
    prefixes: int
    interfaces: int
    """Those of the single addresses that come with an interface, one at a time."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """The nodes that are to be added, all alike."""

    instance: InstanceType
    networking: Networking
    targets: WarmTargets
    max_pods: int
    pods: int
    """Pods with an address of their own that each is to hold."""

    def pool(self, pods: int) -> Pool:
        """Return what such a node holds with so many pods."""
        return attached(self.instance, self.networking, self.targets, max_pods=self.max_pods, pods=pods)

    def cost(self, pods: int) -> NodeCost:
        """Return what it takes; with custom networking the primary interface is in another subnet."""
        pool = self.pool(pods)
        return self._cost(pool.enis, sum(pool.slots_per_eni))

    def least_cost(self, pods: int) -> NodeCost:
        """Return what it can do with, when it gets nothing to keep warm."""
        slots = -(-pods // self.networking.slot(self.instance))
        enis = max(-(-slots // self.instance.slots_per_eni), 1 - self.networking.custom_networking)
        return self._cost(enis + self.networking.custom_networking, slots)

    def _cost(self, enis: int, slots: int) -> NodeCost:
        interfaces = enis - self.networking.custom_networking
        if self.networking.mode_on(self.instance) is Mode.PREFIX:
            return NodeCost(interfaces, slots, interfaces)
        return NodeCost(interfaces + slots, 0, interfaces)


@dataclass(frozen=True, slots=True)
class Fits:
    """How much more a subnet holds."""

    nodes: int
    """At best."""
    nodes_at_worst: int
    """When the address of every interface spoils a free block."""
    pods: int
    """On those nodes at best, and on one more that gets what is left."""
    bound_by: str
    """prefixes or addresses: what one more node lacks."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a subnet, counted once."""

    singles: int
    loose: int
    """Of the single addresses those that spoil no free block."""
    prefixes: int
    open_prefixes: int
    """Those that a single address can spoil."""


def fits(analysis: Analysis, plan: NodePlan) -> Fits:
    """Return how many nodes of a plan a subnet still holds."""
    free = analysis.free_prefixes
    left = _Left(analysis.single_addresses, analysis.loose_addresses, free, free - analysis.reserved_prefixes)
    cost = plan.cost(plan.pods)
    nodes = _most(lambda count: _lacks(left, cost, count) is None, analysis.free_addresses)
    worst = _most(lambda count: _lacks(left, cost, count, worst=True) is None, nodes)
    running = min(plan.pool(plan.pods).assigned, plan.pods)
    rest = _most(lambda pods: _lacks_both(left, plan, nodes, pods) is None, running) if running else 0
    lacks = _lacks(left, cost, nodes + 1) or "addresses"
    return Fits(nodes, worst, nodes * running + rest, lacks)


def needed(plan: NodePlan, pods: int) -> int:
    """Return the nodes for so many pods."""
    return -(-pods // plan.pods)


def _lacks_both(left: _Left, plan: NodePlan, full: int, pods: int) -> str | None:
    """Return what full nodes and one that gets the rest lack; None when there is enough."""
    one, more = plan.cost(plan.pods), plan.least_cost(pods)
    both = NodeCost(
        full * one.single_addresses + more.single_addresses,
        full * one.prefixes + more.prefixes,
        full * one.interfaces + more.interfaces,
    )
    return _lacks(left, both, 1)


def _lacks(left: _Left, cost: NodeCost, nodes: int, *, worst: bool = False) -> str | None:
    """Return of what there is too little for so many nodes; None when there is enough."""
    singles = nodes * cost.single_addresses
    if singles > left.singles:
        return "addresses"
    spoiled = -(-max(singles - left.loose, 0) // BLOCK)
    if worst:
        spoiled = min(max(spoiled, nodes * cost.interfaces), left.open_prefixes)
    return "prefixes" if nodes * cost.prefixes > left.prefixes - spoiled else None


def _most(holds: Callable[[int], bool], bound: int) -> int:
    """Return the largest number up to a bound for which something holds that holds for all smaller ones too."""
    low, high = 0, bound
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
