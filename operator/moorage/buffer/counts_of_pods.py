"""How many pods come in so many seconds: laws of counts, as lists of the probabilities of 0, 1, 2, ... pods.

Formulas: Feeney & Sherbrooke 1966 for batches (compound Poisson), the Jeffreys prior for a rate of which so many pods
in so many seconds are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, exp, lgamma, log, log1p, sqrt
from operator import mul
from statistics import NormalDist

from moorage.buffer.arrivals import Arrivals, BatchSizes

_SIGMAS = 12
"""A law is cut this many standard deviations above its mean: what is left out is below 1e-25."""


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


def place_in_batch(arrivals: Arrivals) -> list[float]:
    """Return the probabilities that a pod is the 0th (never), 1st, 2nd ... of its batch."""
    mean = float(arrivals.batch_mean)
    if arrivals.batch_sizes is BatchSizes.FIXED:
        size = int(arrivals.batch_mean)
        return [0.0] + [1 / size] * size
    if mean == 1:
        return [0.0, 1.0]
    more = 1 - 1 / mean
    return [0.0] + [(1 - more) * more**n for n in range(ceil(60 / -log(more)))]


def convolved(short: Sequence[float], long: Sequence[float]) -> list[float]:
    """Return the law of a sum; quick when one law is short, or has few values that are not zero."""
    if short == [0.0, 1.0]:
        return [0.0, *long]
    if len(short) > len(long):
        short, long = long, short
    backwards = [*([0.0] * (len(short) - 1)), *long, *([0.0] * (len(short) - 1))]
    kernel = list(reversed(short))
    return [sum(map(mul, kernel, backwards[at : at + len(kernel)])) for at in range(len(long) + len(short) - 1)]


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


def binomial_at_most(most: int, trials: int, share: float) -> list[float]:
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


def normal(arrivals: Arrivals, seconds: Fraction) -> NormalDist:
    """Return the normal law of a count so large that only mean and spread matter."""
    mean = float(arrivals.rate * seconds)
    variance = mean * float(arrivals.variance_to_mean)
    if arrivals.seen_seconds is not None:
        variance += mean * mean / (float(arrivals.rate * arrivals.seen_seconds) + 0.5)
    return NormalDist(mean + float((arrivals.variance_to_mean + 1) / 2), max(sqrt(variance), 1e-9))


def _top(mean: float, variance: float, *, tail: float = 0.0) -> int:
    """Return where a law may be cut; `tail` is how fast it falls per count at last, where that is slow."""
    spread = variance / mean if mean else 1.0
    return ceil(mean + _SIGMAS * sqrt(variance) + (60 / tail if tail else 0) + 60 * spread)
