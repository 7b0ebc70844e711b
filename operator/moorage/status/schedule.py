"""The spec of a buffer as its schedules make it at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.provisioning import BufferSchedule
from moorage.buffer.rate import parse_duration
from moorage.buffer.schedule import Recurrence, ScheduleError, in_force, recurrence


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What counts at a time, and until when."""

    spec: CapacityBufferSpec
    """The spec with the size of the schedule in force, if one is."""
    source: str = ""
    """Which schedule that is, such as `spec.schedules[0]`; empty for none."""
    until: datetime | None = None
    """When to look again; None for never."""


def scheduled(spec: CapacityBufferSpec, at: datetime) -> Scheduled:
    """Return the spec that counts at a time (with a time zone).

    Raises ValueError when a schedule can never be in force.
    """
    schedules = spec.schedules or ()
    if not schedules:
        return Scheduled(spec)
    found = in_force([_recurrence(each, index) for index, each in enumerate(schedules)], at)
    if found.index is None:
        return Scheduled(spec, until=found.until)
    chosen, sizing = schedules[found.index], None
    if chosen.scale_up_rate is not None and spec.sizing is not None:
        sizing = msgspec.structs.replace(spec.sizing, scale_up_rate=chosen.scale_up_rate)
    size = msgspec.structs.replace(spec, replicas=chosen.replicas, percentage=chosen.percentage, sizing=sizing)
    return Scheduled(size, f"spec.schedules[{found.index}]", found.until)


def schedule_note(found: Scheduled, spec: CapacityBufferSpec) -> str:
    """Say which schedule is in force, such as for an explanation; an empty text for none."""
    if not found.source or found.until is None:
        return ""
    index = int(found.source.removeprefix("spec.schedules[").removesuffix("]"))
    chosen = (spec.schedules or ())[index]
    zone = f" {chosen.time_zone}" if chosen.time_zone else ""
    until = found.until.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
    return f"{found.source} ({chosen.schedule}{zone}) is in force, until {until}"


def _recurrence(schedule: BufferSchedule, index: int) -> Recurrence:
    duration = timedelta(seconds=float(parse_duration(schedule.duration)))
    try:
        return recurrence(schedule.schedule, schedule.time_zone or "UTC", duration)
    except ScheduleError as error:
        raise ScheduleError(f"spec.schedules[{index}]: {error}") from None
