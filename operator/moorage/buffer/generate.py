"""Invented demand, from a seed: the times at which pods come, in even nanoseconds, sorted.

Rates are pods per second, durations seconds. The same seed gives the same demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import cos, exp, log, pi, sqrt
from random import Random

from moorage.buffer.arrivals import BatchSizes
from moorage.buffer.burst import Autoscaler
from moorage.buffer.recorded import NANOSECONDS, nanoseconds

_HALF = NANOSECONDS // 2
_SLOW_TOGETHER = 600 * NANOSECONDS
_STREAMS = 1_000_003
DAY_SECONDS = 86_400

Segment = tuple[float, float]
"""A rate, and how long it lasts."""


def poisson(
    rate: float, seconds: float, seed: int, *, batch_mean: float = 1.0, batch_sizes: BatchSizes = BatchSizes.GEOMETRIC
) -> list[int]:
    """Pods at random; with `batch_mean` in batches, at the same rate of pods."""
    random = Random(seed)
    events = _events(random, rate / batch_mean, seconds)
    if batch_mean == 1.0:
        return events
    if batch_sizes is BatchSizes.FIXED:
        return [time for time in events for _ in range(int(batch_mean))]
    log_more = log(1 - 1 / batch_mean)
    sizes = [1 + int(log(1.0 - random.random()) / log_more) for _ in events]
    return [time for time, size in zip(events, sizes, strict=True) for _ in range(size)]


def profile(segments: Sequence[Segment], seed: int | None = None) -> list[int]:
    """Rates one after the other: evenly spaced pods, or at random with a seed."""
    times: list[int] = []
    begin, random = 0.0, Random(seed)
    for rate, seconds in segments:
        offset = nanoseconds(begin)
        if seed is None:
            gap = 1 / rate if rate else 0.0
            times += [offset + nanoseconds(at * gap) for at in range(_whole(rate * seconds))]
        else:
            times += [offset + time for time in _events(random, rate, seconds)]
        begin += seconds
    return times


def mmpp(states: Sequence[Segment], seconds: float, seed: int) -> list[int]:
    """Rates that take turns at random: each state has a rate and how long it lasts on average."""
    random, begin, segments, at = Random(seed), 0.0, [], 0
    while begin < seconds:
        rate, mean = states[at % len(states)]
        lasts = min(random.expovariate(1 / mean), seconds - begin)
        segments.append((rate, lasts))
        begin, at = begin + lasts, at + 1
    return profile(segments, random.randrange(2**32))


def diurnal(mean: float, peak: float, seconds: float, seed: int) -> list[int]:
    """Pods at random at a rate that swings over the day, from `mean` at its start to `peak` half a day later.

    More exactly from 2 x mean - peak, or 0, so that the mean is kept where that can be.
    """
    random, low = Random(seed), max(2 * mean - peak, 0.0)
    half = (peak - low) / 2
    kept = []
    for time in _events(random, peak, seconds):
        rate = low + half * (1 - cos(2 * pi * time / NANOSECONDS / DAY_SECONDS))
        if random.random() * peak < rate:
            kept.append(time)
    return kept


def ramp(autoscaler: Autoscaler) -> list[int]:
    """Return the fastest scale-up that an autoscaler allows."""
    return [nanoseconds(at) for at, pods in autoscaler.steps() for _ in range(pods)]


def latencies(
    mean: float,
    variation: float,
    times: Sequence[int],
    seed: int,
    *,
    stream: int = 0,
    common: float = 0.0,
) -> list[int]:
    """Lognormal durations in nanoseconds with a coefficient of variation, one for each of the times.

    `common` (0 to 1) is the part of the variance of their logarithm that all of the same ten minutes share, whatever
    the stream: a slow zone or registry slows all nodes together.
    """
    random = Random(_STREAMS * seed + stream + 1)
    variance = log(1 + variation * variation)
    centre = log(mean) - variance / 2
    shared, own = sqrt(common * variance), sqrt((1 - common) * variance)
    block, slow, gauss = -1, 0.0, random.gauss
    found = []
    for time in times:
        if common and (now := time // _SLOW_TOGETHER) != block:
            block, slow = now, shared * Random(_STREAMS * seed + _STREAMS**2 * (now + 1)).gauss(0.0, 1.0)
        found.append(2 * int(_HALF * exp(centre + slow + own * gauss(0.0, 1.0))))
    return found


def _events(random: Random, rate: float, seconds: float) -> list[int]:
    """Return the times of a Poisson process."""
    if rate <= 0:
        return []
    end, gap, draw = seconds * _HALF, -_HALF / rate, random.random
    times: list[int] = []
    last = 0.0
    while True:
        few = max(int(1.05 * rate * (seconds - last / _HALF)), 0) + 64
        more = list(accumulate([gap * log(1.0 - draw()) for _ in range(few)], initial=last))[1:]
        last = more[-1]
        if last >= end:
            times += [2 * int(time) for time in more if time < end]
            return times
        times += [2 * int(time) for time in more]


def _whole(count: float) -> int:
    """Return how many pods a rate gives in its time, in spite of floating point: 0.1 x 30 is 3."""
    return int(count + 1e-9)
