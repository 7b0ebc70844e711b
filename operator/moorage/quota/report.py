"""From `hard` and `used` to what people read: what remains, percentages, one aligned line per resource, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from moorage.quantity import canonical, short
from moorage.quota.names import COUNT_PODS, PODS, display_order, is_binary, short_name

NEAR_PERCENT = 90
"""From this utilization on a quota is near its limit (the threshold of the kubernetes-mixin alerts)."""

_COLUMNS = {
    "cpu": ("requests.cpu", "cpu", "limits.cpu"),
    "memory": ("requests.memory", "memory", "limits.memory"),
    "pods": (PODS, COUNT_PODS),
}


@dataclass(frozen=True, slots=True)
class ResourceLine:
    """One resource of a quota; amounts in nano-units."""

    name: str
    hard: int
    used: int
    buffered: int = 0
    """The part of `used` that is units of buffers, which yield to real pods."""

    @property
    def firm(self) -> ResourceLine:
        """The same without units of buffers: what decides whether a pod is admitted."""
        return replace(self, used=self.used - self.buffered, buffered=0)

    @property
    def remaining(self) -> int:
        """What may still be used; 0 when there is more use than `hard` allows."""
        return max(self.hard - self.used, 0)

    @property
    def exceeded(self) -> bool:
        """Whether more is used than `hard` allows, which happens when objects are older than the quota."""
        return self.used > self.hard

    @property
    def percent(self) -> int:
        """Utilization, rounded so that only a full resource shows 100 and only an unused one 0; at most 1000."""
        if self.hard == 0:
            return 1000 if self.used else 100
        if self.used <= 0:
            return 0
        if self.used > self.hard:
            return min(max(self.used * 100 // self.hard, 101), 1000)
        if self.used == self.hard:
            return 100
        return min(max((self.used * 200 + self.hard) // (2 * self.hard), 1), 99)

    @property
    def percent_text(self) -> str:
        """The utilization as status shows it."""
        return ">=1000%" if self.percent >= 1000 else f"{self.percent}%"

    @property
    def near(self) -> bool:
        """Whether little is left; a `hard` of 0 that nothing uses is a ban, not a shortage."""
        return (self.hard > 0 and self.percent >= NEAR_PERCENT) or self.exceeded

    @property
    def text(self) -> str:
        """Used and hard as a person reads them."""
        return f"{self._short(self.used)} of {self._short(self.hard)}"

    @property
    def by_buffers(self) -> str:
        """The part of buffers as a person reads it; empty when there is none."""
        return f"  {self._short(self.buffered)} by buffers" if self.buffered else ""

    @property
    def column(self) -> str:
        """Used and hard as a printer column shows them."""
        return f"{self._short(self.used)}/{self._short(self.hard)}"

    def canonical(self, amount: int) -> str:
        """Spell an amount of this resource exactly."""
        return canonical(amount, binary=is_binary(self.name))

    def _short(self, amount: int) -> str:
        return short(amount, binary=is_binary(self.name))


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """A quota as its readers see it: its resources in the order of display."""

    lines: tuple[ResourceLine, ...]

    @property
    def hard(self) -> dict[str, str]:
        """Canonical limits by name."""
        return {line.name: line.canonical(line.hard) for line in self.lines}

    @property
    def used(self) -> dict[str, str]:
        """Canonical usage by name."""
        return {line.name: line.canonical(line.used) for line in self.lines}

    @property
    def buffered(self) -> dict[str, str]:
        """Canonical amounts of buffers by name; what they use nothing of is left out."""
        return {line.name: line.canonical(line.buffered) for line in self.lines if line.buffered}

    @property
    def remaining(self) -> dict[str, str]:
        """Canonical remainder by name."""
        return {line.name: line.canonical(line.remaining) for line in self.lines}

    @property
    def utilization(self) -> dict[str, str]:
        """Percentages by name."""
        return {line.name: line.percent_text for line in self.lines}

    @property
    def summary(self) -> list[str]:
        """One line per resource, aligned: name, used `of` hard, percent."""
        texts = [(line.name, *line.text.split(" of "), line.percent_text) for line in self.lines]
        widths = [max((len(row[column]) for row in texts), default=0) for column in range(4)]
        return [
            f"{name:<{widths[0]}}  {used:>{widths[1]}} of {hard:<{widths[2]}}  {percent:>{widths[3]}}{line.by_buffers}"
            for line, (name, used, hard, percent) in zip(self.lines, texts, strict=True)
        ]

    @property
    def display(self) -> dict[str, str]:
        """Texts for the printer columns; what `hard` does not name is left out."""
        by_name = {line.name: line for line in self.lines}
        columns = {}
        for column, names in _COLUMNS.items():
            for name in names:
                if name in by_name:
                    columns[column] = by_name[name].column
                    break
        fullest = self.fullest
        if fullest is not None:
            columns["fullest"] = f"{short_name(fullest.name)} {fullest.percent_text}"
        return columns

    @property
    def fullest(self) -> ResourceLine | None:
        """The resource that will run out first, by exact share; a ban (`hard` 0, nothing used) does not count."""
        candidates = [line for line in self.lines if line.hard or line.used]
        return max(candidates, key=_share, default=None)

    @property
    def near(self) -> list[ResourceLine]:
        """The resources of which real pods leave little; units of buffers yield, so they do not count."""
        return [line.firm for line in self.lines if line.firm.near]

    @property
    def exceeded(self) -> list[ResourceLine]:
        """The resources of which more is used than allowed, without buffers."""
        return [line.firm for line in self.lines if line.firm.exceeded]


def _share(line: ResourceLine) -> tuple[bool, Fraction]:
    """How full a resource is; one that is used although nothing of it is allowed is fuller than any other."""
    return (line.hard == 0, Fraction(line.used, line.hard or 1))


def report(
    hard: Mapping[str, int], used: Mapping[str, int], buffered: Mapping[str, int] = MappingProxyType({})
) -> QuotaReport:
    """Compare limits with usage, all in nano-units; only what is counted (a key of `used`) is reported.

    `buffered` is what units of buffers use beside what is in `used`.
    """
    names = sorted((name for name in hard if name in used), key=display_order)
    return QuotaReport(
        tuple(ResourceLine(name, hard[name], used[name] + (more := buffered.get(name, 0)), more) for name in names)
    )
