"""How full one resource of a quota is: percent, remainder, warnings."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.quantity import parse_nano
from moorage.quota.report import NEAR_PERCENT, ResourceLine


def line(used: str, hard: str, name: str = "requests.cpu") -> ResourceLine:
    return ResourceLine(name, parse_nano(hard), parse_nano(used))


@pytest.mark.parametrize(
    ("used", "hard", "percent"),
    [
        pytest.param("0", "20", "0%", id="unused"),
        pytest.param("7", "20", "35%", id="exact"),
        pytest.param("1", "3", "33%", id="rounded down"),
        pytest.param("2", "3", "67%", id="rounded up"),
        pytest.param("1", "200", "1%", id="half rounds up"),
        pytest.param("1n", "1k", "1%", id="the least use is not 0"),
        pytest.param("999999999n", "1", "99%", id="almost full is not 100"),
        pytest.param("1", "1", "100%", id="full"),
        pytest.param("1000000001n", "1", "101%", id="the least too much is more than 100"),
        pytest.param("3", "2", "150%", id="exceeded"),
        pytest.param("9999m", "1", "999%", id="almost ten times"),
        pytest.param("10", "1", ">=1000%", id="ten times"),
        pytest.param("1E", "1n", ">=1000%", id="absurdly exceeded"),
        pytest.param("1", "0", ">=1000%", id="used although nothing is allowed"),
        pytest.param("0", "0", "100%", id="nothing allowed and nothing used is full"),
        pytest.param("-1", "20", "0%", id="less than nothing"),
    ],
)
def test_only_a_full_resource_shows_100_percent_and_only_an_unused_one_0(used: str, hard: str, percent: str) -> None:
    assert line(used, hard).percent_text == percent


def test_percent_ends_at_1000() -> None:
    assert line("1k", "1").percent == line("1", "0").percent == 1000


@given(st.integers(0, 10**15), st.integers(1, 10**15))
def test_percent_is_within_one_of_the_exact_share_and_never_lies_at_the_ends(used: int, hard: int) -> None:
    percent, exact = ResourceLine("pods", hard, used).percent, Fraction(100 * used, hard)
    assert (percent == 0) == (used == 0)
    assert (percent == 100) == (used == hard)
    assert (percent > 100) == (used > hard)
    assert percent == 1000 if exact > 1000 else abs(percent - exact) <= 1


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_more_use_never_shows_less_percent(one: int, other: int, hard: int) -> None:
    less, more = sorted([one, other])
    assert ResourceLine("pods", hard, less).percent <= ResourceLine("pods", hard, more).percent


@pytest.mark.parametrize(
    ("used", "hard", "remaining"),
    [("7", "20", "13"), ("20", "20", "0"), ("25", "20", "0"), ("0", "0", "0"), ("1n", "1", "999999999n")],
)
def test_what_remains_is_never_negative(used: str, hard: str, remaining: str) -> None:
    assert line(used, hard).canonical(line(used, hard).remaining) == remaining


@pytest.mark.parametrize(
    ("used", "hard", "exceeded"), [("2", "1", True), ("1", "1", False), ("0", "0", False), ("1n", "0", True)]
)
def test_only_more_use_than_allowed_is_exceeded(used: str, hard: str, exceeded: bool) -> None:
    assert line(used, hard).exceeded is exceeded


@pytest.mark.parametrize(
    ("used", "hard", "near"),
    [
        pytest.param("89", "100", False, id="89%"),
        pytest.param("90", "100", True, id="90%"),
        pytest.param("895m", "1", True, id="89.5%, which shows 90%"),
        pytest.param("1", "1", True, id="full"),
        pytest.param("2", "1", True, id="exceeded"),
        pytest.param("0", "1", False, id="unused"),
        pytest.param("0", "0", False, id="a ban that is kept"),
        pytest.param("1", "0", True, id="a ban that is broken"),
    ],
)
def test_a_resource_is_near_its_limit_from_the_shown_90_percent_on(used: str, hard: str, near: bool) -> None:
    assert NEAR_PERCENT == 90
    assert line(used, hard).near is near
