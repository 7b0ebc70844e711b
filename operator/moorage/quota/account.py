"""What one quota uses, and who uses it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.quota.counting.devices import MISSING_CLASS, counts_claims_anyway
from moorage.quota.names import IMPLICIT_DEVICE_PREFIX, PODS, counted
from moorage.quota.scopes import Requirement, ScopeFacts, selects
from moorage.quota.usage import ObjectUse

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

    @property
    def asks_for_classes(self) -> bool:
        """Whether a name in it counts the devices of a class."""
        return any(name.startswith(IMPLICIT_DEVICE_PREFIX) for name in self.names)

    def sources(self, of_classes: frozenset[str]) -> dict[str, tuple[str, ...]]:
        """Return, for every name that is counted, the sources that its usage is the sum of.

        `of_classes` are the names of the DeviceClasses that exist (see `counting.devices`).
        """
        missing_too = self.asks_for_classes and counts_claims_anyway(self.names, of_classes)
        found: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            if (each := counted(name)) is not None:
                missing = missing_too and each.source.startswith(IMPLICIT_DEVICE_PREFIX)
                found[name] = (each.source, f"{MISSING_CLASS}{each.source}") if missing else (each.source,)
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
    placeholders: Mapping[str, int] = field(default_factory=dict)
    """The part of `used` that placeholders of buffers use, by the same names; empty when there are none."""
    placeholder_pods: int = 0
    """Those of `pods`."""

    def without_placeholders(self) -> Usage:
        """Return what is used by everything but placeholders."""
        if not self.placeholders:
            return self
        used = {name: amount - self.placeholders.get(name, 0) for name, amount in self.used.items()}
        return Usage(used, self.pods - self.placeholder_pods)


class Account:
    """The running totals of one quota, whole and by workload. Placeholders have a total, and are no workload."""

    def __init__(self, terms: Terms, of_classes: frozenset[str]) -> None:
        self.terms = terms
        self._sources = terms.sources(of_classes)
        self._used: dict[str, int] = {source: 0 for sources in self._sources.values() for source in sources}
        self._held: dict[str, dict[str, int]] = {source: {} for source in self._used}
        """By source and workload; who uses nothing of it is not in it."""
        self._pods = 0
        self._pods_of: dict[str, int] = {}
        self._by_placeholders: dict[str, int] = {}
        self._placeholder_pods = 0

    def counts(self, source: str) -> bool:
        """Whether something is kept under this source."""
        return source in self._used

    def charge(self, use: ObjectUse, holder: str, amounts: Mapping[str, int], sign: int) -> bool:
        """Add or take back one object that a workload holds; tell whether anything changed."""
        if self.terms.requirements and not selects(self.terms.requirements, use.shape.facts):
            return False
        used = self._used
        # Walk the shorter side: a quota may name a hundred resources, an object counts for few.
        if len(amounts) < len(used):
            moved = [(source, sign * amount) for source, amount in amounts.items() if source in used and amount]
        else:
            moved = [(source, sign * amounts[source]) for source in used if amounts.get(source)]
        facts = use.shape.facts
        is_placeholder = isinstance(facts, ScopeFacts) and facts.is_placeholder
        for source, amount in moved:
            used[source] += amount
            if is_placeholder:
                _add(self._by_placeholders, source, amount)
            else:
                _add(self._held[source], holder, amount)
        if PODS in amounts:
            self._pods += sign
            if is_placeholder:
                self._placeholder_pods += sign
            else:
                _add(self._pods_of, holder, sign)
            return True
        return bool(moved)

    def usage(self) -> Usage:
        """Return what is used under every name that is counted."""
        return Usage(
            self._by_name(self._used), self._pods, self._by_name(self._by_placeholders), self._placeholder_pods
        )

    def _by_name(self, by_source: Mapping[str, int]) -> dict[str, int]:
        if not by_source:
            return {}
        return {name: sum(by_source.get(each, 0) for each in sources) for name, sources in self._sources.items()}

    def holders(self, name: str, most: int | None = SHOWN_HOLDERS) -> list[Holder]:
        """Return the workloads that use most of a resource, the largest first; `most` None for all of them."""
        first, *others = (self._held[source] for source in self._sources[name])
        held = sum(map(Counter, others), Counter(first)) if others else first
        largest = heapq.nsmallest(len(held) if most is None else most, held.items(), key=_largest_first)
        return [Holder(workload, used, self._pods_of.get(workload, 0)) for workload, used in largest]


def _add(totals: dict[str, int], key: str, amount: int) -> None:
    if total := totals.get(key, 0) + amount:
        totals[key] = total
    else:
        del totals[key]


def _largest_first(held: tuple[str, int]) -> tuple[int, str]:
    workload, used = held
    return (-used, workload)
