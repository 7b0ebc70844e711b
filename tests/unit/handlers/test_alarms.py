"""Alarms ring when their time has come, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from moorage.handlers.alarms import Alarms
from tests.unit.small_server import until


class Clock:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def rung(clock: Clock) -> AsyncIterator[tuple[Alarms[str], list[str]]]:
    ringing: list[str] = []
    alarms: Alarms[str] = Alarms(ringing.append, now=clock)
    task = asyncio.create_task(alarms.run())
    yield alarms, ringing
    task.cancel()
    await asyncio.wait([task])


async def test_it_rings_once_when_the_time_has_come(rung: tuple[Alarms[str], list[str]], clock: Clock) -> None:
    alarms, ringing = rung
    alarms.set("web", "size", 1000.05)
    await asyncio.sleep(0.02)
    assert ringing == []
    clock.seconds = 1000.05
    await until(lambda: ringing == ["web"], "the alarm")
    clock.seconds = 2000
    alarms.set("api", "size", 1500)
    await until(lambda: ringing == ["web", "api"], "the second, and the first not again")


async def test_an_earlier_alarm_is_not_slept_over(rung: tuple[Alarms[str], list[str]], clock: Clock) -> None:
    alarms, ringing = rung
    alarms.set("later", "size", 9000)
    await asyncio.sleep(0.02)
    alarms.set("now", "size", 900)
    await until(lambda: ringing == ["now"], "the earlier one")


async def test_several_alarms_of_one_ring_together_and_can_be_taken_away(
    rung: tuple[Alarms[str], list[str]],
) -> None:
    alarms, ringing = rung
    alarms.set("gone", "size", 1000.1)
    alarms.set("gone", "schedule", 900)
    alarms.clear("gone")
    alarms.set("none", "size", 900)
    alarms.set("none", "size", None)
    alarms.set("web", "size", 900)
    alarms.set("web", "schedule", 900)
    await until(lambda: ringing == ["web"], "one ring")
