"""What a buffer costs, and the split that costs least when waiting has a price (two newsvendor conditions)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from moorage.buffer.promise import STANDBY_PRICE, Counts

HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per unit and hour, in any currency."""

    active: Fraction
    standby: Fraction

    @property
    def ratio(self) -> Fraction:
        """What standby costs of active, 0 to 1."""
        return min(self.standby / self.active, Fraction(1)) if self.active else STANDBY_PRICE

    def per_hour(self, counts: Counts) -> Fraction:
        """Return what these units cost in an hour."""
        return counts.active * self.active + counts.standby * self.standby

    def per_month(self, counts: Counts) -> Fraction:
        """Return what these units cost in a month of 730 hours."""
        return self.per_hour(counts) * HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class Penalties:
    """What it costs when a pod waits for a resume or for a cold start, and how many hours lie between two spikes."""

    resume: Fraction
    cold: Fraction
    spike_hours: Fraction = Fraction(24)


def cheapest_split(
    prices: Prices, penalties: Penalties, near: Sequence[float], far: Sequence[float] | None = None
) -> Counts:
    """Return the split that costs least over a spike and the time until the next.

    `near` and `far` are the probabilities of 0, 1, ... pods that come within a resume and within a cold start; of a
    spike that is over at once both are the same.
    """
    hours, far = penalties.spike_hours, near if far is None else far
    active = _least_beyond(near, _share((prices.active - prices.standby) * hours, penalties.resume))
    total = _least_beyond(far, _share(prices.standby * hours, penalties.cold - penalties.resume))
    if total < active:  # standby does not pay: one tier, whose last unit saves a cold start
        total = active = _least_beyond(far, _share(prices.active * hours, penalties.cold))
    return Counts(active, total)


def spike_cost(prices: Prices, penalties: Penalties, counts: Counts, demand: Sequence[float]) -> float:
    """Return what one spike and the time until the next cost with so many units."""
    cost = float(prices.per_hour(counts) * penalties.spike_hours)
    for pods, probability in enumerate(demand):
        resumed = min(max(pods - counts.active, 0), counts.standby)
        cold = max(pods - counts.total, 0)
        cost += probability * (resumed * float(penalties.resume) + cold * float(penalties.cold))
    return cost


def _share(price: Fraction, penalty: Fraction) -> Fraction:
    return price / penalty if penalty > 0 else Fraction(1)


def _least_beyond(law: Sequence[float], share: Fraction) -> int:
    """Return the least number of units that is passed no more often than that; none when all may be."""
    if share >= 1:
        return 0
    wanted = 1 - float(share)
    return next((units for units, reached in enumerate(accumulate(law)) if reached >= wanted), len(law) - 1)
