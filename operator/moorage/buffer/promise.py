"""The least buffer that keeps a promise: so large a part of pods waits no longer than so.

A pod at time t waits at most w when there are, itself included, no more pods than active units in (t + w - resume, t]
and no more than units in all in (t + w - cold, t]. So the near and the far window decide, whatever is known of their
counts: laws of random arrivals, an arrival curve, or a recorded trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from moorage.buffer.windows import Windows

STANDBY_PRICE = Fraction(1, 20)
"""What a standby unit costs of an active one when no prices are given."""

_FINEST_PART = 1 << 24
"""Into so many parts a size is divided at most when the cheapest is looked for."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised: `level` (0 to 1) of pods wait at most `max_wait` seconds."""

    level: Fraction
    max_wait: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(
                f"percentile {percent_text(self.level)} cannot be promised: random arrivals have no largest burst, so "
                "give a number above 0 and below 100, such as 99 or 99.9"
            )


@dataclass(frozen=True, slots=True)
class Latencies:
    """How long a resume and a cold start take, in seconds."""

    resume: Fraction
    cold: Fraction

    def windows(self, max_wait: Fraction) -> tuple[Fraction, Fraction]:
        """Return how long the near and the far window are when pods may wait that long; never negative."""
        return max(self.resume - max_wait, Fraction(0)), max(self.cold - max_wait, Fraction(0))


@dataclass(frozen=True, slots=True)
class Counts:
    """Units: how many are active, and how many there are in all."""

    active: int
    total: int

    @property
    def standby(self) -> int:
        """Units that are not active."""
        return self.total - self.active


def cheapest(counts: Windows, level: Fraction, *, standby_price: Fraction = STANDBY_PRICE) -> Counts:
    """Return the cheapest split whose level is reached; `standby_price` is what standby costs of active, 0 to 1.

    As the active part grows the total can only shrink, so each is walked once: by ones, and above some 16 million units
    by parts of them, since millions of steps would keep everything else waiting.
    """
    wanted = float(level)
    active, least_total = counts.least_near(level), counts.least_far(level)
    total, step = max(least_total, active), max(least_total // _FINEST_PART, 1)
    while counts.level(active, total) < wanted and total < 2 * (least_total + active) + 64:
        total += step
    while counts.level(active, total) < wanted:  # only more active units help
        active += step
        total = max(total, active)
    best = Counts(active, total)
    while price(Counts(active, max(least_total, active)), standby_price) < price(best, standby_price):
        while total - step >= max(active, least_total) and counts.level(active, total - step) >= wanted:
            total -= step
        found = Counts(active, max(total, active))
        if (price(found, standby_price), found.total) < (price(best, standby_price), best.total):
            best = found
        active += step
        total = max(total, active)
    return best


def price(counts: Counts, standby_price: Fraction) -> Fraction:
    """Return what units cost, in active ones."""
    return counts.active + standby_price * counts.standby


def percent_text(level: Fraction | float) -> str:
    """Spell a level as a percentage, never rounded up: 99, 99.9, 33.45."""
    hundredths = int(Fraction(level) * 10_000 + Fraction(1, 10**9))
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    return text.rstrip("0").rstrip(".")
