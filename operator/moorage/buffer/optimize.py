"""The cheapest size that keeps waits within targets, for demand as it is, by simulation.

The counts of the two windows give a size that keeps them surely; the simulation then finds what is not needed, since a
node that was ordered early may cover for an active unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from moorage.buffer.promise import STANDBY_PRICE, Counts, cheapest, price
from moorage.buffer.recorded import NANOSECONDS, Observed, pairs
from moorage.buffer.report import share_within
from moorage.buffer.simulate import Path


@dataclass(frozen=True, slots=True)
class Target:
    """So large a part of pods (0 to 1) waits at most so many seconds."""

    level: Fraction
    seconds: Fraction

    def met(self, path: Path) -> bool:
        """Whether a path keeps it."""
        return share_within(path, float(self.seconds)) >= float(self.level) - 1e-12


def optimize(
    times: Sequence[int],
    targets: Sequence[Target],
    run: Callable[[Counts], Path],
    *,
    latencies: tuple[int, int],
    standby_price: Fraction = STANDBY_PRICE,
    progress: Callable[[], object] = lambda: None,
) -> Counts:
    """Return the cheapest size found; `latencies` are a resume and a cold start in nanoseconds, as a first guess.

    `run` simulates a size and `progress` is called after each. Every returned size was simulated and meets all targets.
    """

    def meets(counts: Counts) -> bool:
        path = run(counts)
        progress()
        return all(target.met(path) for target in targets)

    best = start(times, targets, latencies, standby_price)
    while not meets(best):  # latencies that vary may ask for more than the guess
        best = Counts(best.active + max(best.active // 10, 1), best.total + max(best.total // 10, 2))
    return _lean(best, meets, standby_price)


def start(
    times: Sequence[int], targets: Sequence[Target], latencies: tuple[int, int], standby_price: Fraction
) -> Counts:
    """Return the size by window counts that keeps each of the targets."""
    active = total = 0
    for target in targets:
        wait = round(target.seconds * NANOSECONDS)
        near, far = (max(each - wait, 0) for each in latencies)
        found = cheapest(Observed(pairs(times, near, far)), target.level, standby_price=standby_price)
        active, total = max(active, found.active), max(total, found.total)
    return Counts(active, total)


def _lean(best: Counts, meets: Callable[[Counts], bool], standby_price: Fraction) -> Counts:
    """Take away what is not needed: active units, then units in all, then active ones for a little more standby."""
    best = _least_active(best, meets)
    low, high = best.active, best.total
    while low < high:
        middle = (low + high) // 2
        if meets(Counts(best.active, middle)):
            high = middle
        else:
            low = middle + 1
    best = Counts(best.active, high)
    for more in (1, 2, 4, 8, 16, 32):
        fewer = Counts(best.active - 1, high + more)
        if best.active and price(fewer, standby_price) < price(best, standby_price) and meets(fewer):
            best = min(best, _least_active(fewer, meets), key=lambda counts: price(counts, standby_price))
    return best


def _least_active(counts: Counts, meets: Callable[[Counts], bool]) -> Counts:
    """Return the size with the fewest active units that still meets the targets, at the same total."""
    low, high = 0, counts.active
    while low < high:
        middle = (low + high) // 2
        if meets(Counts(middle, counts.total)):
            high = middle
        else:
            low = middle + 1
    return Counts(high, counts.total)
