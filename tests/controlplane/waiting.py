"""Waiting for a condition with a deadline, instead of sleeping and hoping.

A deadline is no bound. The deadline of a wait ends what would never come, and is so far away that a busy machine does
not reach it: what comes before it may still come too late. A bound is what we promise, such as "status is true again
within 30 s". A test of a bound waits with a deadline first, and then compares times that were recorded where it
happened: those that the API server and the operator wrote into objects (`tests/cluster/recorded.py`). Where nothing is
recorded, or a busy machine alone breaks the bound, the figure is printed instead (`tests/figures.py`).
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

FIRST_INTERVAL_SECONDS = 0.02
LAST_INTERVAL_SECONDS = 0.25
BUSY_FACTOR = 3.0
"""Deadlines are given for a machine that does nothing else; a wait ends only after so many times as long."""


def wait_for(
    condition: Callable[[], T | None],
    *,
    timeout: float,
    message: str | Callable[[], str],
    ignore: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """Call the condition until it returns something true and return that.

    After `timeout` seconds (on a quiet machine; BUSY_FACTOR times as many are given on any) a TimeoutError says
    `message`, a text or a function that makes one then, and what came last. Nothing is said of how long it took: see
    above. Exceptions of the types in `ignore` count as "not yet"; all others end the wait at once.
    """
    attempt = _Attempts(timeout, message)
    while True:
        try:
            value = condition()
        except ignore as error:
            attempt.last = repr(error)
        else:
            if value:
                return value
            attempt.last = repr(value)
        time.sleep(attempt.pause())


@overload
async def wait_for_async(
    condition: Callable[[], Awaitable[T | None]],
    *,
    timeout: float,  # noqa: ASYNC109
    message: str | Callable[[], str],
    ignore: type[Exception] | tuple[type[Exception], ...] = (),
) -> T: ...
@overload
async def wait_for_async(
    condition: Callable[[], T | None],
    *,
    timeout: float,  # noqa: ASYNC109
    message: str | Callable[[], str],
    ignore: type[Exception] | tuple[type[Exception], ...] = (),
) -> T: ...
async def wait_for_async(
    condition: Callable[[], Awaitable[T | None] | T | None],
    *,
    timeout: float,  # noqa: ASYNC109 - the message says what was waited for, which asyncio.timeout cannot
    message: str | Callable[[], str],
    ignore: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """Like `wait_for` inside an event loop; the condition may be a coroutine function."""
    attempt = _Attempts(timeout, message)
    while True:
        try:
            result = condition()
            value = await result if inspect.isawaitable(result) else result
        except ignore as error:
            attempt.last = repr(error)
        else:
            if value:
                return value
            attempt.last = repr(value)
        await asyncio.sleep(attempt.pause())


class _Attempts:
    """Paces the attempts and gives up at the deadline."""

    def __init__(self, timeout: float, message: str | Callable[[], str]) -> None:
        self.timeout = timeout * BUSY_FACTOR
        self.message = message
        self.last = "nothing"
        self._deadline = time.monotonic() + self.timeout
        self._interval = FIRST_INTERVAL_SECONDS

    def pause(self) -> float:
        if time.monotonic() >= self._deadline:
            text = self.message if isinstance(self.message, str) else self.message()
            raise TimeoutError(f"not after {self.timeout:g} s: {text} (last: {self.last})")
        interval = self._interval
        self._interval = min(self._interval * 1.5, LAST_INTERVAL_SECONDS)
        return interval
