"""`moorage size` for two promises of another kind: days without any wait, and pods that do not wait for a unit."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from moorage.buffer.promise import Promise, percent_text
from moorage.buffer.rare import missing, quiet_span, quiet_span_level, units_for_misses
from moorage.buffer.rate import parse_duration, parse_rate
from moorage.cli.errors import BadInput

_DAY = Fraction(86_400)


def other_promise(
    rate: str | None, resume: str | None, cold: str | None, options: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the answer for `--per Day` or `--misses GoCold`, or None when neither is asked for. Raises BadInput."""
    per_day, go_cold = options["per"] == "Day", options["misses"] == "GoCold"
    if not per_day and not go_cold:
        return None
    option = "--per Day" if per_day else "--misses GoCold"
    if per_day and go_cold:
        raise BadInput("give one of --per Day and --misses GoCold")
    try:
        if rate is None or resume is None or options["percentile"] is None:
            raise BadInput(f"{option} needs --rate, --resume and --percentile")
        level = Promise(Fraction(options["percentile"]) / 100).level
        found = parse_rate(rate), parse_duration(resume), parse_duration(cold) if cold is not None else None
    except (ValueError, ZeroDivisionError) as error:
        raise BadInput(f"{option}: {error}") from error
    return _without_misses(found[0], found[1], level) if go_cold else _quiet_days(*found, level)


def _quiet_days(rate: Fraction, resume: Fraction, cold: Fraction | None, level: Fraction) -> dict[str, Any]:
    """Size each window on its own: so many days have no moment when the active units are used up, or all of them."""
    active = quiet_span(rate, resume, _DAY, level)
    total = max(quiet_span(rate, cold, _DAY, level), active) if cold is not None else active
    reached = quiet_span_level(rate, resume, _DAY, active)
    if cold is not None:
        reached = min(reached, quiet_span_level(rate, cold, _DAY, total))
    why = f"on {percent_text(level)}% of days neither the active units nor all of them are ever used up"
    return _answer(active, total, reached, why)


def _without_misses(rate: Fraction, resume: Fraction, level: Fraction) -> dict[str, Any]:
    units = units_for_misses(rate, resume, 1 - level)
    why = f"{percent_text(level)}% of pods find a unit when those that find none go elsewhere (Erlang B)"
    return _answer(units, units, 1 - missing(rate, resume, units), why)


def _answer(active: int, total: int, level: float, why: str) -> dict[str, Any]:
    return {
        "replicas": total,
        "active": active,
        "standby": total - active,
        "method": "Quantile",
        "boundBy": "serviceLevel",
        "explanation": f"active {active} and standby {total - active}: {why}",
        "attained": {"percentile": float(percent_text(level)), "maxWait": "0s"},
    }
