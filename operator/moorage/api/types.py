"""Field types shared by both kinds: what they accept, in the schema and in words."""

from __future__ import annotations

import re
from fractions import Fraction
from inspect import cleandoc
from typing import Annotated, Any

from msgspec import Meta

from moorage.api.rules import Rule, rules
from moorage.buffer.rate import parse_duration
from moorage.quantity import MAX_INT64, NANO, QuantityError, parse_nano

QUANTITY_PATTERN = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$"
RATE_PATTERN = r"^-?[0-9]{1,9}(\.[0-9]{1,9})?(/[smh])?$"
DURATION_PATTERN = r"^-?(0|([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms)|[0-9]{1,5}(\.[0-9]{1,9})?[smh])+)$"
_BEYOND = (MAX_INT64 + 1) * NANO


def doc(text: str, **schema: Any) -> Meta:
    """Describe a field for `kubectl explain`: lines are joined, blank lines and indented lines stay.

    Further arguments are keywords of the field's schema.
    """
    lines: list[str] = []
    for line in cleandoc(text).splitlines():
        if lines and line and lines[-1] and not line.startswith(" ") and not lines[-1].startswith(" "):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return Meta(description="\n".join(lines), extra_json_schema=schema or None)


def map_of_at_most(count: int) -> Meta:
    """Bound the number of keys, as the API server's CEL budget demands."""
    return Meta(extra_json_schema={"maxProperties": count})


def quantity_nano(value: Any) -> int | None:
    """Return the amount in nano-units, just beyond int64 for absurd exponents, or None for what is not a quantity."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value)
    try:
        return parse_nano(text)
    except QuantityError:
        if re.fullmatch(QUANTITY_PATTERN, text) is None:
            return None
        return _BEYOND * (-1 if text.startswith("-") else 1)


def compared_nano(value: Any) -> int | None:
    """Return an amount in nano-units as the API server's CEL compares it, or None for what it cannot compare.

    What is beyond int64 is cut to it, and a suffix alone is 0; both are faults of their own.
    """
    if isinstance(value, str) and re.fullmatch(r"[+-]?([KMGTPE]i|[numkMGTPE])", value):
        return 0
    nano = quantity_nano(value)
    return None if nano is None else max(-MAX_INT64 * NANO, min(MAX_INT64 * NANO, nano))


def duration_seconds(text: str) -> Fraction | None:
    """Return a duration in seconds, negative ones too, or None for what is not one."""
    if re.fullmatch(DURATION_PATTERN, text) is None:
        return None
    seconds = parse_duration(text.removeprefix("-"))
    return -seconds if text.startswith("-") else seconds


def _is_quantity(value: Any) -> bool:
    return quantity_nano(value) is not None


def _within_int64(value: Any) -> bool:
    return str(value) == str(MAX_INT64) or (quantity_nano(value) or 0) < MAX_INT64 * NANO


_QUANTITY_RULES = rules(
    Rule(
        cel=f'type(self) == int || (self.matches(r"{QUANTITY_PATTERN}") && isQuantity(self))',
        holds=_is_quantity,
        message=(
            "is not a quantity: write a number with an optional suffix (m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei), "
            'such as 4, "500m", "0.5" or 64Gi'
        ),
    ),
    Rule(
        cel='type(self) == int ? self >= 0 : !isQuantity(self) || !quantity(self).isLessThan(quantity("0"))',
        holds=lambda value: (quantity_nano(value) or 0) >= 0,
        message="must not be negative",
    ),
    Rule(
        cel=(
            f'type(self) == int || !isQuantity(self) || self == "{MAX_INT64}" || '
            f'quantity(self).isLessThan(quantity("{MAX_INT64}"))'
        ),
        holds=_within_int64,
        message=f"is too large: Kubernetes counts up to {MAX_INT64}, which is just below 8Ei",
    ),
)

Quantity = Annotated[
    int | str,
    doc(
        """
        A Kubernetes quantity, zero or more: a whole number (4), or text with an optional suffix ("500m", "1.5", 64Gi).
        Quote fractions ("0.5"): the API server answers a bare 0.5 with: must be of type integer,string: "number".
        """,
        pattern=QUANTITY_PATTERN,
        maxLength=32,
    ),
    _QUANTITY_RULES,
]

QuantityText = Annotated[str, doc("A quantity in Kubernetes' canonical spelling, such as 7, 500m or 18Gi.")]


def rate_rules(pattern: str, more: str = "") -> tuple[Rule, ...]:
    """Return what makes a rate of a value; `more` adds to the complaint what the pattern allows besides."""
    return (
        Rule(
            cel=f'type(self) == int ? -1000000000 < self && self < 1000000000 : self.matches(r"{pattern}")',
            holds=lambda value: re.fullmatch(pattern, str(value)) is not None,
            message=(
                'is not a rate: write pods per second as a number, such as 2 or "0.5", or with a unit of time, '
                f'such as "120/m" or "90/h"; at most 9 digits before and after the point{more}'
            ),
        ),
        Rule(
            cel='type(self) == int ? self >= 0 : !self.startsWith("-")',
            holds=lambda value: not str(value).startswith("-"),
            message="must not be negative",
        ),
    )


Rate = Annotated[
    int | str,
    doc('Pods per time: 2, "0.5", "120/m"', pattern=RATE_PATTERN, maxLength=32),
    rules(*rate_rules(RATE_PATTERN)),
]

_DURATION_RULES = (
    Rule(
        cel=f'self.matches(r"{DURATION_PATTERN}")',
        holds=lambda value: duration_seconds(value) is not None,
        message="is not a duration: write a number and a unit (ms, s, m, h), such as 30s, 1m30s or 500ms",
    ),
    Rule(
        cel='!self.startsWith("-")',
        holds=lambda value: not value.startswith("-"),
        message="must not be negative",
    ),
)


def _at_most_hours(hours: int) -> Rule:
    return Rule(
        cel=f'!self.matches(r"{DURATION_PATTERN}") || duration(self) <= duration("{hours}h")',
        holds=lambda value: (duration_seconds(value) or 0) <= hours * 3600,
        message=f"must be at most {hours}h",
    )


Duration = Annotated[str, Meta(pattern=DURATION_PATTERN, max_length=32), rules(*_DURATION_RULES, _at_most_hours(24))]
DurationOfAWeek = Annotated[
    str, Meta(pattern=DURATION_PATTERN, max_length=32), rules(*_DURATION_RULES, _at_most_hours(7 * 24))
]


def more_than_zero(why: str) -> Meta:
    """Refuse a duration of zero, with the reason."""
    return rules(
        Rule(
            cel=f'!self.matches(r"{DURATION_PATTERN}") || duration(self) != duration("0s")',
            holds=lambda value: duration_seconds(value) != 0,
            message=f"must be more than zero: {why}",
        )
    )


Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
ObjectName = Annotated[str, Meta(min_length=1, max_length=253)]
