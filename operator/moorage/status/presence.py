"""What of a buffer is there, as its status tells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from moorage.api.capacitybuffer_status import CapacityBufferDisplay, CapacityBufferStatus
from moorage.api.conditions import Condition
from moorage.api.presence import NodeGroup, NodesStatus, Tier
from moorage.backends.word import Word
from moorage.buffer.presence import Refill
from moorage.density.groups import Group, Outlook
from moorage.quantity import canonical
from moorage.quota.names import is_binary
from moorage.status.findings import COUNTING, ConditionStatus, condition, listed, plural

PROVISIONED, INFEASIBLE = "Provisioned", "Infeasible"
_MOST_GROUPS = 8
_NOT_RESOURCES = ("the ", "pod ")


@dataclass(frozen=True, slots=True)
class TierSighting:
    """One tier as it was last seen, in units."""

    wanted: int
    ready: int
    consumed: int = 0

    @property
    def missing(self) -> int:
        """Units that are not there."""
        return max(self.wanted - self.ready, 0)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A buffer as it was last seen."""

    active: TierSighting
    standby: TierSighting
    refill: Refill
    """How what is missing comes back."""
    outlook: Outlook
    """What the nodes say of a unit."""
    requests: tuple[tuple[str, int], ...] = ()
    """What a unit requests, in nano-units, to say what is too little."""
    group: str = ""
    """The name of the group of nodes that holds most units now."""
    word: Word = Word.NOBODY
    """What the autoscaler says of nodes that it could make."""
    waited: bool = True
    """Whether an autoscaler that does not tell has had time enough to make a node that holds a unit."""
    taken: int = 0
    """Units that pods have taken since the look before; status does not show it."""
    shape: tuple[object, ...] = ()
    """All that the shape of the units is made of that were looked for."""

    def of(self, shape: tuple[object, ...], *, active: int, standby: int) -> Sighting | Unseen:
        """Return what this look tells of units that may have been asked for after it.

        It found no more of them than it looked for, so of more units it tells of too few rather than too many.
        """
        if shape != self.shape:
            return Unseen("NodesUnknown", "nodes and pods are being looked at for units of another shape than before")
        return replace(self, active=replace(self.active, wanted=active), standby=replace(self.standby, wanted=standby))


@dataclass(frozen=True, slots=True)
class Unseen:
    """Why it is not known what is there; `pending` while it is being found out."""

    reason: str
    message: str
    pending: bool = False


NO_UNIT = Unseen(
    "ShapeUnknown", "what a unit asks for is not known, so it cannot be told whether there is room for one"
)


def with_presence(status: CapacityBufferStatus, seen: Sighting | Unseen, *, generation: int) -> CapacityBufferStatus:
    """Return a buffer's status with what is there of it; one without a size says that nothing is made for it."""
    if status.active is None or status.standby is None:
        message = "the buffer has no size, so no units are made for it; see Ready"
        told = condition(PROVISIONED, "False", "NotReadyForProvisioning", message, generation=generation)
        return msgspec.structs.replace(status, conditions=(*status.conditions, told))
    if isinstance(seen, Unseen):
        reason = COUNTING if seen.pending else seen.reason
        unknown = [
            condition(each, "Unknown", reason, seen.message, generation=generation)
            for each in (PROVISIONED, INFEASIBLE)
        ]
        return msgspec.structs.replace(status, conditions=(*status.conditions, *unknown))
    feasible = _feasibility(seen)[0] != "True"
    active, standby = _tier(status.active, seen.active, feasible), _tier(status.standby, seen.standby, feasible)
    display = status.display or CapacityBufferDisplay()
    return msgspec.structs.replace(
        status,
        ready_replicas=(active.ready_replicas or 0) + (standby.ready_replicas or 0),
        active=active,
        standby=standby,
        nodes=_nodes(seen),
        display=msgspec.structs.replace(
            display,
            active=f"{active.ready_replicas}/{active.replicas}",
            standby=f"{standby.ready_replicas}/{standby.replicas}",
        ),
        conditions=(*status.conditions, _provisioned(seen, generation), _infeasible(seen, generation)),
    )


def _tier(tier: Tier, seen: TierSighting, feasible: bool) -> Tier:
    return msgspec.structs.replace(
        tier,
        ready_replicas=min(seen.ready, tier.replicas),
        consumed=seen.consumed,
        refilling=seen.missing if feasible else 0,
    )


def _provisioned(seen: Sighting, generation: int) -> Condition:
    active, standby = seen.active, seen.standby
    if not active.wanted and not standby.wanted:
        message = "the buffer holds no units"
        return condition(PROVISIONED, "False", "BufferEmpty", message, generation=generation)
    there = listed(_there(seen))
    if not active.missing and not standby.missing:
        return condition(PROVISIONED, "True", "FitsExistingCapacity", f"{there} are there", generation=generation)
    message = "; ".join([f"{there} are there", *_sources(seen)])
    return condition(PROVISIONED, "False", "RequiresNewCapacity", message, generation=generation)


