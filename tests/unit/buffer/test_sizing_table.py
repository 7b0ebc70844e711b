"""Sizes for a promise are those of the table, by the library and by `moorage size`."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest

from moorage.buffer.arrivals import Arrivals
from moorage.buffer.cost import Penalties, Prices, cheapest_split, spike_cost
from moorage.buffer.counts_of_pods import negative_binomial
from moorage.buffer.promise import Counts
from moorage.buffer.rare import missing, quiet_span, quiet_span_level, units_for_misses
from moorage.buffer.windows import windows
from tests.unit.buffer.sizing_rows import ROWS, TRACE, Row
from tests.unit.cli.conftest import Moorage, moorage

__all__ = ["moorage"]

CONSTANT = ["D2", "D4", "D5", "D6", "D7"]
MEAN_COLUMNS = ["P0", "P1", "P2", "P3", "P4", "P6", "B1", "B3", "L2", "Q2", "T4", "T4q"]
LEVELS = {"P1": "95", "P3": "99.9"}


def options(row: Row, **more: str) -> list[str]:
    """Return the options for rate and latencies of a row."""
    given = {
        "rate": row.cells["rate_per_s"],
        "resume": f"{row.cells['resume_s']}s",
        "cold": f"{row.cells['cold_s']}s",
        **more,
    }
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]


def sized(moorage: Moorage, *arguments: str) -> dict[str, object]:
    answer = moorage("size", *arguments, "-o", "json")
    assert answer.code == 0, answer.err
    found: dict[str, object] = answer.json
    return found


def tiers(answer: dict[str, object]) -> tuple[object, object]:
    assert answer["replicas"] == answer["active"] + answer["standby"]  # type: ignore[operator]
    return answer["active"], answer["standby"]


def expected(row: Row) -> tuple[int, int]:
    return row.count("active"), row.count("standby")


@pytest.mark.parametrize("name", CONSTANT)
def test_a_constant_rate_needs_the_mean(moorage: Moorage, name: str) -> None:
    assert tiers(sized(moorage, *options(ROWS[name]))) == expected(ROWS[name])


@pytest.mark.parametrize("name", MEAN_COLUMNS)
def test_the_mean_is_the_published_formula(moorage: Moorage, name: str) -> None:
    row = ROWS[name]
    assert tiers(sized(moorage, *options(row))) == (row.count("mean_active"), row.count("mean_standby"))


def test_the_mean_of_standby_alone_covers_what_is_beyond_a_resume(moorage: Moorage) -> None:
    row = ROWS["P8"]
    found = sized(moorage, *options(row, strategy="standby"))
    assert tiers(found) == (row.count("mean_active"), row.count("mean_standby"))


def test_the_mean_lets_a_third_of_random_arrivals_start_at_the_worst_instant(moorage: Moorage) -> None:
    attained = sized(moorage, *options(ROWS["P0"]))["attained"]
    assert attained == {"percentile": 33.45, "maxWait": "0s"}
    assert ROWS["P0"].hit == 0.3345


@pytest.mark.parametrize("name", ["P1", "P2", "P3", "P4", "P6"])
def test_random_arrivals(moorage: Moorage, name: str) -> None:
    row = ROWS[name]
    found = sized(moorage, *options(row, percentile=LEVELS.get(name, "99")))
    assert tiers(found) == expected(row)
    law = windows(Arrivals(row.exact("rate_per_s")), row.exact("resume_s"), row.exact("cold_s"))
    assert law.level(row.count("active"), row.count("active") + row.count("standby")) == pytest.approx(
        row.hit, abs=5e-5
    )


def test_a_wait_of_a_second_needs_other_tiers(moorage: Moorage) -> None:
    found = sized(moorage, *options(ROWS["P2"], percentile="99", max_wait="1s"))
    assert tiers(found) == (77, 148)
    assert found["attained"] == {"percentile": 99.0, "maxWait": "1s"}


def test_standby_alone_promises_the_wait_of_a_resume(moorage: Moorage) -> None:
    row = ROWS["P8"]
    found = sized(moorage, *options(row, strategy="standby", percentile="99", max_wait="30s"))
    assert tiers(found) == expected(row)
    assert found["attained"] == {"percentile": 99.06, "maxWait": "30s"}


@pytest.mark.parametrize(
    ("name", "batches"),
    [
        ("B1", {"batch_mean": "5"}),
        ("B1", {"variance_to_mean": "9"}),
        ("B3", {"batch_mean": "10", "batch_sizes": "Fixed"}),
    ],
)
def test_pods_that_come_in_batches(moorage: Moorage, name: str, batches: dict[str, str]) -> None:
    found = sized(moorage, *options(ROWS[name], percentile="99", **batches))
    assert tiers(found) == expected(ROWS[name])
    assert found["attained"] == {"percentile": pytest.approx(100 * ROWS[name].hit, abs=0.01), "maxWait": "0s"}


def test_a_rate_that_was_seen_for_a_while_only(moorage: Moorage) -> None:
    found = sized(moorage, *[*options(ROWS["G1"], percentile="99", seen="600s"), "--rate", "2/m"])
    assert tiers(found) == expected(ROWS["G1"])


def test_a_rate_seen_for_two_minutes_needs_one_unit_more_than_the_table_has(moorage: Moorage) -> None:
    """Row G2 has 82/159, which 98.99962% of pods find enough: 99% when rounded as in the table, but not 99%."""
    row = ROWS["G2"]
    found = sized(moorage, *options(row, percentile="99", seen="120s"))
    active, total = row.count("active"), row.count("active") + row.count("standby")
    assert tiers(found) == (active, total - active + 1) == (82, 160)
    exact = level_at_seen_rate(240, (120, 30, 60), active, total)
    assert f"{exact:.4f}" == row.cells["closed_form_hit"] == "0.9900"
    assert f"{exact:.8f}" == "0.98999616"
    assert f"{level_at_seen_rate(240, (120, 30, 60), active, total + 1):.8f}" == "0.99006295"
    law = windows(Arrivals(Fraction(2), seen_seconds=Fraction(120)), Fraction(30), Fraction(90))
    assert law.level(active, total) == pytest.approx(float(exact), abs=1e-11)


def level_at_seen_rate(pods: int, spans: tuple[int, int, int], active: int, total: int) -> Decimal:
    """Return the part of pods that find units, by a sum of its own in 50 digits (negative multinomial).

    `spans` are the seconds in which so many pods were seen, of a resume, and of a cold start beyond that.
    """
    with localcontext(prec=50):
        shape, whole = Decimal(pods) + Decimal("0.5"), sum(spans)
        seen, near, rest = (Decimal(each) / whole for each in spans)
        start, reached = seen**shape, Decimal(0)  # probability of none in both windows
        for others in range(active):
            term = start
            for earlier in range(total - others):
                reached += term
                term *= (shape + others + earlier) / (earlier + 1) * rest
            start *= (shape + others) / (others + 1) * near
        return reached


def test_latencies_may_be_quantiles_themselves(moorage: Moorage) -> None:
    row = ROWS["L2"]  # p95 of lognormal latencies of mean 30 s and 90 s, coefficient of variation 0.5
    found = sized(moorage, *[*options(row, percentile="99"), "--resume", "58.36s", "--cold", "175.08s"])
    assert tiers(found) == expected(row)


def test_a_burst_and_then_a_rate(moorage: Moorage) -> None:
    found = sized(moorage, *options(ROWS["D9"], burst="50"))
    assert tiers(found) == expected(ROWS["D9"])


def test_what_an_autoscaler_may_do_by_default(moorage: Moorage) -> None:
    scaling = ["--method", "Burst", "--max-replicas", "200", "--workload-replicas", "20"]
    assert tiers(sized(moorage, "--rate", "0", "--resume", "30s", "--cold", "90s", *scaling)) == (120, 60)


def test_creations_that_just_keep_up_are_enough(moorage: Moorage) -> None:
    row = ROWS["Q2"]
    enough = sized(moorage, *options(row, percentile="99", creation_limit="200"))
    assert tiers(enough) == expected(row)
    assert "warnings" not in enough
    never = sized(moorage, *options(row, percentile="99", creation_limit="180"))
    assert "never fills again" in never["warnings"][0]  # type: ignore[index]


@pytest.mark.parametrize(("name", "level"), [("T4", None), ("T4q", "99")])
def test_recorded_demand(moorage: Moorage, name: str, level: str | None) -> None:
    more = {"percentile": level} if level else {}
    found = sized(moorage, *options(ROWS[name], trace=str(TRACE), **more))
    assert tiers(found) == expected(ROWS[name])
    assert found["attained"] == {"percentile": 99.0 if level else 100.0, "maxWait": "0s"}


def test_pods_that_go_elsewhere_need_fewer_units(moorage: Moorage) -> None:
    row = ROWS["E1"]
    rate, resume = row.exact("rate_per_s"), row.exact("resume_s")
    assert units_for_misses(rate, resume, Fraction(1, 100)) == row.count("active")
    assert 1 - missing(rate, resume, 75) == pytest.approx(row.hit, abs=5e-5)
    assert missing(rate, resume, 60) == pytest.approx(0.0963, abs=5e-5)
    found = sized(moorage, "--rate", "2", "--resume", "30s", "--percentile", "99", "--misses", "GoCold")
    assert found["active"] == row.count("active")


def test_days_without_any_wait(moorage: Moorage) -> None:
    row = ROWS["S1"]
    day = Fraction(86_400)
    assert quiet_span(row.exact("rate_per_s"), row.exact("resume_s"), day, Fraction(95, 100)) == row.count("active")
    assert quiet_span_level(Fraction(2), Fraction(30), day, 100) == pytest.approx(row.hit, abs=5e-5)
    found = sized(moorage, *options(ROWS["P2"], percentile="95", per="Day"))
    assert tiers(found) == (100, 144)


@pytest.mark.parametrize(
    ("name", "hours", "resume", "cold", "cost"),
    [("C1", 24, "0.5", "2", 60.78), ("C2", 24, "5", "20", 177.91), ("C3", 1, "0.5", "2", 8.33)],
)
def test_the_split_that_costs_least(name: str, hours: int, resume: str, cold: str, cost: float) -> None:
    prices = Prices(Fraction("0.05"), Fraction("0.0025"))
    penalties = Penalties(Fraction(resume), Fraction(cold), Fraction(hours))
    spike = negative_binomial(100 / 9, 0.1)  # mean 100, variance 1000
    split = cheapest_split(prices, penalties, spike)
    assert (split.active, split.standby) == expected(ROWS[name])
    assert spike_cost(prices, penalties, split, spike) == pytest.approx(cost, abs=5e-3)
    for near in (Counts(split.active + 1, split.total + 1), Counts(max(split.active - 1, 0), split.total - 1)):
        assert spike_cost(prices, penalties, near, spike) >= spike_cost(prices, penalties, split, spike)


def test_counts_too_large_to_sum_up_are_close_to_those_that_are_not() -> None:
    """The normal law takes over without a jump."""
    exact, normal = (windows(Arrivals(Fraction(rate)), Fraction(30), Fraction(90)) for rate in ("1111", "1112"))
    level = Fraction(99, 100)
    for one, other in pairwise((exact, normal)):
        assert other.least_far(level) == pytest.approx(one.least_far(level), rel=1.5e-3)
        assert other.least_near(level) == pytest.approx(one.least_near(level), rel=1.5e-3)
