"""How many pods come in a window of time, when they come at random: Poisson arrivals, in batches, or at a rate that was
only seen for a while.

A pod that arrives counts itself, and with batches those of its batch that come before it. Windows nest: the near one
(as long as a resume) is the last part of the far one (as long as a cold start). Formulas: Feeney & Sherbrooke 1966 for
batches (compound Poisson), the Jeffreys prior for a rate of which so many pods in so many seconds are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate
from math import ceil, exp, lgamma, log, log1p, sqrt
from operator import mul
from statistics import NormalDist
from typing import Protocol

_SIGMAS = 12
"""A law is cut this many standard deviations above its mean: what is left out is below 1e-25."""
_EXACT_UP_TO = 100_000
"""Pods in the far window up to which counts are exact; above, the normal law takes over (within 0.1% there)."""
_EXACT_UNCERTAIN_UP_TO = 5_000


class BatchSizes(StrEnum):
    """How the sizes of batches vary."""

    GEOMETRIC = "Geometric"
    FIXED = "Fixed"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Pods that come at random, at so many per second; `batch_mean` is how many come at the same instant on average.

    `seen_seconds` tells that the rate is an estimate from that long; None: that it is known.
    """

    rate: Fraction
    batch_mean: Fraction = Fraction(1)
    batch_sizes: BatchSizes = BatchSizes.GEOMETRIC
    seen_seconds: Fraction | None = None

    @property
    def variance_to_mean(self) -> Fraction:
        """Variance of the number of pods in a window, divided by its mean; of a known rate."""
        return self.batch_mean if self.batch_sizes is BatchSizes.FIXED else 2 * self.batch_mean - 1


def batch_mean_of(variance_to_mean: Fraction) -> Fraction:
    """Return the mean of geometric batches that scatter like this; less scatter than Poisson's counts as that."""
    return max((variance_to_mean + 1) / 2, Fraction(1))


class Windows(Protocol):
    """What is known of the number of pods in both windows, as a pod sees it that arrives and counts itself."""

    def level(self, near: int, far: int) -> float:
        """Return the part of pods that find at most `near` in the near window and at most `far` in the far one."""

    def least_near(self, level: Fraction) -> int:
        """Return the least count that so large a part of pods finds at most in the near window."""

    def least_far(self, level: Fraction) -> int:
        """Return the same of the far window."""


def windows(arrivals: Arrivals, near_seconds: Fraction, far_seconds: Fraction) -> Windows:
    """Return the law of both windows; the near one is empty when it has no length.

    Batches and an estimated rate do not go together.
    """
    near_seconds = max(near_seconds, Fraction(0))
    mean = arrivals.rate * far_seconds
    if arrivals.seen_seconds is not None:
        if mean <= _EXACT_UNCERTAIN_UP_TO:
            return _Uncertain(arrivals, near_seconds, far_seconds)
    elif mean * arrivals.variance_to_mean <= _EXACT_UP_TO:
        return _Independent.of(arrivals, near_seconds, far_seconds)
    return _Normal(arrivals, near_seconds, far_seconds)


@dataclass(frozen=True, slots=True)
class _Independent:
    """Both windows when counts of disjoint times are independent."""

    near: Sequence[float]
    """Probability of 0, 1, ... pods in the near window, the arriving one included."""
    rest: Sequence[float] = field(repr=False)
    """Probability of at most 0, 1, ... pods in the part of the far window before the near one."""
    far: Sequence[float] = field(repr=False)
    """Probability of at most 0, 1, ... in the far window."""

    @classmethod
    def of(cls, arrivals: Arrivals, near_seconds: Fraction, far_seconds: Fraction) -> _Independent:
        place = _place_in_batch(arrivals)
        far = list(accumulate(_convolved(place, batched(arrivals, far_seconds))))
        if not near_seconds:  # the far window decides alone
            return cls([1.0], far, far)
        near = _convolved(place, batched(arrivals, near_seconds))
        return cls(near, list(accumulate(batched(arrivals, far_seconds - near_seconds))), far)

    def level(self, near: int, far: int) -> float:
        most, top = min(near, far, len(self.near) - 1), len(self.rest) - 1
        full = min(far - top, most + 1)  # up to here the rest is certain to leave enough
        whole = sum(self.near[: max(full, 0)])
        first = max(full, 0)
        if first > most:
            return whole
        part = self.rest[far - most : far - first + 1]
        return whole + float(sum(map(mul, self.near[first : most + 1], reversed(part))))

    def least_near(self, level: Fraction) -> int:
        return _least(list(accumulate(self.near)), level)

    def least_far(self, level: Fraction) -> int:
        return _least(self.far, level)


