"""How many units of each buffer the quotas of its namespace leave room for.

A unit counts as if it ran, whatever the tier: a pod that takes its place must be admitted. Buffers are served one after
the other, the highest priority first, then the oldest, then by name; each gets what the pods and the buffers before it
leave in every quota whose scopes select its units. Upstream's rule (`pkg/capacitybuffer/controller/resourcequotas.go`
of Cluster Autoscaler) with two differences: all names that count for a pod are looked at, `pods` and limits included,
and there is a priority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from moorage.quota.names import counted
from moorage.quota.scopes import Requirement, ScopeFacts, selects
from moorage.quota.usage import ObjectUse

NAMED = 8
"""How many of the buffers that were served before are named."""


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota as buffers meet it; amounts in nano-units, by the names in its `hard`."""

    label: str
    """What people call it, such as `ResourceQuota compute`."""
    hard: Mapping[str, int]
    used: Mapping[str, int]
    """What is used without any units of buffers; a name that is missing is not used."""
    requirements: frozenset[Requirement] = frozenset()


@dataclass(frozen=True, slots=True)
class Asking:
    """A buffer that asks for room."""

    name: str
    units: int
    unit: Mapping[str, int]
    """What one unit counts for in quotas, in nano-units by source name (see `quota.names`)."""
    facts: ScopeFacts
    priority: int = 0
    created: str = ""
    """When the buffer was created, as Kubernetes writes it; such texts sort by age."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """A limit that leaves fewer units than a buffer asks for; amounts in nano-units."""

    quota: str
    resource: str
    hard: int
    used: int
    """By everything but buffers."""
    taken: tuple[tuple[str, int], ...]
    """By the buffers that were served before, those first that were: their names and amounts, of a few of them."""
    units: int
    """How many units it leaves."""
    others: int = 0
    """How many buffers more were served before, which are not named: each of hundreds naming all is no help."""
    taken_by_others: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """What one buffer got."""

    asked: int
    units: int
    shortages: tuple[Shortage, ...] = ()
    """All limits that leave less than was asked for, the tightest first; none: the buffer got all."""


@dataclass(slots=True)
class _Limit:
    """One name of one quota while it is shared out."""

    quota: Quota
    resource: str
    source: str
    taken: int = 0
    """By all buffers so far, as a running sum: there may be hundreds."""
    takers: int = 0
    named: list[tuple[str, int]] = field(default_factory=list)
    """The first of those that took something, and how much."""

    def left(self) -> int:
        """Return the nano-units that are left, 0 when the quota is exceeded."""
        room = self.quota.hard[self.resource] - self.quota.used.get(self.resource, 0)
        return max(room - self.taken, 0)

    def take(self, name: str, amount: int) -> None:
        """Note what a buffer takes."""
        self.taken += amount
        self.takers += 1
        if len(self.named) < NAMED:
            self.named.append((name, amount))


def without_placeholders(quota: Quota, placeholders: Iterable[ObjectUse]) -> Quota:
    """Return a quota without what placeholder pods use of it: they hold the room of units, and these are counted."""
    held: Counter[str] = Counter()
    for each in placeholders:
        if selects(quota.requirements, each.shape.facts):
            held.update(each.shape.amounts)
    used = {
        name: amount - held[what.source] if (what := counted(name)) is not None else amount
        for name, amount in quota.used.items()
    }
    return replace(quota, used={name: max(amount, 0) for name, amount in used.items()})


def share_out(quotas: Iterable[Quota], buffers: Iterable[Asking]) -> dict[str, Share]:
    """Return what each buffer of a namespace gets, by its name."""
    limits = [
        _Limit(quota, resource, what.source)
        for quota in quotas
        for resource in quota.hard
        if (what := counted(resource)) is not None
    ]
    return {each.name: _serve(each, limits) for each in sorted(buffers, key=_order)}


def _order(asking: Asking) -> tuple[int, str, str]:
    return -asking.priority, asking.created, asking.name


def _serve(asking: Asking, limits: list[_Limit]) -> Share:
    """Give one buffer what is left, and note in the limits what it takes."""
    concerned = [
        limit
        for limit in limits
        if asking.unit.get(limit.source, 0) > 0 and selects(limit.quota.requirements, asking.facts)
    ]
    shortages = sorted(_shortages(asking, concerned), key=lambda each: each.units)
    units = shortages[0].units if shortages else asking.units
    for limit in concerned:
        if units:
            limit.take(asking.name, units * asking.unit[limit.source])
    return Share(asking.units, units, tuple(shortages))


def _shortages(asking: Asking, limits: list[_Limit]) -> Iterator[Shortage]:
    for limit in limits:
        units = limit.left() // asking.unit[limit.source]
        if units < asking.units:
            yield Shortage(
                quota=limit.quota.label,
                resource=limit.resource,
                hard=limit.quota.hard[limit.resource],
                used=limit.quota.used.get(limit.resource, 0),
                taken=tuple(limit.named),
                units=units,
                others=limit.takers - len(limit.named),
                taken_by_others=limit.taken - sum(amount for _, amount in limit.named),
            )
