"""Invented demand has the rate, the scatter and the order that it is asked for."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, pvariance

import pytest

from moorage.buffer.arrivals import BatchSizes
from moorage.buffer.burst import DEFAULT_POLICIES, Autoscaler, ScalingPolicy, Unit
from moorage.buffer.generate import diurnal, latencies, mmpp, poisson, profile, ramp
from moorage.buffer.recorded import NANOSECONDS

HOUR = 3600


def counts(times: list[int], seconds: float, window: float) -> list[int]:
    found = [0] * int(seconds / window)
    for time in times:
        found[min(int(time / NANOSECONDS / window), len(found) - 1)] += 1
    return found


@pytest.mark.parametrize(
    ("mean", "sizes", "scatter"),
    [(1.0, BatchSizes.GEOMETRIC, 1.0), (5.0, BatchSizes.GEOMETRIC, 9.0), (10.0, BatchSizes.FIXED, 10.0)],
)
def test_batches_have_their_rate_and_variance(mean: float, sizes: BatchSizes, scatter: float) -> None:
    times = poisson(2.0, 100 * HOUR, 5, batch_mean=mean, batch_sizes=sizes)
    found = counts(times, 100 * HOUR, 120)
    assert fmean(found) == pytest.approx(240, rel=0.02)
    assert pvariance(found) / fmean(found) == pytest.approx(scatter, rel=0.1)


def test_a_profile_is_even_unless_it_is_to_be_random() -> None:
    even = profile([(5, 60), (0, 30), (1, 10)])
    assert len(even) == 310
    assert even[299] == 60 * NANOSECONDS - NANOSECONDS // 5
    assert even[300] == 90 * NANOSECONDS
    assert {after - before for before, after in pairwise(even[:300])} == {NANOSECONDS // 5}
    assert len(profile([(0.1, 30)])) == 3
    assert profile([(5, 60), (0, 30), (1, 10)], 3) != even


def test_rates_that_take_turns_keep_their_mean() -> None:
    times = mmpp([(5, 60), (0.1, 1800)], 2000 * HOUR, 8)
    assert len(times) / 2000 / HOUR == pytest.approx((5 * 60 + 0.1 * 1800) / 1860, rel=0.05)


def test_a_daily_swing_has_its_mean_and_its_peak() -> None:
    times = diurnal(1.0, 1.6, 10 * 24 * HOUR, 4)
    by_hour = [0.0] * 24
    for time in times:
        by_hour[time // NANOSECONDS // HOUR % 24] += 1 / 10 / HOUR
    assert fmean(by_hour) == pytest.approx(1.0, rel=0.01)
    assert max(by_hour) == pytest.approx(1.6, rel=0.03)
    assert min(by_hour) == pytest.approx(0.4, rel=0.05)


def test_latencies_have_their_mean_and_variation_together_or_not() -> None:
    times = [at * 10 * NANOSECONDS for at in range(200_000)]
    for common in (0.0, 0.5):
        found = [each / NANOSECONDS for each in latencies(30, 0.5, times, 1, common=common)]
        assert fmean(found) == pytest.approx(30, rel=0.03)
        assert pvariance(found) ** 0.5 / fmean(found) == pytest.approx(0.5, rel=0.05)
    one, other = (latencies(30, 0.5, times, 1, stream=stream, common=1.0) for stream in (0, 1))
    assert one == other
    assert len({*one[:60]}) == 1
    assert len({*latencies(30, 0.5, times, 1)[:60]}) == 60


@pytest.mark.parametrize(
    ("policies", "least", "steps"),
    [
        (DEFAULT_POLICIES, False, [(0, 20), (15, 40), (30, 80), (45, 40)]),
        ((ScalingPolicy(Unit.PODS, 4, 60),), False, [(at, 4) for at in range(0, 2700, 60)]),
        (
            (ScalingPolicy(Unit.PERCENT, 100, 15), ScalingPolicy(Unit.PODS, 90, 15)),
            True,
            [(0, 20), (15, 40), (30, 80), (45, 40)],
        ),
        ((ScalingPolicy(Unit.PODS, 90, 15), ScalingPolicy(Unit.PERCENT, 10, 15)), False, [(0, 90), (15, 90)]),
        ((), False, []),
    ],
)
def test_an_autoscaler_goes_up_as_fast_as_its_policies_allow(
    policies: tuple[ScalingPolicy, ...], least: bool, steps: list[tuple[int, int]]
) -> None:
    assert Autoscaler(20, 200, policies, select_least=least).steps() == steps


def test_a_ramp_is_made_of_the_steps() -> None:
    assert len(ramp(Autoscaler(20, 200))) == 180


def test_everything_is_sorted_and_even() -> None:
    made = [
        poisson(3, 600, 1, batch_mean=3),
        profile([(3, 100), (0.7, 50)], 2),
        mmpp([(5, 6), (1, 10)], 600, 3),
        diurnal(0.1, 0.2, 86_400, 4),
        ramp(Autoscaler(1, 100)),
    ]
    for times in made:
        assert times == sorted(times)
        assert all(time % 2 == 0 for time in times)
