"""Two promises of another kind: no wait in a whole day, and pods that do not wait for a unit but go elsewhere."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import exp

from moorage.buffer.counts_of_pods import poisson


def quiet_span(rate: Fraction, window: Fraction, span: Fraction, level: Fraction) -> int:
    """Return the units with which, of spans such as a day, so large a part has no wait at all; times in seconds.

    It is the largest count of any window in the span that matters (Alm's approximation of the scan statistic, 1983).
    """
    mean = float(rate * window)
    law = poisson(mean)
    reached = list(accumulate(law))
    beyond = float(rate * (span - window))
    for units in range(int(mean), len(law)):
        clumps = (1 - mean / (units + 1)) * beyond * law[units]
        if reached[units] * exp(-clumps) >= float(level):
            return units
    return len(law)


def quiet_span_level(rate: Fraction, window: Fraction, span: Fraction, units: int) -> float:
    """Return the part of spans that have no wait with so many units."""
    mean = float(rate * window)
    law = poisson(mean)
    if units + 1 >= len(law):
        return 1.0
    clumps = (1 - mean / (units + 1)) * float(rate * (span - window)) * law[units]
    return sum(law[: units + 1]) * exp(-max(clumps, 0.0))


def missing(rate: Fraction, seconds: Fraction, units: int) -> float:
    """Return the part of pods that find no unit when those do not wait but go cold (Erlang B).

    A unit that was taken is back after `seconds`. It holds for latencies of any law.
    """
    load, lost = float(rate * seconds), 1.0
    for unit in range(1, units + 1):
        lost = load * lost / (unit + load * lost)
    return lost


def units_for_misses(rate: Fraction, seconds: Fraction, misses: Fraction) -> int:
    """Return the least number of units with which so small a part of pods finds none."""
    load, lost, units = float(rate * seconds), 1.0, 0
    while lost > float(misses):
        units += 1
        lost = load * lost / (units + load * lost)
    return units
