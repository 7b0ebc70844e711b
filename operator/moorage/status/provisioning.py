"""What a buffer's status says of how its units are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.api.conditions import Condition
from moorage.api.presence import Tier
from moorage.api.provisioning import BackendStatus, RefillStatus
from moorage.backends.allocation import Allocation
from moorage.backends.choice import (
    ASKING,
    KARPENTER,
    NOT_SUSPENDABLE,
    PLACEHOLDERS_RUN,
    STRATEGY_IGNORED,
    Backend,
    Choice,
    Standby,
)
from moorage.backends.warnings import Finding
from moorage.buffer.life import Adjustment, Life
from moorage.buffer.refill import Withheld
from moorage.buffer.stabilization import Target, Wanted
from moorage.status.capacitybuffer import READY, STANDBY_UNSUPPORTED
from moorage.status.findings import ConditionStatus, condition, plural
from moorage.status.schedule import Scheduled, schedule_note

WARNING, PAUSED = "Warning", "Paused"
_DECIDED = (KARPENTER, STRATEGY_IGNORED, NOT_SUSPENDABLE, PLACEHOLDERS_RUN)


def with_choice(status: CapacityBufferStatus, choice: Choice) -> CapacityBufferStatus:
    """Add the backend."""
    backend = BackendStatus(name=choice.backend.value, controller=choice.controller, reason=choice.reason)
    return msgspec.structs.replace(status, backend=backend)


def with_backend(status: CapacityBufferStatus, choice: Choice, allocation: Allocation) -> CapacityBufferStatus:
    """Add the backend, and where the units go."""
    active, standby = allocation.active + allocation.refused, allocation.standby + allocation.withheld
    display = status.display
    if display is not None:
        display = msgspec.structs.replace(display, active=str(active), standby=str(standby))
    changed = msgspec.structs.replace(
        with_choice(status, choice), active=Tier(replicas=active), standby=Tier(replicas=standby), display=display
    )
    if choice.standby is Standby.SUPPORTED or not (allocation.withheld or allocation.folded):
        return changed
    return with_condition(changed, _standby_unsupported(choice, allocation, status.observed_generation))


def with_adjustment(status: CapacityBufferStatus, adjustment: Adjustment) -> CapacityBufferStatus:
    """Add what is withheld by `refill`."""
    if not adjustment.withheld:
        return status
    refill = RefillStatus(withheld=adjustment.withheld, next_time=time_text(adjustment.refill_at))
    return msgspec.structs.replace(status, refill=refill)


def with_schedule(status: CapacityBufferStatus, found: Scheduled, spec: CapacityBufferSpec) -> CapacityBufferStatus:
    """Say in the explanation which schedule gives the size; `spec` is the one that has the schedules."""
    note = schedule_note(found, spec)
    if not note or status.sizing is None:
        return status
    said = status.sizing.explanation
    for name in ("replicas", "percentage"):
        said = said.replace(f"from spec.{name}", f"from {found.source}.{name}")
    sizing = msgspec.structs.replace(status.sizing, explanation=f"{said}; {note}")
    return msgspec.structs.replace(status, sizing=sizing)


def life_before(status: Mapping[str, Any], *, now: float) -> Life:
    """Return what a status says that was remembered before a restart; the size in it counts as wanted until now."""
    replicas, active = status.get("replicas"), (status.get("active") or {}).get("replicas")
    history = (Wanted(Target(replicas, active), now),) if replicas is not None and active is not None else ()
    refill = status.get("refill") or {}
    withheld = Withheld(int(refill.get("withheld") or 0), time_seconds(str(refill.get("nextTime") or "")))
    return Life(history, withheld)


def choice_before(status: Mapping[str, Any]) -> Choice | None:
    """Return what was chosen before a restart, as far as a status says; None when it does not say."""
    backend = status.get("backend") or {}
    if backend.get("name") not in {each.value for each in Backend}:
        return None
    name, found = Backend(backend["name"]), _standby_before(status)
    choice = Choice(
        backend=name,
        controller=str(backend.get("controller") or ""),
        reason=str(backend.get("reason") or ""),
        standby=Standby.ASKED,
    )
    reason = found.get("reason")
    if reason in _DECIDED:
        # What was done about it comes last, and is said anew.
        message = str(found.get("message") or "").rpartition("; ")[0]
        return replace(choice, standby=Standby.UNSUPPORTED, standby_reason=reason, standby_message=message)
    if name is Backend.AUTOSCALER and found and reason != ASKING and _standby_units(status):
        return replace(choice, standby=Standby.SUPPORTED)
    return choice


def is_folded(status: Mapping[str, Any]) -> bool:
    """Tell whether a status says that standby units are among the active ones."""
    return _standby_before(status).get("reason") in (*_DECIDED, ASKING) and not _standby_units(status)


def _standby_before(status: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions: Iterable[Mapping[str, Any]] = status.get("conditions") or ()
    return next((each for each in conditions if each.get("type") == STANDBY_UNSUPPORTED), {})


def _standby_units(status: Mapping[str, Any]) -> int:
    return int((status.get("standby") or {}).get("replicas") or 0)


def with_findings(status: CapacityBufferStatus, findings: Sequence[Finding]) -> CapacityBufferStatus:
    """Add the warnings, if there are any."""
    if not findings:
        return status
    message = "; ".join(each.message for each in findings)
    found = condition(WARNING, "True", findings[0].reason, message, generation=status.observed_generation)
    return with_condition(status, found)


def with_trouble(status: CapacityBufferStatus, trouble: Finding | None) -> CapacityBufferStatus:
    """Say that the objects which make the units could not be written."""
    if trouble is None:
        return status
    generation = status.observed_generation
    return with_condition(status, condition(READY, "False", trouble.reason, trouble.message, generation=generation))


def as_paused(status: CapacityBufferStatus, annotation: str) -> CapacityBufferStatus:
    """Say that nothing is changed for now."""
    message = f"the annotation {annotation} is true: what exists stays as it is, and the size is computed alone"
    generation = status.observed_generation
    return with_condition(status, condition(PAUSED, "True", "Annotated", message, generation=generation))


def with_condition(status: CapacityBufferStatus, new: Condition) -> CapacityBufferStatus:
    """Put a condition in the place of the one of its type, or behind all others."""
    replaced = tuple(new if each.type == new.type else each for each in status.conditions)
    conditions = replaced if any(each.type == new.type for each in status.conditions) else (*status.conditions, new)
    return msgspec.structs.replace(status, conditions=conditions)


def time_text(seconds: float | None) -> str:
    """Spell a time in seconds since the epoch as Kubernetes does; an empty text for None."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds is not None else ""


def time_seconds(text: str) -> float | None:
    """Read the same; None for an empty text.

    Raises ValueError.
    """
    return datetime.fromisoformat(text).timestamp() if text else None


def _standby_unsupported(choice: Choice, allocation: Allocation, generation: int) -> Condition:
    is_asked = choice.standby is Standby.ASKED
    message, units = choice.standby_message, plural(allocation.folded or allocation.withheld, "standby unit")
    if allocation.folded:
        message += f"; standbyFallback: Active makes {units} active"
    elif not is_asked:
        message += f"; {units} not made, which standbyFallback: Active would make active"
    status: ConditionStatus = "Unknown" if is_asked else "True"
    return condition(STANDBY_UNSUPPORTED, status, choice.standby_reason, message, generation=generation)
