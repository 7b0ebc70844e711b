"""Nodes of one EKS instance type as places for units: the addresses that bound them, and those that they cost.

The subnet is charged as the Amazon VPC CNI does it, with the warm targets of its manifest. Whether live nodes use
prefixes is told by `PlannedNodes`, else by their max pods: more than single addresses make means prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from moorage.density.eks.instances import InstanceType, instance_types
from moorage.density.eks.ipamd import attached
from moorage.density.eks.maxpods import HOST_NETWORK_PODS, Convention, default_convention, max_pods
from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.reserved import allocatable, kube_reserved
from moorage.density.eks.targets import WarmTargets
from moorage.quantity import NANO

TYPE_LABEL = "node.kubernetes.io/instance-type"

_SIZED = ("cpu", "memory", "pods")
_UNSIZED = ("ephemeral-storage",)
"""What depends on a node's disk, not on its type: not looked at."""


@dataclass(frozen=True, slots=True)
class PlannedNodes:
    """What is said of nodes of a type beforehand, so that they can be judged while there is none."""

    instance_type: str
    mode: Mode | None = None
    """None for what live nodes show, and for single addresses without any."""
    custom_networking: bool = False
    max_pods: int | None = None
    """None for what nodes of the mode usually have."""


@dataclass(frozen=True, slots=True)
class EksNodes:
    """Nodes of one type, all alike."""

    instance: InstanceType
    networking: Networking
    max_pods: int
    other_pods: int = HOST_NETWORK_PODS
    """Pods of daemons on each; two of them, aws-node and kube-proxy, take no address."""

    @property
    def most_units(self) -> int | None:
        """How many units can have an address on an empty node; None for no bound."""
        addresses = self.networking.addresses(self.instance)
        return None if addresses is None else max(addresses - self._others, 0)

    def subnet_addresses(self, units: int, units_per_node: int) -> int:
        """Return what so many units cost their subnets, on nodes that are filled one after another."""
        full, rest = divmod(units, units_per_node)
        return full * self._cost(units_per_node) + (self._cost(rest) if rest else 0)

    @property
    def _others(self) -> int:
        return max(self.other_pods - HOST_NETWORK_PODS, 0)

    def _cost(self, units: int) -> int:
        return _subnet_addresses(self.instance, self.networking, self.max_pods, units + self._others)


@lru_cache(maxsize=4096)
def _subnet_addresses(instance: InstanceType, networking: Networking, most: int, pods: int) -> int:
    return attached(instance, networking, WarmTargets(), max_pods=most, pods=pods).subnet_addresses


def live_nodes(
    labels: Mapping[str, str], pods: int, *, daemon_pods: int, planned: PlannedNodes | None
) -> EksNodes | None:
    """Return a live node as one of its kind; None where it is of no EKS type, so that nothing is known of addresses."""
    instance = instance_types().get(labels.get(TYPE_LABEL, ""))
    if instance is None:
        return None
    if planned is None or planned.instance_type != instance.name:
        planned = PlannedNodes(instance.name)
    return EksNodes(instance, _networking(instance, pods, planned), pods, max(daemon_pods, HOST_NETWORK_PODS))


def planned_nodes(planned: PlannedNodes, *, daemon_pods: int) -> EksNodes | None:
    """Return the nodes that are planned; None when the type or its max pods are not known."""
    instance = instance_types().get(planned.instance_type)
    if instance is None:
        return None
    networking = Networking(planned.mode or Mode.SECONDARY, custom_networking=planned.custom_networking)
    most = planned.max_pods
    if most is None:
        most = max_pods(instance, networking, default_convention(networking.mode)).pods
    return None if most is None else EksNodes(instance, networking, most, max(daemon_pods, HOST_NETWORK_PODS))


def room(nodes: EksNodes) -> dict[str, int] | None:
    """Return about what is allocatable on such a node, in nano-units; None when its size is not known."""
    own = max_pods(nodes.instance, nodes.networking, Convention.AMI_DEFAULT).pods or 0
    found = allocatable(nodes.instance, kube_reserved(nodes.instance.vcpus, max(own, nodes.max_pods)))
    if found is None:
        return None
    return {
        "cpu": found["cpu_milli"] * NANO // 1000,
        "memory": (found["memory_mib"] << 20) * NANO,
        "pods": nodes.max_pods * NANO,
    }


def sized(requests: Mapping[str, int]) -> dict[str, int] | None:
    """Return of requests what the table knows of nodes; None when there is something that it knows nothing of."""
    if not requests.keys() <= {*_SIZED, *_UNSIZED}:
        return None
    return {name: amount for name, amount in requests.items() if name in _SIZED}


def _networking(instance: InstanceType, pods: int, planned: PlannedNodes) -> Networking:
    single = instance.enis * instance.slots_per_eni + HOST_NETWORK_PODS
    seen = Mode.PREFIX if pods > single and instance.takes_prefixes else Mode.SECONDARY
    return Networking(planned.mode or seen, custom_networking=planned.custom_networking)
