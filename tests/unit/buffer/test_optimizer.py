"""The size that is found meets its targets and costs hardly more than the best of all sizes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from moorage.buffer.generate import mmpp, poisson
from moorage.buffer.optimize import Target, optimize
from moorage.buffer.promise import STANDBY_PRICE, Counts, price
from moorage.buffer.recorded import NANOSECONDS
from moorage.buffer.simulate import Path, Setup, simulate

RESUME, COLD = 10 * NANOSECONDS, 30 * NANOSECONDS

TRACES = {
    "random": poisson(0.5, 4000, 3),
    "bursts": mmpp([(2, 20), (0.05, 300)], 8000, 4),
    "batches": poisson(0.4, 4000, 5, batch_mean=4),
}


@pytest.mark.parametrize("seconds", [0, 2, 10, 15])
@pytest.mark.parametrize("name", TRACES)
def test_it_is_within_five_percent_of_the_cheapest_size_there_is(name: str, seconds: int) -> None:
    times, target = TRACES[name], Target(Fraction(95, 100), Fraction(seconds))

    def run(counts: Counts) -> Path:
        return simulate(times, Setup(counts.active, counts.total), RESUME, COLD)

    found = optimize(times, [target], run, latencies=(RESUME, COLD))
    assert target.met(run(found))
    sizes = [Counts(active, total) for active in range(found.active + 8) for total in range(active, found.total + 40)]
    best = next(size for size in sorted(sizes, key=lambda size: price(size, STANDBY_PRICE)) if target.met(run(size)))
    assert price(found, STANDBY_PRICE) <= Fraction(105, 100) * price(best, STANDBY_PRICE)
