"""Demand is learnt from pods as they come, and the rate and the counts are those of the truth."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

import pytest

from moorage.buffer.demand import SETTLE_SECONDS, Demand, hour_text
from moorage.buffer.generate import mmpp, poisson
from moorage.buffer.newcomers import Member, Newcomers
from moorage.buffer.promise import cheapest
from moorage.buffer.recorded import NANOSECONDS, Observed, pairs

NEAR, FAR = Fraction(30), Fraction(90)
BEGAN = 1_770_000_000
"""A Monday's early morning, in seconds."""


def learnt(times: list[int], *, restarts: int = 0, near: Fraction = NEAR) -> Demand:
    """Have pods come at these nanoseconds after the begin, and the clock go on second by second."""
    demand = Demand(near, FAR, began=BEGAN)
    at = 0
    end = times[-1] // NANOSECONDS + SETTLE_SECONDS + 2
    breaks = {int(end * number / (restarts + 1)) for number in range(1, restarts + 1)}
    for second in range(0, end, 1):
        while at < len(times) and times[at] // NANOSECONDS <= second:
            demand.add(f"pod-{at}", BEGAN + times[at] // NANOSECONDS)
            at += 1
        demand.advance(BEGAN + second)
        if second in breaks:
            demand = Demand.restored(json.loads(json.dumps(demand.stored())))
            for again in range(max(at - 200, 0), at):  # the list after a restart
                demand.add(f"pod-{again}", BEGAN + times[again] // NANOSECONDS)
    demand.advance(BEGAN + end + SETTLE_SECONDS)
    return demand


@pytest.mark.parametrize("rate", [0.05, 0.5, 2.0])
def test_the_rate_of_random_arrivals_is_found_without_bias(rate: float) -> None:
    times = poisson(rate, 4000 / rate, 17)
    seen = learnt(times).rate()
    assert seen is not None
    assert float(seen.per_second) == pytest.approx(rate, rel=0.05)
    assert seen.pods == pytest.approx(len(times), abs=100 * rate + 10)


def test_the_rate_of_bursts_is_that_which_pods_meet_and_not_that_of_the_day() -> None:
    seen = learnt(mmpp([(5, 300), (0, 3600)], 40 * 3600, 3)).rate()
    assert seen is not None
    assert 3.0 < float(seen.per_second) < 5.0  # 5 within bursts, less at their begin; 0.38 by the day


def test_sizes_from_what_was_learnt_are_those_of_the_whole_record() -> None:
    """Counts are of whole seconds, which makes sizes no smaller and hardly larger."""
    times = mmpp([(2, 600), (0.1, 1800)], 60 * 3600, 5)
    record = learnt(times).recorded(BEGAN + 60 * 3600)
    assert record is not None
    exact = cheapest(Observed(pairs(times, 30 * NANOSECONDS, 90 * NANOSECONDS)), Fraction(99, 100))
    found = cheapest(Observed(record.pairs), Fraction(99, 100))
    assert exact.total <= found.total <= 1.06 * exact.total + 2
    assert 0.93 * exact.active <= found.active <= 1.08 * exact.active + 2
    assert record.pairs.pods == len(times)


@pytest.mark.parametrize("restarts", [1, 7])
def test_a_restart_loses_nothing(restarts: int) -> None:
    times = poisson(1.0, 5000, 9)
    whole, broken = learnt(times), learnt(times, restarts=restarts)
    assert broken.stored() == whole.stored()


def test_a_pod_that_is_seen_again_counts_once() -> None:
    demand = Demand(NEAR, FAR, began=BEGAN)
    for _ in range(3):
        demand.add("a", BEGAN + 1)
    demand.advance(BEGAN + 10)
    demand.add("a", BEGAN + 1)
    demand.advance(BEGAN + 20)
    assert demand.pods == 1


def test_what_is_kept_is_bounded_however_long_and_varied_demand_is() -> None:
    demand, random = Demand(NEAR, FAR, began=BEGAN), Random(1)
    for step in range(20_000):
        second = BEGAN + step * 7200 // 4  # more than a year
        demand.add(f"a{step}", second)
        for more in range(random.choice([0, 0, 0, 30, 400, random.randrange(2000)]) if step % 10 == 0 else 0):
            demand.add(f"{step}-{more}", second)
        demand.advance(second + SETTLE_SECONDS)
    assert len(json.dumps(demand.stored())) < 200_000
    assert len(demand.peaks()) <= 90
    assert len(demand.busiest(1000)) <= 168


def test_peaks_are_by_day_and_hours_by_week() -> None:
    demand = Demand(NEAR, FAR, began=BEGAN)
    monday = BEGAN - BEGAN % 86_400 - (BEGAN // 86_400 + 3) % 7 * 86_400 + 7 * 86_400
    for day, pods in ((0, 5), (1, 9)):
        for pod in range(pods):
            demand.add(f"{day}-{pod}", monday + day * 86_400 + 9 * 3600 + pod)
    demand.advance(monday + 3 * 86_400)
    assert demand.peaks() == [5, 9]
    assert [(hour_text(hour), peak) for hour, peak in demand.busiest()] == [("Tue 09h", 9), ("Mon 09h", 5)]


def test_other_windows_count_the_last_hour_anew() -> None:
    times = poisson(1.0, 3000, 4)
    changed, fresh = learnt(times, near=Fraction(10)), learnt(times)
    changed.rewindow(NEAR, FAR)
    assert changed.stored()["generations"] == fresh.stored()["generations"]


def member(name: str, created: int, template: str = "a", owner: str = "ReplicaSet") -> Member:
    return Member(name, created, template, owner)


class TestNewcomers:
    def test_a_scale_up_is_new(self) -> None:
        newcomers = Newcomers()
        pods = [member(f"p{at}", at) for at in range(4)]
        for pod in pods:
            newcomers.came(pod)
        assert [newcomers.is_new(pod) for pod in pods] == [True] * 4

    @pytest.mark.parametrize("counted", [False, True])
    def test_a_rollout_is_not_unless_it_is_to_count_but_what_it_scales_up_beside_is(self, counted: bool) -> None:
        newcomers = Newcomers(rollouts=counted)
        for at in range(3):
            newcomers.came(member(f"old{at}", at))
        fresh = [member(f"new{at}", 100 + at, "b") for at in range(5)]
        for pod in fresh:
            newcomers.came(pod)
        assert [newcomers.is_new(pod) for pod in fresh] == [counted] * 3 + [True] * 2

    def test_pods_of_both_templates_that_were_there_before_we_watched_replace_nothing(self) -> None:
        newcomers = Newcomers()
        newcomers.came(member("old", 0), known=True)
        newcomers.came(member("new", 5, "b"), known=True)
        later = member("later", 50, "b")
        newcomers.came(later)
        assert newcomers.is_new(later)

    @pytest.mark.parametrize(
        ("evicted", "after", "new"), [(True, 200, False), (True, 400, True), (False, 3, False), (False, 30, True)]
    )
    def test_what_takes_the_place_of_a_drained_or_deleted_pod_is_not_new(
        self, evicted: bool, after: int, new: bool
    ) -> None:
        newcomers = Newcomers()
        newcomers.came(member("gone", 0))
        newcomers.went("gone", 1000, evicted=evicted)
        assert newcomers.is_new(member("next", 1000 + after)) == new

    def test_each_departure_is_replaced_once(self) -> None:
        newcomers = Newcomers()
        newcomers.came(member("gone", 0))
        newcomers.went("gone", 1000, evicted=True)
        newcomers.went("gone", 1001, evicted=True)
        assert [newcomers.is_new(member(f"n{at}", 1001)) for at in range(2)] == [False, True]

    def test_a_pod_that_ended_is_not_replaced_and_pods_of_daemons_are_never_new(self) -> None:
        newcomers = Newcomers()
        newcomers.came(member("done", 0, ""))
        newcomers.ended("done")
        assert newcomers.is_new(member("next", 1, ""))
        assert not newcomers.is_new(member("daemon", 1, owner="DaemonSet"))
        assert not newcomers.is_new(member("static", 1, owner="Node"))
