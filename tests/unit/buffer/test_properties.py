"""What holds for buffers of every size, compared with exact fractions."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

from hypothesis import assume, given
from hypothesis import strategies as st

from moorage.buffer.scale_up import ScaleUp, Strategy
from moorage.buffer.size import MAX_REPLICAS, Bounds, Size
from moorage.buffer.sizing import size
from moorage.quantity import NANO

NUMBERS = st.builds(Fraction, st.integers(0, 40_000), st.sampled_from([1, 3, 7, 60, 100, 1000, 3600]))
SCALE_UPS = st.builds(ScaleUp, rate=NUMBERS, resume=NUMBERS, cold=NUMBERS)
STRATEGIES = st.sampled_from([None, Strategy.ACTIVE, Strategy.STANDBY])
COUNTS = st.none() | st.integers(0, 10_000) | st.integers(0, MAX_REPLICAS)
BOUNDS = st.builds(
    Bounds,
    replicas=COUNTS,
    percentage=COUNTS,
    workload_replicas=COUNTS,
    limits=st.none()
    | st.fixed_dictionaries({"cpu": st.integers(0, 10**6 * NANO)}, optional={"x.com/gpu": st.just(NANO)}),
    unit=st.fixed_dictionaries({"cpu": st.integers(1, 8 * NANO), "memory": st.integers(0, 2**30 * NANO)}),
)
"""Bounds whose limits name something that a unit requests."""


def sized(scale_up: ScaleUp | None, bounds: Bounds, strategy: Strategy | None) -> Size:
    """Size what can be sized."""
    has_percentage = bounds.percentage is not None and bounds.workload_replicas is not None
    assume(scale_up is not None or bounds.replicas is not None or has_percentage or bounds.limits is not None)
    return size(scale_up, bounds, strategy)


@given(st.none() | SCALE_UPS, BOUNDS, STRATEGIES)
def test_the_tiers_add_up_and_nothing_is_negative_or_beyond_int32(
    scale_up: ScaleUp | None, bounds: Bounds, strategy: Strategy | None
) -> None:
    result = sized(scale_up, bounds, strategy)
    assert result.active + result.standby == result.replicas
    assert result.active >= 0
    assert result.standby >= 0
    assert result.replicas <= MAX_REPLICAS


@given(st.none() | SCALE_UPS, BOUNDS, STRATEGIES)
def test_the_sum_of_requests_stays_within_limits(
    scale_up: ScaleUp | None, bounds: Bounds, strategy: Strategy | None
) -> None:
    result = sized(scale_up, bounds, strategy)
    if bounds.limits is not None and bounds.unit is not None:
        assert result.cap is not None
        assert result.replicas <= result.cap
        assert result.replicas * bounds.unit["cpu"] <= bounds.limits["cpu"]


@given(SCALE_UPS)
def test_without_bounds_both_tiers_follow_the_exact_formulas(scale_up: ScaleUp) -> None:
    result = size(scale_up, Bounds())
    assert result.replicas == ceil(scale_up.rate * scale_up.cold)
    if scale_up.resume < scale_up.cold:
        assert result.active == ceil(scale_up.rate * scale_up.resume)
    else:
        assert result.active == result.replicas


@given(SCALE_UPS)
def test_active_is_just_enough_for_the_pods_that_arrive_during_a_resume(scale_up: ScaleUp) -> None:
    assume(scale_up.standby_helps)
    active = size(scale_up, Bounds()).active
    arriving = scale_up.rate * scale_up.resume
    assert active >= arriving > active - 1


@given(SCALE_UPS)
def test_standby_alone_follows_its_exact_formula(scale_up: ScaleUp) -> None:
    result = size(scale_up, Bounds(), Strategy.STANDBY)
    assert result.standby == max(ceil(scale_up.rate * (scale_up.cold - scale_up.resume)), 0)


@given(SCALE_UPS, BOUNDS, STRATEGIES)
def test_the_total_is_the_larger_of_rate_and_floor_cut_by_the_cap(
    scale_up: ScaleUp, bounds: Bounds, strategy: Strategy | None
) -> None:
    alone, bounded = size(scale_up, Bounds(), strategy), size(scale_up, bounds, strategy)
    wanted = max(alone.replicas, bounded.floor or 0)
    assert bounded.replicas == min(wanted, MAX_REPLICAS if bounded.cap is None else bounded.cap, MAX_REPLICAS)


@given(BOUNDS)
def test_the_floor_is_the_larger_of_replicas_and_the_exact_percentage_rounded_up(bounds: Bounds) -> None:
    result = size(ScaleUp(Fraction(0), Fraction(0), Fraction(1)), bounds)
    given = [] if bounds.replicas is None else [bounds.replicas]
    if bounds.percentage is not None and bounds.workload_replicas is not None:
        given.append(ceil(Fraction(bounds.percentage * bounds.workload_replicas, 100)))
    assert result.floor == max(given, default=None)


@given(SCALE_UPS, NUMBERS, BOUNDS, STRATEGIES)
def test_a_higher_rate_never_means_fewer_units(
    scale_up: ScaleUp, more: Fraction, bounds: Bounds, strategy: Strategy | None
) -> None:
    busier = replace(scale_up, rate=scale_up.rate + more)
    less, greater = size(scale_up, bounds, strategy), size(busier, bounds, strategy)
    assert less.replicas <= greater.replicas
    assert less.active <= greater.active


@given(SCALE_UPS, NUMBERS, BOUNDS)
def test_a_slower_cold_start_never_means_fewer_units(scale_up: ScaleUp, more: Fraction, bounds: Bounds) -> None:
    slower = replace(scale_up, cold=scale_up.cold + more)
    assert size(scale_up, bounds).replicas <= size(slower, bounds).replicas


@given(SCALE_UPS, NUMBERS)
def test_a_slower_resume_moves_units_from_standby_to_active_and_keeps_the_total(
    scale_up: ScaleUp, more: Fraction
) -> None:
    slower = replace(scale_up, resume=scale_up.resume + more)
    before, after = size(scale_up, Bounds()), size(slower, Bounds())
    assert before.replicas == after.replicas
    assert before.active <= after.active


@given(SCALE_UPS, BOUNDS, st.integers(0, 1000))
def test_a_higher_floor_never_means_fewer_units(scale_up: ScaleUp, bounds: Bounds, more: int) -> None:
    raised = replace(bounds, replicas=(bounds.replicas or 0) + more)
    assert size(scale_up, bounds).replicas <= size(scale_up, raised).replicas


@given(st.none() | SCALE_UPS, BOUNDS, STRATEGIES)
def test_exactly_the_bound_that_decided_is_said_to_decide(
    scale_up: ScaleUp | None, bounds: Bounds, strategy: Strategy | None
) -> None:
    result = sized(scale_up, bounds, strategy)
    deciding = [note for note in result.explanation.split("; ") if note.endswith(" decides")]
    floor_or_cap = {"replicas": "floor", "percentage": "floor", "limits": "cap"}.get(result.bound_by)
    assert [note.partition(" ")[0] for note in deciding] == ([floor_or_cap] if floor_or_cap else [])


@given(SCALE_UPS, BOUNDS, STRATEGIES)
def test_the_explanation_names_the_units_of_each_tier_that_has_any(
    scale_up: ScaleUp, bounds: Bounds, strategy: Strategy | None
) -> None:
    result = size(scale_up, bounds, strategy)
    for tier, units in (("active", result.active), ("standby", result.standby)):
        if units:
            assert f"{tier} {units}" in result.explanation


@given(st.none() | SCALE_UPS, BOUNDS, STRATEGIES, st.integers(0, 10_000))
def test_quotas_take_standby_away_first_and_change_nothing_while_they_leave_enough(
    scale_up: ScaleUp | None, bounds: Bounds, strategy: Strategy | None, room: int
) -> None:
    free, cut = sized(scale_up, bounds, strategy), sized(scale_up, replace(bounds, room=room), strategy)
    assert cut.replicas == min(free.replicas, room)
    assert cut.active == min(free.active, room)
    assert (cut.bound_by == "quotas") == (room < free.replicas)
