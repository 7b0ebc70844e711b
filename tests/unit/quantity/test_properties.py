"""What holds for all quantities, compared with exact fractions."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from moorage.quantity import NANO, Quantity, canonical, parse_nano, short

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
AMOUNTS = st.integers(min_value=-(2**63) * NANO, max_value=2**63 * NANO)
"""Nano-units."""


@st.composite
def written_quantities(draw: st.DrawFn) -> tuple[str, Fraction]:
    """Return a text and its value, which need not be a whole number of nano-units."""
    sign = draw(st.sampled_from(["", "-", "+"]))
    whole, part = draw(st.integers(0, 10**12)), draw(st.text("0123456789", max_size=12))
    suffix, factor = draw(
        st.one_of(
            st.sampled_from([(suffix, Fraction(10) ** power) for suffix, power in DECIMAL.items()]),
            st.sampled_from([(suffix, Fraction(2**power)) for suffix, power in BINARY.items()]),
            st.integers(-12, 12).map(lambda power: (f"e{power}", Fraction(10) ** power)),
        )
    )
    value = (whole + Fraction(int(part or "0"), 10 ** len(part))) * factor
    return f"{sign}{whole}{'.' + part if part else ''}{suffix}", -value if sign == "-" else value


def rounded_away_from_zero(value: Fraction) -> int:
    nano = value * NANO
    return -(-nano // 1) if nano > 0 else nano // 1


@given(written_quantities())
def test_what_is_read_is_the_value_rounded_to_nano_units_away_from_zero(written: tuple[str, Fraction]) -> None:
    text, value = written
    assert parse_nano(text) == rounded_away_from_zero(value)


@given(AMOUNTS, st.booleans())
def test_canonical_spelling_is_read_back_unchanged(nano: int, binary: bool) -> None:
    assert parse_nano(canonical(nano, binary=binary)) == nano


@given(AMOUNTS, st.booleans())
def test_canonical_spelling_is_a_fixed_point(nano: int, binary: bool) -> None:
    spelled = canonical(nano, binary=binary)
    assert canonical(parse_nano(spelled), binary=binary) == spelled


@given(written_quantities())
def test_a_quantity_survives_being_written_and_read(written: tuple[str, Fraction]) -> None:
    quantity = Quantity.parse(written[0])
    assert Quantity.parse(str(quantity)) == quantity


@given(written_quantities(), written_quantities())
def test_order_is_the_order_of_exact_values(one: tuple[str, Fraction], other: tuple[str, Fraction]) -> None:
    exact = rounded_away_from_zero(one[1]), rounded_away_from_zero(other[1])
    assert (Quantity.parse(one[0]) < Quantity.parse(other[0])) == (exact[0] < exact[1])
    assert (Quantity.parse(one[0]) == Quantity.parse(other[0])) == (exact[0] == exact[1])


@given(st.lists(AMOUNTS.map(lambda nano: canonical(nano, binary=nano % 2 == 0))))
def test_sums_equal_the_sums_of_exact_fractions(texts: list[str]) -> None:
    total = sum((Quantity.parse(text) for text in texts), Quantity(0))
    assert Fraction(total.nano, NANO) == sum((Fraction(parse_nano(text), NANO) for text in texts), Fraction(0))


@given(AMOUNTS, st.booleans())
def test_the_short_spelling_never_says_more_than_there_is(nano: int, binary: bool) -> None:
    shown = parse_nano(short(nano, binary=binary))
    assert abs(shown) <= abs(nano)
    assert abs(nano) - abs(shown) <= abs(nano) // 10
    assert (shown < 0) == (nano < 0)


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_clear_error(text: str) -> None:
    try:
        Quantity.parse(text)
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017
