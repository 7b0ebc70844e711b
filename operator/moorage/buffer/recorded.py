"""Recorded demand: how many pods came within the window before each pod, the pod included.

Times are even numbers of nanoseconds, so that windows begin and end exactly; they are open at the start and closed at
the end. Of a trace these counts are all that decides: with as many units as the largest of them no pod waits, and with
one less in all one does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

NANOSECONDS = 10**9


def nanoseconds(seconds: Fraction | float) -> int:
    """Return a time in nanoseconds, as an even number: the simulator uses the last bit."""
    return 2 * round(seconds * (NANOSECONDS // 2))


def window_counts(times: Sequence[int], window: int) -> list[int]:
    """Return, for each of the sorted times, how many there are in the window that ends with it.

    Of pods that come at the same time each sees those before it.
    """
    counts, first = [], 0
    for at, time in enumerate(times):
        begin = time - window
        while first <= at and times[first] <= begin:
            first += 1
        counts.append(at + 1 - first)
    return counts


@dataclass(frozen=True, slots=True)
class Pairs:
    """How often pods found so many in the near and so many in the far window."""

    counts: Mapping[tuple[int, int], int]

    @property
    def pods(self) -> int:
        """How many pods were counted."""
        return sum(self.counts.values())


def pairs(times: Sequence[int], near: int, far: int) -> Pairs:
    """Count the pairs of a sorted trace; windows in nanoseconds."""
    return Pairs(Counter(zip(window_counts(times, near), window_counts(times, far), strict=True)))


class Observed:
    """The windows of recorded demand, for `cheapest`; quick when the near counts asked for grow, as they do there."""

    def __init__(self, recorded: Pairs) -> None:
        self._by_near = sorted(recorded.counts.items())
        self._pods = recorded.pods
        self._most_far = max((far for _, far in recorded.counts), default=0)
        self._near, self._next = -1, 0
        self._tree: list[int] = []
        self._begin()

    def level(self, near: int, far: int) -> float:
        """Return the part of pods that found at most so many."""
        if not self._pods:
            return 1.0
        if near < self._near:
            self._begin()
        self._near = near
        while self._next < len(self._by_near) and self._by_near[self._next][0][0] <= near:
            (_, count_far), pods = self._by_near[self._next]
            self._next += 1
            self._add(count_far, pods)
        return self._at_most(min(far, self._most_far)) / self._pods

    def least_near(self, level: Fraction) -> int:
        """Return the least count that so large a part of pods found at most in the near window."""
        return _least(((near, pods) for (near, _), pods in self._by_near), ceil(level * self._pods))

    def least_far(self, level: Fraction) -> int:
        """Return the same of the far window."""
        return _least(((far, pods) for (_, far), pods in self._by_near), ceil(level * self._pods))

    def _begin(self) -> None:
        self._near, self._next = -1, 0
        self._tree = [0] * (self._most_far + 1)

    def _add(self, far: int, pods: int) -> None:
        while far <= self._most_far:
            self._tree[far] += pods
            far += far & -far

    def _at_most(self, far: int) -> int:
        total = 0
        while far > 0:
            total += self._tree[far]
            far -= far & -far
        return total


def _least(counted: Iterable[tuple[int, int]], wanted: int) -> int:
    """Return the least count that so many pods find at most."""
    reached = 0
    for count, pods in sorted(counted):
        reached += pods
        if reached >= wanted:
            return count
    return 0
