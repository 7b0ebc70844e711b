"""The numbers in a buffer's `sizing`: rates and latencies that may be measured, prices, means and percentiles."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from msgspec import Meta

from moorage.api.rules import Rule, rules
from moorage.api.types import DURATION_PATTERN, RATE_PATTERN, doc, duration_seconds, rate_rules

MEASURED = "Measured"

_MEASURED_RATE = RATE_PATTERN.replace("^", "^(Measured|").replace("$", ")$")
_MEASURED_DURATION = DURATION_PATTERN.replace("^", "^(Measured|").replace("$", ")$")
_DECIMAL = r"^-?[0-9]{1,9}(\.[0-9]{1,9})?$"

RateOrMeasured = Annotated[
    int | str,
    doc('Pods per time: 2, "0.5", "120/m", or Measured', pattern=_MEASURED_RATE, maxLength=32),
    rules(*rate_rules(_MEASURED_RATE, "; or Measured")),
]
DurationOrMeasured = Annotated[
    str,
    Meta(pattern=_MEASURED_DURATION, max_length=32),
    rules(
        Rule(
            cel=f'self.matches(r"{_MEASURED_DURATION}")',
            holds=lambda value: value == MEASURED or duration_seconds(value) is not None,
            message=(
                "is not a duration: write a number and a unit (ms, s, m, h), such as 30s, 1m30s or 500ms; or Measured"
            ),
        ),
        Rule(
            cel='!self.startsWith("-")',
            holds=lambda value: not value.startswith("-"),
            message="must not be negative",
        ),
        Rule(
            cel=f'!self.matches(r"{DURATION_PATTERN}") || duration(self) <= duration("24h")',
            holds=lambda value: (duration_seconds(value) or 0) <= 24 * 3600,
            message="must be at most 24h",
        ),
    ),
]


def _decimal(what: str, example: str, *, positive: bool = False) -> tuple[Any, ...]:
    bound = Rule(
        cel='type(self) == int ? self >= 0 : !self.startsWith("-")',
        holds=lambda value: not str(value).startswith("-"),
        message="must not be negative",
    )
    if positive:
        bound = Rule(
            cel=f'(type(self) != int && !self.matches(r"{_DECIMAL}")) || double(self) >= 1.0',
            holds=lambda value: not _is_decimal(value) or Fraction(str(value)) >= 1,
            message="must be at least 1",
        )
    return (
        Rule(
            cel=f'type(self) == int ? -1000000000 < self && self < 1000000000 : self.matches(r"{_DECIMAL}")',
            holds=_is_decimal,
            message=f'is not {what}: write a number such as {example}; quote what has a point, such as "0.05"',
        ),
        bound,
    )


def _is_decimal(value: Any) -> bool:
    return re.fullmatch(_DECIMAL, str(value)) is not None


Price = Annotated[int | str, doc("", pattern=_DECIMAL, maxLength=32), rules(*_decimal("a price", '3 or "0.05"'))]
Mean = Annotated[
    int | str, doc("", pattern=_DECIMAL, maxLength=32), rules(*_decimal("a mean", '5 or "2.5"', positive=True))
]
Percentile = Annotated[
    int | str,
    doc("", pattern=_DECIMAL, maxLength=32),
    rules(
        *_decimal("a percentile", '99 or "99.9"')[:1],
        Rule(
            cel=(
                f'(type(self) != int && !self.matches(r"{_DECIMAL}")) || (double(self) > 0.0 && double(self) < 100.0)'
            ),
            holds=lambda value: not _is_decimal(value) or 0 < Fraction(str(value)) < 100,
            message=(
                'must be above 0 and below 100, such as 99 or "99.9": random arrivals have no largest burst, so 100 '
                "cannot be promised"
            ),
        ),
    ),
]
