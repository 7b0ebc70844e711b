"""Which hours a schedule is in force, in its time zone and over changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from moorage.buffer.schedule import InForce, ScheduleError, in_force, recurrence

NIGHT = recurrence("0 20 * * *", "UTC", timedelta(hours=10))
WEEKEND = recurrence("0 0 * * SAT", "UTC", timedelta(hours=48))
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "index", "until"),
    [
        ("2026-03-04 19:59:59", None, "2026-03-04 20:00"),
        ("2026-03-04 19:59:59.999", None, "2026-03-04 20:00"),
        ("2026-03-04 20:00:00", 0, "2026-03-05 06:00"),
        ("2026-03-05 05:59:59.999", 0, "2026-03-05 06:00"),
        ("2026-03-05 06:00:00", None, "2026-03-05 20:00"),
    ],
)
def test_a_period_includes_its_begin_and_not_its_end(now: str, index: int | None, until: str) -> None:
    assert in_force([NIGHT], at(now)) == InForce(index, at(until))


@pytest.mark.parametrize(
    ("now", "index", "until"),
    [
        ("2026-03-06 21:00", 0, "2026-03-07 06:00"),  # Friday: the night alone
        ("2026-03-07 01:00", 0, "2026-03-07 06:00"),  # both: the first in the list
        ("2026-03-07 12:00", 1, "2026-03-07 20:00"),  # the weekend, until the night begins
        ("2026-03-09 12:00", None, "2026-03-09 20:00"),
    ],
)
def test_the_first_in_the_list_counts(now: str, index: int | None, until: str) -> None:
    assert in_force([NIGHT, WEEKEND], at(now)) == InForce(index, at(until))


def test_nothing_is_ever_in_force_without_schedules() -> None:
    assert in_force([], at("2026-03-06 21:00")) == InForce(None, None)


@pytest.mark.parametrize(("day", "hour_utc"), [("2026-01-15", 7), ("2026-07-15", 6)], ids=["winter", "summer"])
def test_hours_are_those_of_the_time_zone(day: str, hour_utc: int) -> None:
    morning = recurrence("0 8 * * *", "Europe/Berlin", timedelta(hours=1))
    begin = at(f"{day} {hour_utc:02}:00")
    assert in_force([morning], begin - timedelta(seconds=1)).index is None
    assert in_force([morning], begin).index == 0


def test_a_time_that_the_clocks_skip_counts_when_they_have() -> None:
    skipped = recurrence("30 2 * * *", "Europe/Berlin", timedelta(hours=1))
    forward = at("2026-03-29 01:00")  # 02:00 becomes 03:00
    assert in_force([skipped], forward - timedelta(seconds=1)).index is None
    assert in_force([skipped], forward).index == 0
    assert in_force([skipped], forward + timedelta(hours=1)).index is None


def test_a_time_that_comes_twice_counts_once() -> None:
    twice = recurrence("30 2 * * *", "Europe/Berlin", timedelta(minutes=20))
    first = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN).astimezone(UTC)
    assert in_force([twice], first).index == 0
    assert in_force([twice], first + timedelta(hours=1)).index is None


@given(
    cron=st.sampled_from(["0 8 * * 1-5", "30 2 * * *", "*/20 * * * *", "15 1,3 * * *", "0 0 1 * *", "0 12 29 2 *"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    minutes=st.integers(1, 3 * 24 * 60),
    now=st.datetimes(datetime(2026, 3, 1), datetime(2026, 11, 30), timezones=st.just(UTC)),
)
def test_it_agrees_with_all_periods_written_down(cron: str, zone: str, minutes: int, now: datetime) -> None:
    duration = timedelta(minutes=minutes)
    begins: list[datetime] = []
    for each in CronSim(cron, (now - timedelta(days=40)).astimezone(ZoneInfo(zone))):
        begins.append(each.astimezone(UTC))
        if begins[-1] > now:
            break
    running = [begun + duration for begun in begins if begun <= now < begun + duration]
    expected = InForce(0, max(running)) if running else InForce(None, begins[-1])
    assert in_force([recurrence(cron, zone, duration)], now) == expected


@pytest.mark.parametrize(
    ("cron", "zone", "message"),
    [
        ("0 0 30 2 *", "UTC", '"0 0 30 2 *" is no time that ever comes: bad day-of-month'),
        ("0 5-1 * * *", "UTC", '"0 5-1 * * *" is no time that ever comes: bad hour'),
        ("0 0 * * *", "Europe/Berlni", "Europe/Berlni is not a time zone that is known here; write its IANA name"),
        ("0 0 * * *", "../etc/passwd", "../etc/passwd is not a time zone that is known here; write its IANA name"),
    ],
)
def test_what_never_comes_is_refused_with_the_reason(cron: str, zone: str, message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        recurrence(cron, zone, timedelta(hours=1))
    assert str(error.value) == message