def batched(arrivals: Arrivals, seconds: Fraction) -> list[float]:
    """Return the probabilities of 0, 1, ... pods in a window, seen from outside."""
    mean = float(arrivals.rate * seconds)
    events = mean / float(arrivals.batch_mean)
    if arrivals.batch_mean == 1:
        return poisson(mean)
    if arrivals.batch_sizes is BatchSizes.FIXED:
        size = int(arrivals.batch_mean)
        spread = [0.0] * (size * len(batches := poisson(events)))
        spread[::size] = batches
        return spread
    return _geometric_batches(events, 1 - 1 / float(arrivals.batch_mean), mean, float(arrivals.variance_to_mean))


def poisson(mean: float) -> list[float]:
    """Return the probabilities of 0, 1, 2, ... up to where they vanish."""
    if mean == 0:
        return [1.0]
    logarithm = log(mean)
    return [exp(n * logarithm - mean - lgamma(n + 1)) for n in range(_top(mean, mean) + 1)]


def _geometric_batches(events: float, more: float, mean: float, spread: float) -> list[float]:
    """Return the law of geometric batches by Panjer's recursion; `more` is the probability of one more in a batch.

    It starts from 1 instead of exp(-events), which may be below any float, and is scaled at the end.
    """
    values, first, second = [1.0], 0.0, 0.0
    for n in range(1, _top(mean, mean * spread) + 1):
        first = values[-1] + more * first
        second = first + more * second
        values.append(events * (1 - more) * second / n)
        if values[-1] > 1e250:
            values = [value * 1e-250 for value in values]
            first, second = first * 1e-250, second * 1e-250
    total = sum(values)
    return [value / total for value in values]


def _place_in_batch(arrivals: Arrivals) -> list[float]:
    """Return the probabilities that a pod is the 0th (never), 1st, 2nd ... of its batch."""
    mean = float(arrivals.batch_mean)
    if arrivals.batch_sizes is BatchSizes.FIXED:
        size = int(arrivals.batch_mean)
        return [0.0] + [1 / size] * size
    if mean == 1:
        return [0.0, 1.0]
    more = 1 - 1 / mean
    return [0.0] + [(1 - more) * more**n for n in range(ceil(60 / -log(more)))]


def _convolved(short: Sequence[float], long: Sequence[float]) -> list[float]:
    """Return the law of a sum; quick when one law is short, or has few values that are not zero."""
    if short == [0.0, 1.0]:
        return [0.0, *long]
    if len(short) > len(long):
        short, long = long, short
    backwards = [*([0.0] * (len(short) - 1)), *long, *([0.0] * (len(short) - 1))]
    kernel = list(reversed(short))
    return [sum(map(mul, kernel, backwards[at : at + len(kernel)])) for at in range(len(long) + len(short) - 1)]


