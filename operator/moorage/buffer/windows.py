"""How many pods come in two windows of time, of which the near one is the last part of the far one.

A pod that arrives counts itself, and with batches those of its batch that come before it. The near window is as long as
a resume, the far one as a cold start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import ceil
from operator import mul
from typing import Protocol

from moorage.buffer.arrivals import Arrivals
from moorage.buffer.counts_of_pods import (
    batched,
    binomial_at_most,
    convolved,
    negative_binomial,
    normal,
    place_in_batch,
)

_EXACT_UP_TO = 100_000
"""Pods in the far window up to which counts are exact; above, the normal law takes over (within 0.1% there)."""
_EXACT_UNCERTAIN_UP_TO = 5_000


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
        place = place_in_batch(arrivals)
        far = list(accumulate(convolved(place, batched(arrivals, far_seconds))))
        if not near_seconds:  # the far window decides alone
            return cls([1.0], far, far)
        near = convolved(place, batched(arrivals, near_seconds))
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
            fits = binomial_at_most(near - 1, len(self._far), self._share)
            self._cumulated = (near, list(accumulate(map(mul, self._far, fits))))
        cumulated = self._cumulated[1]
        return cumulated[min(far, len(cumulated)) - 1]

    def least_near(self, level: Fraction) -> int:
        return 1 + _least(list(accumulate(self._near)), level) if self._share else 0

    def least_far(self, level: Fraction) -> int:
        return 1 + _least(list(accumulate(self._far)), level)


class _Normal:
    """Both windows for counts so large that only mean and spread matter.

    The two are not taken to go together, which asks for a little more than is needed (Bonferroni).
    """

    def __init__(self, arrivals: Arrivals, near_seconds: Fraction, far_seconds: Fraction) -> None:
        self._near = normal(arrivals, near_seconds) if near_seconds else None
        self._far = normal(arrivals, far_seconds)

    def level(self, near: int, far: int) -> float:
        missed = 1 - self._far.cdf(far)
        if self._near is not None:
            missed += 1 - self._near.cdf(near)
        return max(0.0, 1 - missed)

    def least_near(self, level: Fraction) -> int:
        return ceil(self._near.inv_cdf(float(level))) if self._near is not None else 0

    def least_far(self, level: Fraction) -> int:
        return ceil(self._far.inv_cdf(float(level)))


def _least(cumulated: Sequence[float], level: Fraction) -> int:
    """Return the first index at which a law reaches a level."""
    wanted = float(level)
    return next((count for count, reached in enumerate(cumulated) if reached >= wanted), len(cumulated) - 1)
