"""Times at which an object is to be looked at again, since time alone changes what it should be."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_LONGEST_WAIT_SECONDS = 3600.0


class Alarms(Generic[K]):
    """Calls `ring` with each key whose time has come. One key may have several alarms, told apart by a name."""

    def __init__(self, ring: Callable[[K], None], *, now: Callable[[], float] = time.time) -> None:
        self._ring = ring
        self._now = now
        self._times: dict[tuple[K, str], float] = {}
        self._earlier = asyncio.Event()

    def set(self, key: K, name: str, at: float | None) -> None:
        """Set an alarm to a time in seconds since the epoch, in place of the one it had; None: no alarm."""
        if at is None:
            self._times.pop((key, name), None)
        elif self._times.get((key, name)) != at:
            self._times[key, name] = at
            self._earlier.set()

    def clear(self, key: K) -> None:
        """Take all alarms of a key away."""
        for each in [each for each in self._times if each[0] == key]:
            del self._times[each]

    async def run(self) -> None:
        """Ring until cancelled."""
        while True:
            self._earlier.clear()
            now = self._now()
            due = [each for each, at in self._times.items() if at <= now]
            for each in due:
                self._times.pop(each, None)
            for key in {key for key, _ in due}:
                self._ring(key)
            wait = min(self._times.values(), default=now + _LONGEST_WAIT_SECONDS) - now
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._earlier.wait(), min(max(wait, 0.01), _LONGEST_WAIT_SECONDS))
