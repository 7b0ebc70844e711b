"""What one quota uses, and who uses it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.quota.counting.devices import MISSING_CLASS
from moorage.quota.names import COUNT, DEVICE_CLAIMS, DEVICE_CLASS_SUFFIX, IMPLICIT_DEVICE_PREFIX, PODS, counted
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import Facts, ObjectUse

SHOWN_HOLDERS = 5


@dataclass(frozen=True, slots=True)
class Terms:
    """What a quota counts: the names in its `hard`, and the scopes that an object must match."""

    names: frozenset[str]
    requirements: tuple[Requirement, ...] = ()

    @property
    def resources(self) -> frozenset[str]:
        """The resources whose objects it counts, such as `pods` and `secrets`."""
        found = (counted(name) for name in self.names)
        return frozenset(resource for each in found if each is not None for resource in each.resources)

    def sources(self) -> dict[str, tuple[str, ...]]:
        """Return, for every name that is counted, the sources that its usage is the sum of."""
        found = {name: (each.source,) for name in self.names if (each := counted(name)) is not None}
        if any(name == f"{COUNT}{DEVICE_CLAIMS}" or name.endswith(DEVICE_CLASS_SUFFIX) for name in self.names):
            # A quirk of the native controller: see `counting.devices.MISSING_CLASS`.
            for name, (source,) in found.items():
                if source.startswith(IMPLICIT_DEVICE_PREFIX):
                    found[name] = (source, f"{MISSING_CLASS}{source}")
        return found


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload and what it uses of one resource, in nano-units."""

    workload: str
    used: int
    pods: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What one quota uses now: amounts in nano-units for every name that is counted, and the pods behind them."""

    used: Mapping[str, int]
    pods: int


@dataclass(slots=True)
class _Held:
    amounts: dict[str, int] = field(default_factory=dict)
    pods: int = 0
    objects: int = 0


class Account:
    """The running totals of one quota, whole and by workload."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._sources = terms.sources()
        self._used: dict[str, int] = {source: 0 for sources in self._sources.values() for source in sources}
        self._pods = 0
        self._held: dict[str, _Held] = {}

    def counts(self, source: str) -> bool:
        """Whether something is kept under this source."""
        return source in self._used

    def charge(self, use: ObjectUse, amounts: Mapping[str, int], sign: int) -> bool:
        """Add or take back one object; tell whether anything changed."""
        if self.terms.requirements and not self._selects(use.shape.facts):
            return False
        used = self._used
        # Walk the shorter side: a quota may name a hundred resources, an object counts for few.
        if len(amounts) < len(used):
            moved = [(source, sign * amount) for source, amount in amounts.items() if source in used and amount]
        else:
            moved = [(source, sign * amounts[source]) for source in used if amounts.get(source)]
        is_pod = PODS in amounts
        if not moved and not is_pod:
            return False
        held = self._held.get(use.holder)
        if held is None:
            held = self._held[use.holder] = _Held()
        for source, amount in moved:
            used[source] += amount
            held.amounts[source] = held.amounts.get(source, 0) + amount
        held.objects += sign
        if is_pod:
            self._pods += sign
            held.pods += sign
        if not held.objects:
            del self._held[use.holder]
        return True

    def usage(self) -> Usage:
        """Return what is used under every name that is counted."""
        return Usage({name: _sum(self._used, sources) for name, sources in self._sources.items()}, self._pods)

    def holders(self, name: str, most: int | None = SHOWN_HOLDERS) -> list[Holder]:
        """Return the workloads that use most of a resource, the largest first; `most` None for all of them."""
        sources = self._sources[name]
        found = (
            Holder(workload, amount, held.pods)
            for workload, held in self._held.items()
            if (amount := _sum(held.amounts, sources))
        )
        if most is None:
            return sorted(found, key=_largest_first)
        return heapq.nsmallest(most, found, key=_largest_first)

    def _selects(self, facts: Facts) -> bool:
        return selects(self.terms.requirements, facts)


def _sum(amounts: Mapping[str, int], sources: tuple[str, ...]) -> int:
    return sum(amounts.get(source, 0) for source in sources)


def _largest_first(holder: Holder) -> tuple[int, str]:
    return (-holder.used, holder.workload)
