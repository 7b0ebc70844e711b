"""What of a buffer is really there: which units pods can take, in which order, and what fills them up again.

A pod that arrives takes room in this order: an active unit, a standby unit whose node is not suspended yet, one whose
node is, a node that has to be made. The buffer fills up the other way: active units from standby ones, in the same
order, and standby units from new nodes alone. A node that was taken out of standby does not go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Units = Mapping[str, int]
"""How many units there are, by node; nodes without any are left out."""


@dataclass(frozen=True, slots=True)
class Found:
    """Units of one buffer that have room now."""

    running: Units
    standby: Units
    """On standby nodes that are not suspended yet: pods start on them at once."""
    suspended: Units


@dataclass(frozen=True, slots=True)
class Present:
    """The units of both tiers that are there."""

    active: Units
    standby: Units
    suspended: int
    """How many of the standby units wait for a resume; the others would be taken at once."""


def most_wanted(active: int, standby: int, *, running: int = 0, waiting: int = 0) -> int:
    """Return how many units to look for in the next place, when so many were found running, then on waiting standby.

    Standby nodes stand in for active units that are missing; no more than both tiers together are looked for.
    """
    return max(active - running, 0) + standby - waiting


def share(found: Found, active: int) -> Present:
    """Give the active tier its units: from running nodes, then from standby nodes that are not suspended yet."""
    taken, left = _split(found.standby, active - sum(found.running.values()))
    return Present(
        active=_merged(found.running, taken),
        standby=_merged(left, found.suspended),
        suspended=sum(found.suspended.values()),
    )


@dataclass(frozen=True, slots=True)
class Use:
    """Where pods that arrive at once find room."""

    active: int
    waiting: int
    """On standby nodes that are not suspended yet."""
    resumed: int
    """On suspended nodes, after a resume."""
    new: int
    """On nodes that have to be made."""


def use(present: Present, pods: int) -> Use:
    """Return where so many pods of the unit's shape go when they arrive at once."""
    active = min(pods, sum(present.active.values()))
    waiting = min(pods - active, sum(present.standby.values()) - present.suspended)
    resumed = min(pods - active - waiting, present.suspended)
    return Use(active, waiting, resumed, pods - active - waiting - resumed)


@dataclass(frozen=True, slots=True)
class Refill:
    """What has to happen until both tiers are full, in units."""

    from_waiting: int
    """Active units that standby nodes give which are not suspended yet."""
    from_suspended: int
    """Active units that suspended nodes give, after a resume."""
    active_from_new: int
    standby_from_new: int

    @property
    def resumed(self) -> int:
        """Units that standby loses to the active tier."""
        return self.from_waiting + self.from_suspended


def refill(present: Present, active: int, standby: int) -> Refill:
    """Return how a buffer of this size is filled up: active from standby, standby from new nodes."""
    missing = max(active - sum(present.active.values()), 0)
    there = sum(present.standby.values())
    from_waiting = min(missing, there - present.suspended)
    from_suspended = min(missing - from_waiting, present.suspended)
    resumed = from_waiting + from_suspended
    return Refill(
        from_waiting,
        from_suspended,
        active_from_new=missing - resumed,
        standby_from_new=max(standby - (there - resumed), 0),
    )


@dataclass(frozen=True, slots=True)
class TierRecord:
    """One tier over time."""

    wanted: int
    units: Units
    arrivals: Mapping[str, int]
    """Of the nodes with units: how many pods had ever come to take room."""
    consumed: int = 0
    """Units whose room pods have taken since the tier was last full."""
    taken: int = 0
    """Those of them, and of units that were refilled meanwhile, that were taken since the record before."""
    pushed_out: Units = field(default_factory=dict)
    """Placeholders that are gone from nodes on which no pod has come in their place yet."""

    @property
    def ready(self) -> int:
        """Units that are there."""
        return sum(self.units.values())

    @property
    def full(self) -> bool:
        """Whether no unit is missing."""
        return self.ready >= self.wanted


def begin(wanted: int, units: Units, arrivals: Mapping[str, int], *, consumed: int) -> TierRecord:
    """Return the first record of a tier; `consumed` is what was known before, by an operator that was restarted."""
    record = TierRecord(wanted, units, _of(units, arrivals))
    return record if record.full else TierRecord(wanted, units, record.arrivals, consumed)


def observe(
    before: TierRecord, wanted: int, units: Units, arrivals: Mapping[str, int], *, placeholders: bool = False
) -> TierRecord:
    """Return the next record of a tier.

    `arrivals` is, for every node that is there, how many pods have ever come to take room on it. A unit is consumed
    when it is gone from a node to which pods have come since; what goes with its node, or is claimed by another buffer,
    is missing but not consumed. Nor is anything when a full tier stays full: pods took room beyond the buffer.

    `placeholders` tells that units are pods: these go a moment before the pod comes that pushed them out, and there
    is no room beyond the buffer.
    """
    held = _merged(before.units, before.pushed_out if placeholders else {})
    gone = {node: count - units.get(node, 0) for node, count in held.items() if count > units.get(node, 0)}
    come = {node for node, count in arrivals.items() if count > before.arrivals.get(node, 0)}
    taken = sum(count for node, count in gone.items() if node in come)
    if before.full and not placeholders:
        # Units that appear elsewhere at once are room that was there beyond the buffer, not a refill.
        taken -= sum(max(count - before.units.get(node, 0), 0) for node, count in units.items())
    taken, full = max(taken, 0), sum(units.values()) >= wanted
    waiting = {node: count for node, count in gone.items() if node in arrivals and node not in come}
    pushed_out = waiting if placeholders and not full else {}
    return TierRecord(
        wanted,
        units,
        _of({**units, **pushed_out}, arrivals),
        0 if full else before.consumed + taken,
        taken,
        pushed_out,
    )


def _of(units: Units, arrivals: Mapping[str, int]) -> dict[str, int]:
    return {node: arrivals.get(node, 0) for node in units}


def _split(units: Units, wanted: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return up to `wanted` of these units, and the others."""
    taken: dict[str, int] = {}
    left: dict[str, int] = {}
    for node, count in units.items():
        part = min(count, max(wanted, 0))
        wanted -= part
        if part:
            taken[node] = part
        if count - part:
            left[node] = count - part
    return taken, left


def _merged(first: Units, second: Units) -> dict[str, int]:
    return {node: first.get(node, 0) + second.get(node, 0) for node in {**first, **second}}
