"""How amounts are spelled: exactly as Kubernetes does in status, and shortened for people in summaries."""

import pytest

from moorage.quantity import NANO, Quantity, canonical, parse_nano, short


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("0.000", "0"),
        ("1n", "1n"),
        ("1000n", "1u"),
        ("100u", "100u"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("1.500", "1500m"),
        ("1000m", "1"),
        ("+5", "5"),
        ("0010", "10"),
        ("2000", "2k"),
        ("2500", "2500"),
        ("2k", "2k"),
        ("1500k", "1500k"),
        ("1000k", "1M"),
        ("1000G", "1T"),
        ("1000P", "1E"),
        ("-1500m", "-1500m"),
        ("-2000", "-2k"),
        ("2e3", "2k"),
        ("3500e6", "3500M"),
    ],
)
def test_decimal_spelling_takes_the_largest_suffix_that_leaves_a_whole_number(text: str, spelled: str) -> None:
    assert canonical(parse_nano(text)) == spelled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("0Gi", "0"),
        ("1024", "1Ki"),
        ("1Gi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1024Mi", "1Gi"),
        ("1049576Ki", "1049576Ki"),
        ("1025", "1025"),
        ("1024Pi", "1Ei"),
        ("-1Gi", "-1Gi"),
        ("-2049Ki", "-2049Ki"),
        ("1000Mi", "1000Mi"),
    ],
)
def test_binary_spelling_takes_the_largest_power_of_1024_that_divides(text: str, spelled: str) -> None:
    assert canonical(parse_nano(text), binary=True) == spelled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        pytest.param("1023", "1023", id="below 1024"),
        pytest.param("0.5Ki", "512", id="512"),
        pytest.param("1000", "1k", id="1000 is below 1024"),
        pytest.param("-1023", "-1023", id="negative below 1024"),
        pytest.param("100m", "100m", id="a tenth of a byte"),
        pytest.param("1024.5", "1024500m", id="a fraction above 1024"),
        pytest.param("0.3Gi", "322122547200m", id="a power of 1024 that leaves a fraction"),
    ],
)
def test_binary_spelling_falls_back_to_decimal(text: str, spelled: str) -> None:
    assert canonical(parse_nano(text), binary=True) == spelled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [("1.5Gi", "1536Mi"), ("1536Mi", "1536Mi"), ("1500M", "1500M"), ("0.5", "500m"), ("0Gi", "0"), ("512Ki", "512Ki")],
)
def test_a_quantity_keeps_the_family_it_was_written_in(text: str, spelled: str) -> None:
    assert str(Quantity.parse(text)) == spelled


@pytest.mark.parametrize(
    ("terms", "spelled"),
    [
        pytest.param(["1Gi", "1024k"], "1049576Ki", id="binary first"),
        pytest.param(["1024k", "1Gi"], "1074765824", id="decimal first"),
        pytest.param(["0", "1Gi"], "1Gi", id="a zero does not decide"),
        pytest.param(["0Gi", "1500k"], "1500k", id="nor does a binary zero"),
        pytest.param(["500m", "0.25"], "750m", id="fractions"),
    ],
)
def test_a_sum_is_spelled_like_its_first_term_that_is_not_0(terms: list[str], spelled: str) -> None:
    total = Quantity(0)
    for term in terms:
        total += Quantity.parse(term)
    assert str(total) == spelled


def test_a_difference_is_exact_and_may_be_negative() -> None:
    assert str(Quantity.parse("1") - Quantity.parse("1500m")) == "-500m"
    assert str(Quantity.parse("2Gi") - Quantity.parse("512Mi")) == "1536Mi"
    assert str(Quantity(0) - Quantity.parse("1Gi")) == "-1Gi"


def test_an_amount_without_a_text_is_spelled_in_decimal() -> None:
    assert str(Quantity(1024 * NANO)) == "1024"


@pytest.mark.parametrize(("one", "other"), [("1", "1000m"), ("1Gi", "1073741824"), ("0", "0Gi"), ("2k", "2e3")])
def test_quantities_are_equal_by_value_whatever_their_spelling(one: str, other: str) -> None:
    assert Quantity.parse(one) == Quantity.parse(other)
    assert hash(Quantity.parse(one)) == hash(Quantity.parse(other))


def test_quantities_are_ordered_by_value() -> None:
    texts = ["1Gi", "100m", "1G", "-1", "2k", "0", "1023Mi"]
    assert sorted(texts, key=Quantity.parse) == ["-1", "0", "100m", "2k", "1G", "1023Mi", "1Gi"]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        pytest.param("7", "7", id="whole"),
        pytest.param("1500m", "1500m", id="five characters stay exact"),
        pytest.param("12345m", "12.3", id="longer is cut to one decimal"),
        pytest.param("999999m", "999.9", id="cut, not rounded up"),
        pytest.param("-12345m", "-12.3", id="negative"),
        pytest.param("123456n", "123.4u", id="small"),
        pytest.param("1234567", "1.2M", id="large"),
        pytest.param("0", "0", id="zero"),
    ],
)
def test_short_spelling_of_plain_amounts(text: str, spelled: str) -> None:
    assert short(parse_nano(text)) == spelled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        pytest.param("18Gi", "18Gi", id="whole"),
        pytest.param("1536Mi", "1.5Gi", id="six characters are cut"),
        pytest.param("512Mi", "512Mi", id="five stay"),
        pytest.param("1049576Ki", "1.0Gi", id="just above 1Gi"),
        pytest.param("2147483647", "1.9Gi", id="one byte below 2Gi"),
        pytest.param("100000Mi", "97.6Gi", id="tens of Gi"),
        pytest.param("1000001Mi", "976.5Gi", id="hundreds of Gi"),
        pytest.param("-1536Mi", "-1.5Gi", id="negative"),
        pytest.param("1500500m", "1.4Ki", id="a fraction of a byte"),
        pytest.param("100m", "100m", id="a tenth of a byte"),
        pytest.param("123456u", "123.4m", id="less than a byte is decimal"),
    ],
)
def test_short_spelling_of_bytes(text: str, spelled: str) -> None:
    assert short(parse_nano(text), binary=True) == spelled


def test_nothing_looks_full_before_it_is() -> None:
    hard = parse_nano("2Gi")
    assert short(hard - NANO, binary=True) != short(hard, binary=True)
