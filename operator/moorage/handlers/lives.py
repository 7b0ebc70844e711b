"""What time does to each buffer: its schedules, its late shrinking, and the units that are not made anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.buffer.life import NO_ADJUSTMENT, Adjustment, Life
from moorage.buffer.rate import parse_duration
from moorage.buffer.refill import Rule, parse_refill
from moorage.buffer.size import SizingError
from moorage.buffer.stabilization import Target
from moorage.handlers.alarms import Alarms
from moorage.status.capacitybuffer import buffer_size
from moorage.status.provisioning import life_before
from moorage.status.schedule import Scheduled, scheduled
from moorage.status.workload import Unresolved, Workload

BufferKey = tuple[str, str]


class Lives:
    """Remembers what a size depends on besides its inputs; `alarms` rings when time changes one.

    `now` is the wall clock in seconds since the epoch.
    """

    def __init__(self, alarms: Alarms[BufferKey], *, now: Callable[[], float] = time.time) -> None:
        self._alarms = alarms
        self._now = now
        self._lives: dict[BufferKey, Life] = {}
        self._taken: dict[BufferKey, int] = {}

    def begin(self, key: BufferKey, status: Mapping[str, Any]) -> None:
        """Learn of a buffer; what its status says was remembered before a restart."""
        if key not in self._lives:
            self._lives[key] = life_before(status, now=self._now())

    def end(self, key: BufferKey) -> None:
        """Forget a buffer that was deleted."""
        self._lives.pop(key, None)
        self._taken.pop(key, None)
        self._alarms.clear(key)

    def take(self, key: BufferKey, units: int) -> None:
        """Note that pods have taken the room of so many units of a buffer."""
        if key in self._lives:
            self._taken[key] = self._taken.get(key, 0) + units

    def scheduled(self, key: BufferKey, spec: CapacityBufferSpec) -> Scheduled:
        """Return the spec that counts now.

        Raises ValueError when a schedule can never be in force.
        """
        found = scheduled(spec, datetime.fromtimestamp(self._now(), UTC))
        self._alarms.set(key, "schedule", found.until.timestamp() if found.until is not None else None)
        return found

    def adjust(self, key: BufferKey, spec: CapacityBufferSpec, found: Workload | Unresolved) -> Adjustment:
        """Return what is added to the size and taken from it for now; nothing while there is no size.

        Raises ValueError when the spec does not parse.
        """
        if isinstance(found, Unresolved):
            return NO_ADJUSTMENT
        size = buffer_size(spec, found)
        if isinstance(size, SizingError):
            return NO_ADJUSTMENT
        window = parse_duration(spec.scale_down_stabilization) if spec.scale_down_stabilization is not None else 0
        policy = parse_refill(spec.refill) if spec.refill is not None else Rule.ALWAYS
        self._lives[key], adjustment = self._lives.get(key, Life()).step(
            Target(size.replicas, size.active),
            window_seconds=float(window),
            policy=policy,
            taken=self._taken.pop(key, 0),
            now=self._now(),
        )
        self._alarms.set(key, "size", adjustment.due)
        return adjustment
