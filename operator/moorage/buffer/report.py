"""What a simulation means: waits in percentiles with confidence intervals, use of tiers, hours of units, cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, sqrt

from moorage.buffer.recorded import NANOSECONDS
from moorage.buffer.simulate import Path

PERCENTILES = (50, 90, 95, 99)
_BATCHES = 20
_STUDENT = 2.093
"""The 97.5% quantile of Student's t with 19 degrees of freedom."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Report:
    """The result. Times in seconds; intervals hold the true value in 95 of 100 cases, None of fewer than 200 pods."""

    pods: int
    no_wait: float
    no_wait_interval: Interval | None
    waits: dict[str, float]
    """By `p50`, `p90`, `p95`, `p99` and `max`."""
    wait_intervals: dict[str, Interval]
    tiers: dict[str, int]
    """Pods that were served at once (`active`), by a resume (`standby`), by a new node (`cold`)."""
    unit_hours: dict[str, float]
    """Hours that units stood ready for nobody: `active`, `standby`."""
    seconds: float
    """From the first pod until the last one has its unit."""


def report(*runs: Path) -> Report:
    """Sum up what happened in one run, or in several that each began with all units there."""
    waits = runs[0].waits if len(runs) == 1 else list(chain.from_iterable(run.waits for run in runs))
    batches = _batches(waits)
    positive = sorted(chain.from_iterable(batch.positive for batch in batches))
    pods, waited = len(waits), len(positive)
    enough = pods >= 10 * _BATCHES
    no_wait, quantiles = _intervals(batches[:_BATCHES], positive, pods) if enough else (None, {})
    cold, hours = sum(run.cold for run in runs), [_unit_hours(run) for run in runs]
    return Report(
        pods=pods,
        no_wait=1 - waited / pods if pods else 1.0,
        no_wait_interval=no_wait,
        waits={
            **{f"p{percent}": _quantile(positive, pods, percent / 100) for percent in PERCENTILES},
            "max": positive[-1] / NANOSECONDS if positive else 0.0,
        },
        wait_intervals=quantiles,
        tiers={"active": pods - waited, "standby": waited - cold, "cold": cold},
        unit_hours={tier: sum(each[tier] for each in hours) for tier in ("active", "standby")},
        seconds=sum((_end(run) - run.times[0]) / NANOSECONDS for run in runs if run.times),
    )


def wait_at(path: Path, level: float) -> float:
    """Return the wait in seconds that so large a part of pods does not exceed."""
    return _quantile(sorted([wait & ~1 for wait in path.waits if wait > 1]), len(path.waits), level)


def share_within(path: Path, seconds: float) -> float:
    """Return the part of pods that wait no longer."""
    longest = round(seconds * NANOSECONDS) | 1
    return sum([wait <= longest for wait in path.waits]) / max(len(path.waits), 1)


def _quantile(positive: Sequence[int], pods: int, level: float) -> float:
    """Return a quantile of waits of which only the positive ones are given, sorted."""
    rank = ceil(level * pods - 1e-9) - 1 - (pods - len(positive))
    return positive[min(rank, len(positive) - 1)] / NANOSECONDS if rank >= 0 and positive else 0.0


def _batch_spread(inside: Sequence[float]) -> float:
    """Return half the width of the 95% interval of a mean, from means of consecutive batches (they hardly depend)."""
    mean = sum(inside) / len(inside)
    variance = sum((each - mean) ** 2 for each in inside) / (len(inside) - 1)
    return _STUDENT * sqrt(variance / len(inside))


@dataclass(frozen=True, slots=True)
class _Batch:
    """Consecutive pods: how many, and the waits of those that waited, sorted."""

    pods: int
    positive: Sequence[int]

    def within(self, wait: int) -> float:
        """Return the part of pods that wait no longer."""
        return 1 - (len(self.positive) - bisect_right(self.positive, wait)) / self.pods


def _batches(waits: Sequence[int]) -> list[_Batch]:
    size = max(len(waits) // _BATCHES, 1)
    parts = [waits[at : at + size] for at in range(0, len(waits), size)]
    return [_Batch(len(part), sorted([wait & ~1 for wait in part if wait > 1])) for part in parts]


def _intervals(batches: Sequence[_Batch], positive: Sequence[int], pods: int) -> tuple[Interval, dict[str, Interval]]:
    """Return the interval of the part that does not wait, and those of the quantiles.

    A quantile is between the quantiles at the ends of the interval of its level.
    """
    parts = [batch.within(0) for batch in batches]
    mean, spread = sum(parts) / len(parts), _batch_spread(parts)
    found = {}
    for percent in PERCENTILES:
        level = percent / 100
        at = round(_quantile(positive, pods, level) * NANOSECONDS)
        around = _batch_spread([batch.within(at) for batch in batches])
        low, high = max(level - around, 0.0), min(level + around, 1.0)
        found[f"p{percent}"] = (_quantile(positive, pods, low), _quantile(positive, pods, high))
    return (max(mean - spread, 0.0), min(mean + spread, 1.0)), found


def _end(path: Path) -> int:
    """Return when the last pod has its unit."""
    return path.times[-1] + (path.waits[-1] & ~1)


def _unit_hours(path: Path) -> dict[str, float]:
    """Return how long units of each tier stood ready, from the first pod to the end; those under way count nowhere."""
    if not path.times:
        return {"active": 0.0, "standby": 0.0}
    begin, end, setup = path.times[0], _end(path), path.setup
    there = bisect_right(path.available, end | 1)
    taken = path.taken
    came = setup.active * begin + sum(path.available) - sum(path.available[there:])
    active = sum(taken) + (setup.active + there - len(taken)) * end - came
    # The n-th unit of standby is the n-th to leave; a new node that finds a replacement waiting is never in standby.
    first, later = path.left[: setup.standby], path.left[setup.standby :]
    standby = sum(first) - len(first) * begin + (setup.standby - len(first)) * (end - begin)
    standby += sum([left - came for left, came in zip(later, path.fresh, strict=False) if left > came])
    unused = path.fresh[len(later) : bisect_right(path.fresh, end)]
    standby += len(unused) * end - sum(unused)
    hours = NANOSECONDS * 3600
    return {"active": active / hours, "standby": standby / hours}


def stock(path: Path, moments: Sequence[int]) -> list[tuple[int, int]]:
    """Return the active and the standby units that stand ready at these times."""
    taken = sorted(path.taken)
    found = []
    for moment in moments:
        active = path.setup.active + bisect_right(path.available, moment) - bisect_right(taken, moment)
        standby = path.setup.standby + bisect_right(path.fresh, moment) - bisect_right(path.left, moment)
        found.append((max(active, 0), max(standby, 0)))
    return found
