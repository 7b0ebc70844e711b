"""What the simulator finds lies where the table's simulations do.

Two samples of the same truth differ by no more than both intervals together, in nearly all cases; seeds are fixed, so
what holds once holds always.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import sqrt
from random import Random

import pytest

from moorage.buffer.arrivals import BatchSizes
from moorage.buffer.generate import latencies, mmpp, poisson
from moorage.buffer.rare import quiet_span_level
from moorage.buffer.recorded import NANOSECONDS
from moorage.buffer.report import Report, report, share_within
from moorage.buffer.simulate import Setup, simulate
from moorage.cli.trace import read_trace
from tests.unit.buffer.sizing_rows import ROWS, TRACE, Row

BATCHES = {"B1": (5.0, BatchSizes.GEOMETRIC), "B3": (10.0, BatchSizes.FIXED)}
RESUME, COLD = 30 * NANOSECONDS, 90 * NANOSECONDS
RANDOM = ["P0", "P1", "P2", "P3", "P4", "P6", "B1", "B3"]


def interval(text: str) -> tuple[float, float]:
    """Read `0.9972+-0.0004`."""
    match = re.search(r"(0\.\d+|1\.\d+)\+-(0\.\d+)", text)
    assert match is not None, text
    middle, spread = float(match[1]), float(match[2])
    return middle - spread, middle + spread


def demand(name: str, seconds: float, seed: int) -> list[int]:
    mean, sizes = BATCHES.get(name, (1.0, BatchSizes.GEOMETRIC))
    return poisson(float(ROWS[name].exact("rate_per_s")), seconds, seed, batch_mean=mean, batch_sizes=sizes)


def setup_of(row: Row) -> tuple[Setup, int, int]:
    active = row.count("active")
    resume, cold = (int(row.exact(f"{name}_s")) * NANOSECONDS for name in ("resume", "cold"))
    return Setup(active, active + row.count("standby")), resume, cold


def agree(found: Report, text: str) -> bool:
    assert found.no_wait_interval is not None
    low, high = interval(text)
    return found.no_wait_interval[0] <= high and found.no_wait_interval[1] >= low


@pytest.mark.parametrize("name", RANDOM)
def test_a_lasting_load(name: str) -> None:
    row = ROWS[name]
    setup, resume, cold = setup_of(row)
    times = demand(name, 300_000 / float(row.exact("rate_per_s")), 5)
    assert agree(report(simulate(times, setup, resume, cold)), row.cells["sim_sustained_hit"])


@pytest.mark.parametrize("name", RANDOM)
def test_a_spike_that_finds_a_full_buffer(name: str) -> None:
    row = ROWS[name]
    setup, resume, cold = setup_of(row)
    seconds = float(row.exact("resume_s") + row.exact("cold_s"))
    runs = [simulate(demand(name, seconds, seed), setup, resume, cold) for seed in range(400)]
    assert agree(report(*[run for run in runs if run.times]), row.cells["sim_spike_avg"])


def test_standby_alone_keeps_the_wait_of_a_resume() -> None:
    row = ROWS["P8"]
    setup, resume, cold = setup_of(row)
    path = simulate(demand("P8", 200_000, 3), setup, resume, cold)
    assert share_within(path, 30.0) == pytest.approx(0.9902, abs=0.0016)


def test_latencies_that_vary_on_their_own_and_together() -> None:
    """Row L2 is safe even for nodes that are slow together; at mean latencies a common factor makes many pods wait."""
    times = demand("P2", 100_000, 11)

    def no_wait(active: int, standby: int, common: float) -> float:
        resume, cold = (
            latencies(mean, 0.5, times, 12, stream=stream, common=common) for stream, mean in enumerate((30, 90))
        )
        return report(simulate(times, Setup(active, active + standby), resume, cold)).no_wait

    assert no_wait(144, 261, 0.0) == 1.0
    assert no_wait(80, 139, 0.0) > 0.99
    assert no_wait(80, 139, 1.0) < 0.9
    assert no_wait(144, 261, 1.0) > 0.95


def test_a_limit_of_creations_that_just_keeps_up() -> None:
    row = ROWS["Q2"]
    setup, resume, cold = setup_of(row)
    limited = Setup(setup.active, setup.total, creation_limit=200)
    runs = [simulate(demand("P2", 10_000, seed), limited, resume, cold) for seed in range(30, 50)]
    assert agree(report(*runs), row.cells["sim_sustained_hit"])
    starved = Setup(setup.active, setup.total, creation_limit=170)
    assert report(simulate(demand("P2", 10_000, 30), starved, resume, cold)).no_wait < 0.5


def test_bursts_that_come_now_and_then() -> None:
    row = ROWS["M1"]
    setup, resume, cold = setup_of(row)
    runs = [simulate(mmpp([(5, 60), (0.1, 1800)], 7 * 86_400, seed), setup, resume, cold) for seed in range(90, 96)]
    assert agree(report(*runs), row.cells["sim_sustained_hit"])


def test_a_rate_that_was_guessed_from_a_few_pods() -> None:
    row, random = ROWS["G2"], Random(62)
    setup, resume, cold = setup_of(row)
    rates = [random.gammavariate(240.5, 1 / 120) for _ in range(60)]
    runs = [simulate(poisson(rate, 5_000, seed), setup, resume, cold) for seed, rate in enumerate(rates)]
    assert agree(report(*runs), row.cells["sim_sustained_hit"])


@pytest.mark.parametrize("variation", [0.0, 0.5])
def test_pods_that_go_cold_when_no_unit_is_there(variation: float) -> None:
    """Row E1, whatever the law of resumes (Erlang's formula); at the mean size nearly a tenth of pods goes cold."""
    row = ROWS["E1"]
    times = demand("P2", 150_000, 95)
    resumes = latencies(float(row.exact("resume_s")), variation, times, 96)

    def found(active: int) -> Report:
        plenty = Setup(active, active + 1000, misses_go_cold=True)  # of standby, so that active units decide
        return report(simulate(times, plenty, resumes, 90 * NANOSECONDS))

    enough = found(row.count("active"))
    assert agree(enough, row.cells["sim_sustained_hit"])
    assert enough.tiers["standby"] == 0, "nobody waits for a resume"
    assert enough.waits["max"] == 90
    mean = found(row.count("mean_active"))
    assert mean.no_wait_interval is not None
    assert mean.no_wait_interval[0] <= 1 - 0.0963 <= mean.no_wait_interval[1]
    assert not agree(found(row.count("active") - 3), row.cells["sim_sustained_hit"])


def test_days_without_any_wait() -> None:
    """Row S1, and what Alm's formula says of fewer units, by whole days that each begin with a full buffer."""
    row, days = ROWS["S1"], 60
    quiet = dict.fromkeys((92, 95, row.count("active")), 0)
    for seed in range(days):
        times = poisson(float(row.exact("rate_per_s")), 86_400, seed)
        is_quiet = False
        for active in quiet:  # a day that is quiet is so with more units
            is_quiet = is_quiet or not simulate(times, Setup(active, 2 * active + 1000), RESUME, COLD).waited
            quiet[active] += is_quiet
    for active, count in quiet.items():
        low, high = wilson(count, days)
        assert low <= quiet_span_level(Fraction(2), Fraction(30), Fraction(86_400), active) <= high, active
    low, high = wilson(quiet[row.count("active")], days)
    known = re.search(r"\[(.*),(.*)\]", row.cells["sim_sustained_hit"])
    assert known is not None
    assert low <= float(known[2])
    assert high >= float(known[1])


def wilson(count: int, of: int) -> tuple[float, float]:
    """Return the 95% interval of a part that was seen so often."""
    z, part = 1.96, count / of
    middle, spread = part + z * z / 2 / of, z * sqrt(part * (1 - part) / of + (z / 2 / of) ** 2)
    return (middle - spread) / (1 + z * z / of), (middle + spread) / (1 + z * z / of)


@pytest.mark.parametrize(("name", "no_wait"), [("T4", 1.0), ("T4q", 0.99)])
def test_a_recorded_hour(name: str, no_wait: float) -> None:
    setup, resume, cold = setup_of(ROWS[name])
    found = report(simulate(read_trace(str(TRACE)), setup, resume, cold))
    assert found.pods == 8819
    assert found.no_wait == pytest.approx(no_wait, abs=5e-5)


def test_one_unit_less_makes_one_pod_of_the_recorded_hour_wait() -> None:
    setup, resume, cold = setup_of(ROWS["T4"])
    times = read_trace(str(TRACE))
    assert simulate(times, Setup(setup.active, setup.total - 1), resume, cold).waited == 1
    assert simulate(times, Setup(setup.active - 1, setup.total), resume, cold).waited == 1
    naive = simulate(times, Setup(78, 78 + 154), resume, cold)
    assert naive.waited / 8819 == pytest.approx(0.774, abs=5e-4)
