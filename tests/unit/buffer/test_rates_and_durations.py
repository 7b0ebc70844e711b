"""Rates and durations: what people may write, how much it is, and how it is shown."""

import re
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moorage.api.types import DURATION_PATTERN, RATE_PATTERN
from moorage.buffer.rate import duration_text, parse_duration, parse_rate, rate_text

UNITS = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}


class TestRate:
    @pytest.mark.parametrize(
        ("written", "per_second"),
        [
            (2, Fraction(2)),
            ("2", Fraction(2)),
            (0, Fraction(0)),
            ("0", Fraction(0)),
            ("0.5", Fraction(1, 2)),
            (0.5, Fraction(1, 2)),
            ("0.07", Fraction(7, 100)),
            ("2/s", Fraction(2)),
            ("120/m", Fraction(2)),
            ("1.5/m", Fraction(1, 40)),
            ("90/h", Fraction(1, 40)),
            ("1/h", Fraction(1, 3600)),
            ("007", Fraction(7)),
            ("1" * 32, Fraction("1" * 32)),
            ("999999999.999999999", Fraction(10**18 - 1, 10**9)),
        ],
    )
    def test_it_is_pods_per_second_exactly(self, written: str | int, per_second: Fraction) -> None:
        assert parse_rate(written) == per_second

    @pytest.mark.parametrize(
        "written",
        ["", "-1", "+1", -1, ".5", "5.", "1e3", "1,5", "2 /s", "2/d", "2/", "/s", "2/ms", "two", "2\n", True, "9" * 33],
    )
    def test_anything_else_is_refused_with_examples(self, written: str | int) -> None:
        message = f'{written!r} is not a rate; write pods per second such as 2 or "0.5", or "120/m", "90/h"'
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            parse_rate(written)

    @pytest.mark.parametrize(
        ("per_second", "shown"),
        [
            (Fraction(0), "0"),
            (Fraction(2), "2"),
            (Fraction(100), "100"),
            (Fraction(1, 2), "0.5"),
            (Fraction(7, 100), "0.07"),
            (Fraction(1, 10**9), "0.000000001"),
            (Fraction(10**18 - 1, 10**9), "999999999.999999999"),
            (Fraction(12345678901, 10**10), "1.23457"),
            (Fraction(1, 3), "0.333333"),
            (Fraction(2, 3), "0.666667"),
            (Fraction(1, 3600), "0.000277778"),
            (Fraction(1, 36 * 10**11), "0.000000000000277778"),
            (Fraction(2000, 3), "666.667"),
        ],
    )
    def test_it_is_shown_exactly_where_nine_decimals_do_and_never_as_0_when_it_is_not(
        self, per_second: Fraction, shown: str
    ) -> None:
        assert rate_text(per_second) == shown

    @given(st.builds(Fraction, st.integers(0, 10**6), st.integers(1, 10**6)))
    def test_what_is_shown_is_the_rate_to_six_digits(self, rate: Fraction) -> None:
        shown = parse_rate(rate_text(rate)) if len(rate_text(rate)) <= 32 else Fraction(rate_text(rate))
        assert abs(shown - rate) <= rate / 10**5
        assert (shown == 0) == (rate == 0)

    @given(
        st.integers(0, 999_999_999), st.sampled_from(["", ".5", ".000000001"]), st.sampled_from(["", "/s", "/m", "/h"])
    )
    def test_whatever_the_schema_accepts_is_read(self, whole: int, part: str, per: str) -> None:
        written = f"{whole}{part}{per}"
        assert re.fullmatch(RATE_PATTERN, written)
        assert parse_rate(written) == Fraction(f"{whole}{part}") / {"/m": 60, "/h": 3600}.get(per, 1)


class TestDuration:
    @pytest.mark.parametrize(
        ("written", "seconds"),
        [
            ("30s", Fraction(30)),
            ("0", Fraction(0)),
            ("0s", Fraction(0)),
            ("1m30s", Fraction(90)),
            ("1h", Fraction(3600)),
            ("1h2m3s4ms", Fraction(3723004, 1000)),
            ("1.5s", Fraction(3, 2)),
            ("0.5h", Fraction(1800)),
            ("500ms", Fraction(1, 2)),
            ("5us", Fraction(5, 10**6)),
            ("5µs", Fraction(5, 10**6)),
            ("7ns", Fraction(7, 10**9)),
            ("90m", Fraction(5400)),
            ("30s1m", Fraction(90)),
        ],
    )
    def test_it_is_read_as_go_does_exactly(self, written: str, seconds: Fraction) -> None:
        assert parse_duration(written) == seconds

    @pytest.mark.parametrize(
        "written",
        ["", "30", "s", "30 s", " 30s", "30s ", "30S", "30sec", "1d", "1m30", "x1s", "1s-1s", "1s\n", "30s" * 20],
    )
    def test_anything_else_is_refused_with_examples(self, written: str) -> None:
        with pytest.raises(
            ValueError, match=f"^{re.escape(repr(written))} is not a duration; write one such as 30s, 1m30s or 500ms"
        ):
            parse_duration(written)

    @pytest.mark.parametrize("written", ["-30s", "+30s"])
    def test_a_sign_is_refused_and_said_to_be_the_fault(self, written: str) -> None:
        with pytest.raises(ValueError, match=r"without a sign$"):
            parse_duration(written)

    def test_a_bare_number_is_no_duration(self) -> None:
        with pytest.raises(ValueError, match=r"^30 is not a duration"):
            parse_duration(30)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("seconds", "shown"),
        [
            (Fraction(0), "0s"),
            (Fraction(30), "30s"),
            (Fraction(90), "90s"),
            (Fraction(100), "100s"),
            (Fraction(3600), "3600s"),
            (Fraction(3, 2), "1.5s"),
            (Fraction(1), "1s"),
            (Fraction(1, 2), "500ms"),
            (Fraction(1, 2000), "0.5ms"),
            (Fraction(1, 10**9), "0.000001ms"),
        ],
    )
    def test_it_is_shown_in_seconds_and_below_one_in_milliseconds(self, seconds: Fraction, shown: str) -> None:
        assert duration_text(seconds) == shown

    @given(st.integers(0, 10**15).map(lambda nanoseconds: Fraction(nanoseconds, 10**9)))
    def test_what_is_shown_is_read_back_unchanged(self, seconds: Fraction) -> None:
        assert parse_duration(duration_text(seconds)) == seconds

    @given(
        st.lists(
            st.tuples(st.integers(0, 9999), st.sampled_from(["", ".5", ".001"]), st.sampled_from([*UNITS])),
            min_size=1,
            max_size=5,
        )
    )
    def test_whatever_the_schema_accepts_is_read(self, parts: list[tuple[int, str, str]]) -> None:
        written = "".join(f"{whole}{part}{unit}" for whole, part, unit in parts)
        assume(len(written) <= 32)
        assert re.fullmatch(DURATION_PATTERN, written)
        exact = sum((Fraction(f"{whole}{part}") * UNITS[unit] for whole, part, unit in parts), Fraction(0))
        assert parse_duration(written) == exact