def _there(seen: Sighting) -> Iterator[str]:
    for name, tier in (("active", seen.active), ("standby", seen.standby)):
        if tier.wanted:
            share = "all" if not tier.missing else f"{tier.ready} of"
            yield f"{share} {tier.wanted} {name} units"


def _sources(seen: Sighting) -> Iterator[str]:
    """Say where the missing units come from."""
    refill = seen.refill
    if refill.from_waiting:
        yield f"{refill.from_waiting} active come from standby nodes that are not suspended yet"
    if refill.from_suspended:
        yield f"{refill.from_suspended} active come from suspended nodes, after a resume"
    new = refill.active_from_new + refill.standby_from_new
    if new:
        yield f"{plural(new, 'unit')} need{'s' if new == 1 else ''} room on new nodes"
    if consumed := seen.active.consumed + seen.standby.consumed:
        yield f"pods have taken {consumed} since the buffer was last full"


def _infeasible(seen: Sighting, generation: int) -> Condition:
    status, reason, message = _feasibility(seen)
    return condition(INFEASIBLE, status, reason, message, generation=generation)


def _feasibility(seen: Sighting) -> tuple[ConditionStatus, str, str]:
    """Return status, reason and message of Infeasible: nodes that are there are the best proof, then the autoscaler."""
    outlook = seen.outlook
    if not outlook.read:
        return "Unknown", "NodesNotWatched", "the operator works in some namespaces only, so it does not know the nodes"
    if outlook.feasible and outlook.groups[0].nodes:
        return "False", "NodesFit", _holds(outlook.groups[0])
    nodes = _no_node(seen) if outlook.obstacles else "the cluster has no node to judge by"
    if outlook.remark:
        nodes = f"{nodes}; {outlook.remark}"
    if seen.word is Word.MAKES:
        return "False", "AutoscalerMakesNodes", f"the autoscaler makes nodes for them; {nodes}"
    if seen.word is Word.CANNOT:
        return "True", "AutoscalerFoundNone", f"the autoscaler (Karpenter) finds no node that it could make; {nodes}"
    if outlook.feasible:
        return "False", "NodesFit", f"{_holds(outlook.groups[0])}; {nodes}"
    if seen.word is Word.WAITING or (seen.word is Word.UNTOLD and not seen.waited):
        return "Unknown", "AutoscalerAsked", f"the autoscaler has not made a node for them yet; {nodes}"
    return ("True", "NoNodeFits", nodes) if outlook.known else ("Unknown", "NoNodes", nodes)


def _holds(group: Group) -> str:
    return f"an empty node ({group.name}) holds {plural(group.fit.units, 'unit')}, bound by {group.fit.bound_by}"


def _no_node(seen: Sighting) -> str:
    outlook = seen.outlook
    total = sum(outlook.obstacles.values())
    obstacles = "; ".join(_obstacle(seen, name, count) for name, count in sorted(outlook.obstacles.items()))
    return f"none of {plural(total, 'node')} could hold a unit, even with nothing on it but its daemons: {obstacles}"


def _obstacle(seen: Sighting, name: str, count: int) -> str:
    if name.startswith(_NOT_RESOURCES):
        return f"{count} by {name}"
    binary, requests = is_binary(name), dict(seen.requests)
    asked = canonical(requests.get(name, 0), binary=binary)
    most = canonical(max(seen.outlook.largest.get(name, 0), 0), binary=binary)
    return f"{count} by {name}, of which a unit requests {asked} and the largest has {most}"


def _nodes(seen: Sighting) -> NodesStatus | None:
    groups = seen.outlook.groups
    if not groups:
        return None
    first = next((each for each in groups if each.name == seen.group), groups[0])
    others = [_group(each, seen) for each in groups if each is not first][: _MOST_GROUPS - 1]
    own = _group(first, seen)
    return NodesStatus(
        group=own.name,
        units_per_node=own.units_per_node,
        bound_by=own.bound_by,
        active=own.active,
        standby=own.standby,
        addresses=own.addresses,
        others=tuple(others),
    )


def _group(group: Group, seen: Sighting) -> NodeGroup:
    active = group.nodes_for(seen.active.wanted)
    both = group.nodes_for(seen.active.wanted + seen.standby.wanted)
    return NodeGroup(
        name=group.name,
        units_per_node=group.fit.units,
        bound_by=group.fit.bound_by,
        active=active,
        standby=both - active,
        addresses=group.addresses_for(seen.active.wanted + seen.standby.wanted),
    )
