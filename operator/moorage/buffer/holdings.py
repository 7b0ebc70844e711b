"""What buffers hold of the quotas of their namespace: their units count as if they ran, whatever makes them.

A unit that is a placeholder is counted here too, and the pod that keeps its place is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from moorage.quota.names import counted
from moorage.quota.scopes import Requirement, ScopeFacts, selects


@dataclass(frozen=True, slots=True)
class Holding:
    """The units of one buffer."""

    buffer: str
    units: int
    unit: Mapping[str, int]
    """What one of them counts for, in nano-units by source name (see `quota.names`)."""
    facts: ScopeFacts

    def by_name(self, names: Iterable[str], requirements: Iterable[Requirement]) -> dict[str, int]:
        """Return what these units take of a quota with such names and scopes, without names of which they take none."""
        if not self.units or not selects(requirements, self.facts):
            return {}
        found = {name: self.units * self.unit.get(what.source, 0) for name in names if (what := counted(name))}
        return {name: amount for name, amount in found.items() if amount}


def held(holdings: Iterable[Holding], names: Iterable[str], requirements: Iterable[Requirement]) -> dict[str, int]:
    """Return what buffers together take of a quota, in nano-units by name."""
    total: Counter[str] = Counter()
    wanted, scopes = tuple(names), tuple(requirements)
    for each in holdings:
        total.update(each.by_name(wanted, scopes))
    return dict(total)


def held_by_source(holdings: Iterable[Holding], requirements: Iterable[Requirement]) -> dict[str, int]:
    """Return the same by source name, of all that units count for."""
    total: Counter[str] = Counter()
    scopes = tuple(requirements)
    for each in holdings:
        if selects(scopes, each.facts):
            total.update({source: each.units * amount for source, amount in each.unit.items()})
    return {source: amount for source, amount in total.items() if amount}
