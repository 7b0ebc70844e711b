"""Messages repeat what a user wrote, and cut what is too long to be read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import moorage
from moorage.api import SpecError, parse_capacity_buffer_spec, parse_namespace_quota_spec
from moorage.buffer.rate import parse_duration, parse_rate
from moorage.buffer.refill import parse_refill
from moorage.buffer.schedule import recurrence
from moorage.density.selectors import parse_selector
from moorage.quantity import parse_nano
from moorage.quoting import MOST_CHARACTERS, MOST_OF_A_NAME, quoted, shortened

LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("2 cores", "'2 cores'", id="a short text"),
        pytest.param("x" * 60, f"'{'x' * 60}'", id="as long as may be"),
        pytest.param("x" * 61, f"'{'x' * 60}...'", id="longer"),
        pytest.param("a\nb", "'a\\nb'", id="in one line"),
        pytest.param(30, "30", id="a number"),
        pytest.param(10**100, f"1{'0' * 59}...", id="a long number"),
    ],
)
def test_a_value_is_shown_in_quotes_and_cut(value: object, shown: str) -> None:
    assert quoted(value) == shown


def test_a_name_that_can_be_right_is_shown_whole() -> None:
    name = "n" * MOST_OF_A_NAME
    assert shortened(name, MOST_OF_A_NAME) == name


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(parse_nano, id="a quantity"),
        pytest.param(parse_rate, id="a rate"),
        pytest.param(parse_duration, id="a duration"),
        pytest.param(parse_refill, id="a refill"),
        pytest.param(lambda text: parse_selector(f"{text} ("), id="a selector"),
        pytest.param(lambda text: recurrence("0 8 * * *", text, timedelta(hours=1)), id="a time zone"),
    ],
)
def test_a_reader_cuts_what_it_refuses(read: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match="is not a") as refused:
        read(LONG)
    assert "x" * MOST_CHARACTERS + "..." in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"backend": LONG}, id="a word that is none of these"),
        pytest.param({"replicas": LONG}, id="a value of another type"),
        pytest.param({"replicas": 10**400}, id="a number that is too large"),
        pytest.param({LONG: 1}, id="a field that is not known"),
        pytest.param({"limits": {LONG: 1}}, id="the name of a resource"),
        pytest.param({"limits": {LONG: []}}, id="the path of a value"),
        pytest.param({"limits": {"cpu": LONG}}, id="a quantity"),
    ],
)
def test_a_spec_that_is_refused_is_not_repeated_at_length(spec: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as refused:
        parse_capacity_buffer_spec({"podTemplateRef": {"name": "unit"}, **spec})
    assert len(str(refused.value)) < 2000


def test_nor_is_a_quota() -> None:
    with pytest.raises(SpecError) as refused:
        parse_namespace_quota_spec({"hard": {f"{LONG}{number}": 1 for number in range(3)}})
    assert len(str(refused.value)) < 3 * 2 * MOST_OF_A_NAME + 1000


def test_every_message_that_quotes_a_value_cuts_it() -> None:
    """`!r` repeats whatever it is given."""
    root = Path(moorage.__file__).parent
    found = [str(each.relative_to(root)) for each in root.rglob("*.py") if "!r}" in each.read_text(encoding="utf-8")]
    assert found == []
