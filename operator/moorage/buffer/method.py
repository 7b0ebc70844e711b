"""How the units of a buffer are counted other than by the mean: for a promise, for the worst case, from a record.

Each method gives the counts of two windows: pods that come within a resume, and within a cold start.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal

from moorage.buffer.arrivals import Arrivals, BatchSizes
from moorage.buffer.burst import Burst, Ramp, cover
from moorage.buffer.cost import Penalties, Prices, cheapest_split
from moorage.buffer.counts_of_pods import batched
from moorage.buffer.promise import STANDBY_PRICE, Counts, Latencies, Promise, cheapest, percent_text
from moorage.buffer.rate import duration_text, rate_text
from moorage.buffer.recorded import Observed, Pairs
from moorage.buffer.tier import Tiers
from moorage.buffer.windows import Windows, windows


@dataclass(frozen=True, slots=True)
class Attained:
    """So large a part of pods (0 to 1) waits at most `max_wait` seconds."""

    level: float
    max_wait: Fraction

    def keeps(self, promise: Promise) -> bool:
        """Whether that is what was promised, or better, as far as floats can tell."""
        return self.max_wait <= promise.max_wait and self.level >= float(promise.level) - 1e-12


@dataclass(frozen=True, slots=True)
class Quantile:
    """Enough for random arrivals: so many pods wait no longer than promised, or waiting and units together cost least.

    Without penalties the promise decides; with penalties and prices the cost does.
    """

    arrivals: Arrivals
    promise: Promise
    prices: Prices | None = None
    penalties: Penalties | None = None

    name: ClassVar[Literal["Quantile"]] = "Quantile"
    bound_by: ClassVar[str] = "serviceLevel"

    @property
    def max_wait(self) -> Fraction:
        """How long pods may wait."""
        return self.promise.max_wait

    def counts(self, latencies: Latencies, tiers: Tiers) -> Counts:
        """Return the units that are needed."""
        near, far = tiers.windows(latencies, self.promise.max_wait)
        if not far or not self.arrivals.rate:
            return Counts(0, 0)
        if self.penalties is not None and self.prices is not None:
            return _by_cost(self.arrivals, near, far, self.prices, self.penalties)
        return _by_level(self.arrivals, near, far, self.promise.level, _ratio(self.prices))

    def attained(self, counts: Counts, latencies: Latencies, tiers: Tiers) -> Attained | None:
        """Return what so many units are worth: at the worst instant, from full buffers at the start."""
        wait = tiers.wait(latencies, self.promise.max_wait)
        near, far = tiers.windows(latencies, self.promise.max_wait)
        if not far or not self.arrivals.rate:
            return Attained(1.0, wait)
        return Attained(_level(self.arrivals, near, far, counts.active, counts.total), wait)

    def why(self, wait: Fraction) -> str:
        """Say what the numbers are for."""
        if self.penalties is not None and self.prices is not None:
            return f"cost least with {_arrivals_text(self.arrivals)}"
        return f"let {_promise_text(self.promise, wait)} with {_arrivals_text(self.arrivals)}"


@dataclass(frozen=True, slots=True)
class Worst:
    """Enough for whatever comes within an arrival curve."""

    curve: Burst | Ramp
    max_wait: Fraction = Fraction(0)

    name: ClassVar[Literal["Burst"]] = "Burst"
    bound_by: ClassVar[str] = "burst"

    def counts(self, latencies: Latencies, tiers: Tiers) -> Counts:
        """Return the units that are needed."""
        near, far = tiers.windows(latencies, self.max_wait)
        return cover(self.curve, Latencies(near, far))

    def attained(self, counts: Counts, latencies: Latencies, tiers: Tiers) -> Attained | None:
        """Return that no pod waits longer, when that holds; nothing is known of how many do otherwise."""
        needed = self.counts(latencies, tiers)
        enough = counts.active >= needed.active and counts.total >= needed.total
        return Attained(1.0, tiers.wait(latencies, self.max_wait)) if enough else None

    def why(self, wait: Fraction) -> str:
        """Say what the numbers are for."""
        if isinstance(self.curve, Ramp):
            scaler = self.curve.autoscaler
            return f"cover a scale-up from {scaler.replicas} to {scaler.most} as fast as the autoscaler allows"
        return f"cover {self.curve.pods} pods at once and then {rate_text(self.curve.rate)} pods/s"


@dataclass(frozen=True, slots=True)
class Record:
    """Enough for demand as it was recorded, with the windows of the latencies that it was counted for."""

    pairs: Pairs
    promise: Promise | None = None
    """None: no pod of the record waits."""
    max_wait: Fraction = Fraction(0)
    prices: Prices | None = None
    source: str = "the record"

    name: ClassVar[Literal["Observed"]] = "Observed"
    bound_by: ClassVar[str] = "demand"

    def counts(self, latencies: Latencies, tiers: Tiers) -> Counts:
        """Return the units that are needed."""
        observed = Observed(self.pairs)
        if self.promise is None:
            return Counts(*(max((pair[at] for pair in self.pairs.counts), default=0) for at in (0, 1)))
        return cheapest(observed, self.promise.level, standby_price=_ratio(self.prices))

    def attained(self, counts: Counts, latencies: Latencies, tiers: Tiers) -> Attained | None:
        """Return what so many units would have been worth."""
        wait = tiers.wait(latencies, self.max_wait)
        return Attained(Observed(self.pairs).level(counts.active, counts.total), wait) if self.pairs.pods else None

    def why(self, wait: Fraction) -> str:
        """Say what the numbers are for."""
        kept = _promise_text(self.promise, wait) if self.promise is not None else "every pod start without a wait"
        return f"would have let {kept} ({self.pairs.pods} pods in {self.source})"


Method = Quantile | Worst | Record


def _ratio(prices: Prices | None) -> Fraction:
    return prices.ratio if prices is not None else STANDBY_PRICE


def _promise_text(promise: Promise, wait: Fraction) -> str:
    how = f"wait at most {duration_text(wait)}" if wait else "start without a wait"
    return f"{percent_text(promise.level)}% of pods {how}"


def _arrivals_text(arrivals: Arrivals) -> str:
    text = f"{rate_text(arrivals.rate)} pods/s at random"
    if arrivals.batch_mean != 1:
        sizes = "of" if arrivals.batch_sizes is BatchSizes.FIXED else "of on average"
        text += f" in batches {sizes} {rate_text(arrivals.batch_mean)}"
    if arrivals.seen_seconds is not None:
        text += f" (a rate seen for {duration_text(arrivals.seen_seconds)})"
    return text


@lru_cache(maxsize=4096)
def _by_level(arrivals: Arrivals, near: Fraction, far: Fraction, level: Fraction, standby_price: Fraction) -> Counts:
    return cheapest(windows(arrivals, near, far), level, standby_price=standby_price)


@lru_cache(maxsize=4096)
def _by_cost(arrivals: Arrivals, near: Fraction, far: Fraction, prices: Prices, penalties: Penalties) -> Counts:
    return cheapest_split(prices, penalties, batched(arrivals, near), batched(arrivals, far))


@lru_cache(maxsize=4096)
def _level(arrivals: Arrivals, near: Fraction, far: Fraction, active: int, total: int) -> float:
    law: Windows = windows(arrivals, near, far)
    return law.level(active, total)
