"""Rates and durations as people write them, read exactly."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction

from moorage.quoting import quoted

_RATE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?:/(?P<per>s|m|h))?")
_SECONDS_PER = {"s": 1, "m": 60, "h": 3600}

_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s|us|µs|ns)")
_DURATION_UNIT = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_LONGEST = 32


def parse_rate(value: str | int) -> Fraction:
    """Parse pods per second from `2`, `"0.5"`, `"120/m"` or `"90/h"`.

    Raises ValueError with a sentence for the reader.
    """
    text = str(value)
    match = _RATE.fullmatch(text) if len(text) <= _LONGEST and not isinstance(value, bool) else None
    if match is None:
        raise ValueError(f'{quoted(value)} is not a rate; write pods per second such as 2 or "0.5", or "120/m", "90/h"')
    return Fraction(match["number"]) / _SECONDS_PER[match["per"] or "s"]


def parse_duration(text: str) -> Fraction:
    """Parse seconds from a Go duration such as `30s`, `1m30s` or `500ms`; `0` needs no unit.

    Raises ValueError with a sentence for the reader.
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ValueError(f"{quoted(text)} is not a duration; write one such as 30s, 1m30s or 500ms")
    if text == "0":
        return Fraction(0)
    total, end = Fraction(0), 0
    for match in _DURATION_PART.finditer(text):
        if match.start() != end:
            break
        total, end = total + Fraction(match[1]) * _DURATION_UNIT[match[2]], match.end()
    if end != len(text) or not text:
        raise ValueError(f"{quoted(text)} is not a duration; write one such as 30s, 1m30s or 500ms, without a sign")
    return total


def rate_text(rate: Fraction) -> str:
    """Spell a rate in pods per second: `2`, `0.5`, or six digits of what has no short decimal (`0.0111111`)."""
    return _decimal(rate)


def duration_text(seconds: Fraction) -> str:
    """Spell a duration in seconds, as formulas show it: `30s`, `90s`; `500ms` below a second."""
    if 0 < seconds < 1:
        return f"{_decimal(seconds * 1000)}ms"
    return f"{_decimal(seconds)}s"


def span_text(seconds: float) -> str:
    """Spell a span roughly, in the largest unit of which there is one: `2.5 days`, `57 minutes`."""
    for name, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return _count(seconds / length, name)
    return _count(seconds, "second")


def _count(amount: float, name: str) -> str:
    text = f"{amount:.1f}".removesuffix(".0")
    return f"{text} {name}" if text == "1" else f"{text} {name}s"


def _decimal(value: Fraction) -> str:
    """Spell exactly what nine decimals can hold, else the nearest number of six significant digits."""
    exact = (value * 10**9).denominator == 1
    digits = Context(prec=64 if exact else 6).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = format(digits, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
