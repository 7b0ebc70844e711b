"""Sizes by time of day: which of some recurring periods is in force, and until when.

Cron expressions are read by `cronsim`, which follows Debian's cron, changes to and from daylight saving time included:
a time that does not exist that day counts an hour later, one that exists twice counts once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from moorage.quoting import shortened

_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)


class ScheduleError(ValueError):
    """A schedule that cannot be used; the text is a sentence for its reader."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Hours that recur: from each time that a cron expression (of five fields) matches, for `duration`."""

    cron: str
    zone: tzinfo
    duration: timedelta

    def __post_init__(self) -> None:
        """Check the expression.

        Raises ScheduleError.
        """
        try:
            next(CronSim(self.cron, _ANY_TIME))
        except (CronSimError, StopIteration) as error:
            why = f"{error}" or "it never comes"
            raise ScheduleError(
                f'"{shortened(self.cron)}" is no time that ever comes: {why[0].lower()}{why[1:]}'
            ) from None

    def current(self, at: datetime) -> datetime | None:
        """Return when the period ends that is in force at a time; None when none is."""
        from_here = (at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)).astimezone(self.zone)
        for begun in CronSim(self.cron, from_here, reverse=True):
            # Where clocks go forward, a time that does not exist is given as a later one, which may be still to come.
            if begun.astimezone(UTC) <= at:
                ends = begun.astimezone(UTC) + self.duration
                return ends if at < ends else None
        return None

    def next_start(self, after: datetime) -> datetime | None:
        """Return when the next period begins, None when none ever does."""
        begins = next(CronSim(self.cron, after.astimezone(self.zone)), None)
        return begins.astimezone(UTC) if begins is not None else None


@dataclass(frozen=True, slots=True)
class InForce:
    """Which of some recurrences is in force."""

    index: int | None
    """Its place; None when none is."""
    until: datetime | None
    """When that may change, in UTC; None for never."""


def recurrence(cron: str, zone: str, duration: timedelta) -> Recurrence:
    """Return a recurrence.

    Raises ScheduleError for an unknown time zone, and for an expression that does not parse or never matches.
    """
    try:
        found = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ScheduleError(f"{shortened(zone)} is not a time zone that is known here; write its IANA name") from None
    return Recurrence(cron, found, duration)


def in_force(recurrences: Iterable[Recurrence], at: datetime) -> InForce:
    """Return the first recurrence whose period includes a time (with a time zone), and when to look again."""
    changes: list[datetime] = []
    chosen: int | None = None
    for index, each in enumerate(recurrences):
        ends = each.current(at)
        if ends is not None:
            changes.append(ends)
            chosen = index
            break  # what stands behind it changes nothing until it ends
        if (begins := each.next_start(at)) is not None:
            changes.append(begins)
    return InForce(chosen, min(changes, default=None))
