"""The simulator agrees with a second one that steps through events, and with the theorem about windows."""

from __future__ import annotations

from itertools import cycle, repeat
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.buffer.nodes import StandbyLife, simulate_nodes
from moorage.buffer.recorded import window_counts
from moorage.buffer.report import report, stock
from moorage.buffer.simulate import Path, Setup, simulate
from tests.unit.buffer.event_simulator import Outcome, Warehouse

SECOND = 10**9


def random_trace(random: Random) -> list[int]:
    """Return up to 200 times; most on a grid of seconds, so that many fall together."""
    grid = random.choice([2, SECOND // 10, SECOND, SECOND])
    span = random.choice([5, 60, 600])
    return sorted(random.randrange(span * SECOND // grid) * grid for _ in range(random.randrange(1, 200)))


def random_setup(random: Random) -> tuple[Setup, int, int]:
    active = random.choice([0, 0, 1, random.randrange(60)])
    total = active + random.choice([0, 1, random.randrange(80)])
    limit = random.choice([None, None, 1, random.randrange(1, 50)])
    resume = random.choice([0, 1, 10, 30]) * SECOND
    return Setup(active, total, creation_limit=limit), resume, random.choice([1, 20, 30, 90]) * SECOND


def outcomes(path: Path) -> list[Outcome]:
    return [Outcome(wait & ~1, by_new_node=wait > 1 and bool(wait & 1)) for wait in path.waits]


@pytest.mark.parametrize("hundred", range(10))
def test_a_thousand_random_traces_end_as_in_the_second_simulator(hundred: int) -> None:
    random = Random(f"traces {hundred}")
    for _ in range(100):
        times, (setup, resume, cold) = random_trace(random), random_setup(random)
        second = Warehouse(setup.active, setup.standby, resume, cold, setup.creation_limit).run(times)
        by_nodes = simulate_nodes(times, setup, repeat(resume), repeat(cold), StandbyLife())
        for path in (simulate(times, setup, resume, cold), by_nodes):
            assert [wait & ~1 for wait in path.waits] == [outcome.wait for outcome in second]
            if resume:  # when a resume takes no time, which of two units that come at once is handed out is a toss-up
                assert outcomes(path) == second


def test_pods_that_go_cold_do_as_in_the_second_simulator_and_take_no_unit() -> None:
    random = Random("go cold")
    for _ in range(300):
        times, (setup, resume, cold) = random_trace(random), random_setup(random)
        setup = Setup(setup.active, setup.total, misses_go_cold=True)
        second = Warehouse(setup.active, setup.standby, resume, cold, misses_go_cold=True)
        path = simulate(times, setup, resume, cold)
        assert outcomes(path) == second.run(times)
        end = times[-1] + resume + cold + 1
        assert stock(path, [end]) == [(setup.active, setup.standby)], "full again"
        hours = report(path).unit_hours
        assert min(hours.values()) > -1e-9, "last bits of times say something else"
        longest = (end - times[0]) / SECOND / 3600
        assert hours["active"] <= setup.active * longest
        assert hours["standby"] <= setup.standby * longest


def test_pods_that_go_cold_are_simulated_by_single_units_only() -> None:
    for wrong in ({"units_per_node": 2}, {"creation_limit": 5}):
        with pytest.raises(ValueError, match="unit by unit"):
            Setup(1, 2, misses_go_cold=True, **wrong)
    with pytest.raises(ValueError, match="life of standby nodes"):
        simulate_nodes([0], Setup(1, 2, misses_go_cold=True), repeat(2), repeat(2), StandbyLife())


@pytest.mark.parametrize("seed", range(60))
def test_the_sizes_of_the_windows_let_no_pod_wait_and_one_unit_less_in_all_makes_one(seed: int) -> None:
    random = Random(f"theorem {seed}")
    times = random_trace(random)
    resume, cold = sorted(random.sample(range(1, 120), 2))
    active = max(window_counts(times, resume * SECOND))
    total = max(window_counts(times, cold * SECOND))
    assert simulate(times, Setup(active, total), resume * SECOND, cold * SECOND).waited == 0
    fewer = Setup(min(active, total - 1), total - 1)
    assert simulate(times, fewer, resume * SECOND, cold * SECOND).waited > 0


@pytest.mark.parametrize("seed", range(60))
def test_a_wait_of_a_resume_or_more_is_kept_exactly_when_the_far_window_has_no_more_pods_than_units(seed: int) -> None:
    random = Random(f"wait {seed}")
    times, (setup, resume, cold) = random_trace(random), random_setup(random)
    setup = Setup(setup.active, setup.total)
    wait = random.choice([resume, resume + SECOND, (resume + cold) // 2 & ~1])
    if not resume <= wait < cold:
        return
    path = simulate(times, setup, resume, cold)
    kept = [each & ~1 <= wait for each in path.waits]
    assert kept == [pods <= setup.total for pods in window_counts(times, cold - wait)]


def test_one_unit_less_than_the_mean_makes_half_a_second_of_wait_at_a_constant_rate() -> None:
    """Row D1: 2 pods/s, 30 s and 90 s; 59 + 121 and 60 + 119 beside 60 + 120."""
    times = [at * SECOND // 2 for at in range(20_000)]

    def run(active: int, standby: int) -> Path:
        return simulate(times, Setup(active, active + standby), 30 * SECOND, 90 * SECOND)

    assert run(60, 120).waited == 0
    assert run(59, 121).waited == 121
    fewer = run(60, 119)
    assert fewer.waited == 20_000 - 179
    assert max(wait & ~1 for wait in fewer.waits) == SECOND // 2


def test_random_latencies_of_each_node_are_used_in_the_order_in_which_nodes_are_asked_for() -> None:
    times = [0, 2, 4]
    path = simulate(times, Setup(0, 1), [10, 99, 99], [20, 6, 50])
    # The first pod gets the resume at 10; the nodes come at 8, 20 and 54, the earliest to who waits longest.
    assert [wait & ~1 for wait in path.waits] == [8, 8, 16]


def test_units_of_a_node_come_together_and_sizes_are_whole_nodes() -> None:
    setup = Setup(60, 180, units_per_node=8).in_nodes()
    assert (setup.active, setup.standby) == (64, 120)  # row N1: 8 and 15 nodes
    times = [at * SECOND for at in range(64)]
    path = simulate(times, Setup(8, 8, units_per_node=8), SECOND, 100 * SECOND)
    assert path.fresh[:8] == [100 * SECOND] * 8
    assert path.fresh[8:16] == [108 * SECOND] * 8


def test_a_standby_node_that_still_runs_is_taken_at_once() -> None:
    times = [0, 0, 100 * SECOND]
    setup, slow = Setup(1, 2), [30 * SECOND, 90 * SECOND]

    def waits(init: int) -> list[int]:
        life = StandbyLife(init=init * SECOND)
        return [wait & ~1 for wait in simulate_nodes(times, setup, cycle(slow[:1]), cycle(slow[1:]), life).waits]

    # One unit is taken, the second pod waits for the resume, and the third comes when the two new nodes are there.
    assert waits(init=0) == [0, 30 * SECOND, 0]
    busy = [0, 0, 95 * SECOND, 95 * SECOND, 95 * SECOND]
    running = simulate_nodes(busy, setup, repeat(slow[0]), repeat(slow[1]), StandbyLife(init=300 * SECOND))
    suspended = simulate_nodes(busy, setup, repeat(slow[0]), repeat(slow[1]), StandbyLife())
    assert sum(wait & ~1 for wait in running.waits) < sum(wait & ~1 for wait in suspended.waits)


def test_a_node_that_is_being_suspended_is_resumed_after_that() -> None:
    # The new node comes at 20 s, is being suspended until 50 s, and is wanted at 25 s.
    times = [0, 25 * SECOND]
    life = StandbyLife(suspend=30 * SECOND)
    path = simulate_nodes(times, Setup(0, 1), repeat(10 * SECOND), repeat(20 * SECOND), life)
    assert [wait & ~1 for wait in path.waits] == [10 * SECOND, (50 + 10 - 25) * SECOND]


def test_a_refresh_takes_a_standby_unit_away_until_its_node_is_there() -> None:
    times = [at * 10 * SECOND for at in range(100)]
    setup, resume, cold = Setup(1, 2), repeat(5 * SECOND), repeat(8 * SECOND)
    assert simulate_nodes(times, setup, resume, cold, StandbyLife()).waited == 0
    path = simulate_nodes(times, setup, resume, cold, StandbyLife(refresh=199 * SECOND))
    assert len(path.fresh) > len(times)


TRACES = st.lists(st.integers(0, 300).map(lambda tenths: tenths * SECOND // 10), min_size=1, max_size=60).map(sorted)


@settings(max_examples=150)
@given(TRACES, st.integers(0, 20), st.integers(0, 20), st.integers(0, 100), st.integers(1, 200))
def test_the_hours_of_a_report_are_the_stock_summed_up_over_time(
    times: list[int], active: int, standby: int, resume: int, cold: int
) -> None:
    tenth = SECOND // 10
    path = simulate(times, Setup(active, active + standby), resume * tenth, cold * tenth)
    end = path.times[-1] + (path.waits[-1] & ~1)
    moments = [time + tenth // 2 for time in range(times[0], end, tenth)]
    summed = [sum(levels) * tenth / SECOND / 3600 for levels in zip(*stock(path, moments), strict=True)] or [0.0, 0.0]
    found = report(path).unit_hours
    assert [found["active"], found["standby"]] == pytest.approx(summed, abs=1e-9)


@given(TRACES, st.integers(0, 20), st.integers(0, 20), st.integers(0, 100), st.integers(1, 200))
def test_every_pod_is_served_once_and_one_more_active_unit_never_makes_a_pod_wait_longer(
    times: list[int], active: int, standby: int, resume: int, cold: int
) -> None:
    tenth = SECOND // 10
    path = simulate(times, Setup(active, active + standby), resume * tenth, cold * tenth)
    assert sum(report(path).tiers.values()) == len(times)
    larger = simulate(times, Setup(active + 1, active + 1 + standby), resume * tenth, cold * tenth)
    assert all(after & ~1 <= before & ~1 for before, after in zip(path.waits, larger.waits, strict=True))
