"""Conditions before they are written: the writer adds when each last changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from moorage.api.conditions import Condition

ConditionStatus = Literal["True", "False", "Unknown"]

COUNTING, RESOLVING = "Counting", "Resolving"
"""Reasons of a Ready that is Unknown only until something has been read for the first time."""


def condition(type_: str, status: ConditionStatus, reason: str, message: str, *, generation: int) -> Condition:
    """Return one condition, without the time of its last transition."""
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time="",
        observed_generation=generation,
    )


def is_provisional(status: Mapping[str, Any]) -> bool:
    """Tell whether a status only says that the real one follows in a moment."""
    return any(each["reason"] in (COUNTING, RESOLVING) for each in status.get("conditions") or ())


def listed(items: Iterable[str]) -> str:
    """Join names as a sentence does: `a`, `a and b`, `a, b and c`."""
    *most, last = list(items) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def plural(count: int, noun: str) -> str:
    """Return `1 pod`, `2 pods`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
