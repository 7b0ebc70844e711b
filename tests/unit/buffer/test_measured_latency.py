"""Latencies are learnt from pods that waited and from those that still wait, without bias."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from moorage.buffer.latency import Start, Waits, quantile, quantiles, start_of


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_pods_that_still_wait_do_not_make_latencies_look_short(level: float) -> None:
    """Lognormal waits, looked at while a third of the pods still wait, over many synthetic clusters."""
    random, found, dropped = Random(4), [], []
    truth = sorted(random.lognormvariate(4.4, 0.5) for _ in range(200_000))[int(level * 200_000)]
    for _ in range(120):
        done, waiting = [], []
        for _ in range(400):
            wait, age = random.lognormvariate(4.4, 0.5), random.uniform(0, 450)
            (done if wait <= age else waiting).append(min(wait, age))
        found.append(quantile(done, waiting, level))
        dropped.append(quantile(done, [], level))
    kept = [each for each in found if each is not None]
    assert len(kept) == len(found)
    assert fmean(kept) == pytest.approx(truth, rel=0.03)
    assert fmean(each for each in dropped if each is not None) < 0.97 * truth


def test_without_pods_that_wait_it_is_the_usual_quantile() -> None:
    waits = [float(wait) for wait in range(1, 101)]
    found = quantiles(waits)
    assert (found.p50, found.p90, found.p95, found.p99, found.samples, found.waiting) == (50, 90, 95, 99, 100, 0)


def test_a_quantile_is_not_known_while_too_many_wait() -> None:
    found = quantiles([10.0] * 80, [20.0] * 20)
    assert (found.p50, found.p90, found.p95) == (10, None, None)
    assert (found.samples, found.waiting) == (100, 20)
    assert quantiles([]).p50 is None


@pytest.mark.parametrize(
    ("scheduled", "node_created", "resumed", "start"),
    [
        (102, None, None, Start.AT_ONCE),
        (190, 150, None, Start.COLD),
        (103, 20, None, Start.OTHER),
        (131, 20, 130, Start.RESUME),
        (131, 20, 60, Start.OTHER),
        (131, 99, None, Start.COLD),
        (131, 99, 130, Start.RESUME),
        (190, 150, 189, Start.COLD),
    ],
)
def test_how_a_pod_came_to_its_place(
    scheduled: int, node_created: int | None, resumed: int | None, start: Start
) -> None:
    assert start_of(100, scheduled, node_created=node_created, resumed=resumed) is start


def test_the_latest_waits_are_kept_and_outlive_a_restart() -> None:
    waits = Waits()
    waits.cold.extend(range(10_000))
    waits.resume.append(30)
    again = Waits.restored(waits.stored())
    assert list(again.cold) == list(range(9500, 10_000))
    assert again == waits
