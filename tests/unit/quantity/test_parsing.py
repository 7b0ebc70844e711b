"""Which texts are quantities, and how much they are."""

from fractions import Fraction

import pytest

from moorage.quantity import NANO, Quantity, QuantityError, number_text, parse_nano


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("2", 2),
        ("-1", -1),
        ("+5", 5),
        ("0010", 10),
        ("0.5", Fraction(1, 2)),
        ("1.500", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("500m", Fraction(1, 2)),
        ("-250m", Fraction(-1, 4)),
        ("2k", 2_000),
        ("2M", 2 * 10**6),
        ("2G", 2 * 10**9),
        ("2T", 2 * 10**12),
        ("2P", 2 * 10**15),
        ("2E", 2 * 10**18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1.5Gi", 3 * 2**29),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("7Ei", 7 * 2**60),
        ("1.Gi", 2**30),
        ("2e3", 2_000),
        ("2E3", 2_000),
        ("2e+3", 2_000),
        ("2500e-3", Fraction(5, 2)),
        ("1e0", 1),
        ("0e99", 0),
        ("9223372036854775807", 2**63 - 1),
        pytest.param("1e31", 10**31, id="the largest power"),
        pytest.param("1" + "0" * 40 + "e-40", 1, id="many digits and a small exponent"),
        pytest.param("0" * 63 + "7", 7, id="the longest text"),
    ],
)
def test_a_quantity_is_read_exactly(text: str, value: Fraction) -> None:
    assert Fraction(parse_nano(text), NANO) == value


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        pytest.param("0.1n", 1, id="a tenth of a nano-unit"),
        pytest.param("0.0000000001", 1, id="ten decimals"),
        pytest.param("1e-30", 1, id="far below"),
        pytest.param("1e-9999999999", 1, id="absurdly far below"),
        pytest.param("9" * 52 + "e-113", 1, id="just where nothing but the rounding is left"),
        pytest.param("1.0000000001", NANO + 1, id="just above one"),
        pytest.param("-0.1n", -1, id="negative, away from zero"),
        pytest.param("0.0000000001Ki", 103, id="binary: 102.4 nano-units"),
    ],
)
def test_what_is_finer_than_a_nano_unit_is_rounded_away_from_zero(text: str, nano: int) -> None:
    assert parse_nano(text) == nano


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "+",
        ".",
        "Gi",
        "1 Gi",
        " 1",
        "1\n",
        "1K",
        "1ki",
        "1mi",
        "1gi",
        "1Zi",
        "1e",
        "1e1.5",
        "1e3Gi",
        "1.2.3",
        "--1",
        "1_000",
        "0x10",
        "1,5",
        "inf",
        "nan",
        "\u0661",
        "\u0661Gi",
        "4 cores",
    ],
)
def test_anything_else_is_refused_with_what_was_given_and_an_example(text: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse_nano(text)
    assert str(refused.value) == (
        f"{text!r} is not a quantity; write a number with an optional suffix "
        f"(n, u, m, k, M, G, T, P, E, or Ki, Mi, Gi, Ti, Pi, Ei), such as 2, 500m or 1.5Gi"
    )


@pytest.mark.parametrize("text", ["1e32", "1e9999999999", "-1e32", "1.0e33"])
def test_a_number_too_large_to_be_meant_is_refused_quickly(text: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse_nano(text)
    assert str(refused.value) == f"{text!r} is too large; the largest quantity is 9223372036854775807"


@pytest.mark.parametrize("length", [65, 10_000])
def test_a_very_long_text_is_refused_and_shown_cut(length: int) -> None:
    with pytest.raises(QuantityError, match=f"^'{'1' * 60}...' is not a quantity"):
        parse_nano("1" * length)


def test_amounts_beyond_int64_stay_exact_and_are_for_the_schema_to_refuse() -> None:
    assert parse_nano("16Ei") == 2**64 * NANO


@pytest.mark.parametrize(
    ("value", "text"),
    [(2, "2"), (0, "0"), (-3, "-3"), (0.5, "0.5"), (1e22, "1e+22"), (1e-05, "1e-05"), (10**20, "1" + "0" * 20)],
)
def test_a_bare_number_of_yaml_or_json_is_read_by_its_digits(value: float, text: str) -> None:
    assert number_text(value) == text
    assert Quantity.parse(value) == Quantity.parse(text)


@pytest.mark.parametrize("value", [True, False, float("inf"), float("-inf"), float("nan")])
def test_booleans_and_what_is_no_number_are_refused(value: float) -> None:
    with pytest.raises(QuantityError, match=f"^{value!r} is not a quantity; write a number such as 2, 500m or 1.5Gi$"):
        Quantity.parse(value)


def test_an_integer_too_large_for_a_float_is_refused_like_any_other_text() -> None:
    with pytest.raises(QuantityError, match="is not a quantity"):
        Quantity.parse(10**400)
