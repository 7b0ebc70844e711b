"""A node as a place for pods: what it has to give, who may come, and whether it runs, cools down or is suspended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from moorage.resources import amounts
from moorage.scheduling import StoredNode, Taint

STANDBY_LABEL = "buffer.gke.io/standby-capacity-node"
"""Label of GKE's standby nodes; while they run, a PreferNoSchedule taint of the same name."""

SUSPENDED_CONDITION = "Suspended"
"""Condition of a node that is suspended, being suspended or being resumed (GKE and Azure set it)."""

_SUSPENDED_TAINTS = ("buffer.gke.io/standby-capacity-node-suspended", "status-taint.cluster-autoscaler.kubernetes.io/")
_LIFE_TAINTS = "node.kubernetes.io/"
"""Taints that Kubernetes sets from a node's state; they say nothing of who may come once it is well again."""


class State(StrEnum):
    """What a pod finds at a node: the order is that in which nodes are used."""

    RUNNING = "running"
    STANDBY = "running standby"
    """A standby node that is not suspended yet: a pod can start on it at once, and takes it out of standby."""
    SUSPENDED = "suspended"
    UNUSABLE = "unusable"
    """Not ready, cordoned or going away."""


@dataclass(frozen=True, slots=True)
class Node:
    """What matters of a node to a pod that looks for a place. Amounts in nano-units; `pods` is among them."""

    name: str
    state: State
    allocatable: Mapping[str, int]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    """Those that a pod meets: of a suspended node, what is left of them once it is resumed."""
    standby_of: str = ""
    """The upstream buffer, as `namespace/name`, that a standby node is kept for, if for one."""

    @property
    def permanent_taints(self) -> tuple[Taint, ...]:
        """The taints that another node of its kind would have too."""
        return tuple(each for each in self.taints if not each.key.startswith(_LIFE_TAINTS))


def node_of(stored: StoredNode) -> Node:
    """Return what matters of a stored node.

    Raises QuantityError when an amount does not parse.
    """
    meta, spec = stored.metadata, stored.spec
    state = _state(stored)
    taints = tuple(each for each in spec.taints or () if each.effect != "PreferNoSchedule")
    if state is State.SUSPENDED:
        taints = tuple(each for each in taints if not each.key.startswith((*_SUSPENDED_TAINTS, _LIFE_TAINTS)))
    return Node(
        name=meta.name,
        state=state,
        allocatable=amounts(stored.status.allocatable),
        labels=meta.labels or {},
        taints=taints,
        standby_of=(meta.annotations.standby_buffer or "") if meta.annotations is not None else "",
    )


def _state(stored: StoredNode) -> State:
    conditions = {each.type: each.status for each in stored.status.conditions or ()}
    taints, labels = stored.spec.taints or (), stored.metadata.labels or {}
    if stored.metadata.deletion_timestamp is not None:
        return State.UNUSABLE
    if conditions.get(SUSPENDED_CONDITION) == "True" or any(each.key.startswith(_SUSPENDED_TAINTS) for each in taints):
        return State.SUSPENDED
    if conditions.get("Ready") != "True" or stored.spec.unschedulable:
        return State.UNUSABLE
    return State.STANDBY if labels.get(STANDBY_LABEL) == "true" else State.RUNNING
