"""Keys that want attention, each worked on until it is in order: coalesced, in parallel, retried by the one policy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from moorage.cluster.backoff import Backoff
from moorage.cluster.errors import ClusterError

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class Worklist(Generic[K]):
    """Calls `work` for each marked key, never twice at once for the same; `what` names it in the log.

    `work` returns in how many seconds the key is to be looked at again, or None for not before it is marked. What it
    raises of ClusterError is tried again; any other exception is a bug, and the key waits for its next mark.
    """

    def __init__(
        self, work: Callable[[K], Awaitable[float | None]], *, backoff: Backoff, what: str, parallel: int = 4
    ) -> None:
        self._work = work
        self._backoff = backoff
        self._what = what
        self._slots = asyncio.Semaphore(parallel)
        self._dirty: set[K] = set()
        self._busy: set[K] = set()
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()

    def mark(self, key: K) -> None:
        """Have a key looked at soon."""
        self._dirty.add(key)
        self._wake.set()

    def forget(self, key: K) -> None:
        """Look at a key no more."""
        self._dirty.discard(key)
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    for key in self._dirty - self._busy:
                        self._busy.add(key)
                        group.create_task(self._until_clean(key), name=f"{self._what} of {key}")
        finally:
            for timer in self._later.values():
                timer.cancel()

    async def _until_clean(self, key: K) -> None:
        attempts = self._backoff.attempts()
        try:
            while key in self._dirty:
                self.forget(key)
                try:
                    async with self._slots:
                        again = await self._work(key)
                    attempts.reset()
                    if again is not None:
                        self._later[key] = asyncio.get_running_loop().call_later(again, self.mark, key)
                except ClusterError as error:
                    logger.warning("%s of %s failed and will be tried again: %s", self._what, key, error)
                    self._dirty.add(key)
                    await attempts.wait(at_least=error.retry_after_seconds)
                except Exception:
                    logger.exception("%s of %s failed by a bug", self._what, key)
        finally:
            self._busy.discard(key)