class _Uncertain:
    """Both windows at a rate of which only so many pods in so many seconds are known (Gamma-Poisson).

    Given the count of the far window, that of the near one within it is binomial, whatever the rate.
    """

    def __init__(self, arrivals: Arrivals, near_seconds: Fraction, far_seconds: Fraction) -> None:
        seconds = arrivals.seen_seconds
        assert seconds is not None
        self._shape = float(arrivals.rate * seconds) + 0.5
        self._share = float(near_seconds / far_seconds)
        self._near = negative_binomial(self._shape, float(seconds / (seconds + near_seconds)))
        self._far = negative_binomial(self._shape, float(seconds / (seconds + far_seconds)))
        self._cumulated: tuple[int, list[float]] = (-1, [])

    def level(self, near: int, far: int) -> float:
        if not self._share:
            near = far
        if near <= 0 or far <= 0:
            return 0.0
        if self._cumulated[0] != near:
            fits = _binomial_at_most(near - 1, len(self._far), self._share)
            self._cumulated = (near, list(accumulate(map(mul, self._far, fits))))
        cumulated = self._cumulated[1]
        return cumulated[min(far, len(cumulated)) - 1]

    def least_near(self, level: Fraction) -> int:
        return 1 + _least(list(accumulate(self._near)), level) if self._share else 0

    def least_far(self, level: Fraction) -> int:
        return 1 + _least(list(accumulate(self._far)), level)


def negative_binomial(shape: float, success: float) -> list[float]:
    """Return the probabilities of 0, 1, 2, ... failures before so many successes."""
    if success == 1:
        return [1.0]
    mean = shape * (1 - success) / success
    base, step = shape * log(success) - lgamma(shape), log1p(-success)
    return [
        exp(lgamma(shape + n) - lgamma(n + 1) + base + n * step)
        for n in range(_top(mean, mean / success, tail=-step) + 1)
    ]


def _binomial_at_most(most: int, trials: int, share: float) -> list[float]:
    """Return the probabilities of at most `most` successes in 0, 1, ... (up to `trials`) trials."""
    if share <= 0:
        return [1.0] * trials
    if share >= 1:
        return [1.0 if n <= most else 0.0 for n in range(trials)]
    here, result = 1.0, []
    constant, fail = most * log(share) - lgamma(most + 1), log1p(-share)
    for n in range(trials):
        result.append(max(here, 0.0))
        if n >= most:  # one more trial goes beyond when it succeeds after exactly `most` successes
            here -= share * exp(lgamma(n + 1) - lgamma(n - most + 1) + constant + (n - most) * fail)
    return result


class _Normal:
    """Both windows for counts so large that only mean and spread matter.

    The two are not taken to go together, which asks for a little more than is needed (Bonferroni).
    """

    def __init__(self, arrivals: Arrivals, near_seconds: Fraction, far_seconds: Fraction) -> None:
        self._near = _normal(arrivals, near_seconds) if near_seconds else None
        self._far = _normal(arrivals, far_seconds)

    def level(self, near: int, far: int) -> float:
        missed = 1 - self._far.cdf(far)
        if self._near is not None:
            missed += 1 - self._near.cdf(near)
        return max(0.0, 1 - missed)

    def least_near(self, level: Fraction) -> int:
        return ceil(self._near.inv_cdf(float(level))) if self._near is not None else 0

    def least_far(self, level: Fraction) -> int:
        return ceil(self._far.inv_cdf(float(level)))


def _normal(arrivals: Arrivals, seconds: Fraction) -> NormalDist:
    mean = float(arrivals.rate * seconds)
    variance = mean * float(arrivals.variance_to_mean)
    if arrivals.seen_seconds is not None:
        variance += mean * mean / (float(arrivals.rate * arrivals.seen_seconds) + 0.5)
    return NormalDist(mean + float((arrivals.variance_to_mean + 1) / 2), max(sqrt(variance), 1e-9))


def _top(mean: float, variance: float, *, tail: float = 0.0) -> int:
    """Return where a law may be cut; `tail` is how fast it falls per count at last, where that is slow."""
    spread = variance / mean if mean else 1.0
    return ceil(mean + _SIGMAS * sqrt(variance) + (60 / tail if tail else 0) + 60 * spread)


def _least(cumulated: Sequence[float], level: Fraction) -> int:
    """Return the first index at which a law reaches a level."""
    wanted = float(level)
    return next((count for count, reached in enumerate(cumulated) if reached >= wanted), len(cumulated) - 1)
