"""kopf inside our event loop: started anew when it fails, and kept from tasks that are not its own."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import kopf

from moorage.cluster.backoff import Backoff
from moorage.cluster.definitions import Definitions

logger = logging.getLogger(__name__)

_LONG_RUN_SECONDS = 60.0
"""A failure after so long has nothing to do with the one before."""


class _AllTasks(Collection[Any]):
    """What kopf shall leave alone at its end: it would wait for every task younger than itself, and cancel it."""

    def __contains__(self, task: object) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


class EmbeddedKopf:
    """Runs kopf until `stop` is set. By its design one watch that fails ends all of it; here that ends nothing else.

    `problem` says why our kinds are not followed at the moment, if they are not.
    """

    def __init__(
        self,
        registry: kopf.OperatorRegistry,
        settings: kopf.OperatorSettings,
        memo: object,
        *,
        namespaces: tuple[str, ...],
        definitions: Definitions,
        backoff: Backoff,
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._memo = memo
        self._namespaces = namespaces
        self._definitions = definitions
        self._backoff = backoff
        self._failure = ""

    @property
    def problem(self) -> str:
        """Why our kinds are not followed at the moment; empty when they are."""
        return self._definitions.problem or self._failure

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set or a signal comes."""
        set_on_signals(stop)
        failures = 0
        while True:
            await self._definitions.wait(stop)
            if stop.is_set():
                return
            self._failure = ""
            began = time.monotonic()
            try:
                await self._run_once(stop)
                return
            except Exception as error:
                failures = 1 if time.monotonic() - began > _LONG_RUN_SECONDS else failures + 1
                self._failure = f"our own kinds are not followed: {_first_line(error)}"
            delay = self._backoff.delay_seconds(failures)
            logger.error("%s; trying again in %.1f s", self._failure, delay)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), delay)

    async def _run_once(self, stop: asyncio.Event) -> None:
        # By itself kopf takes the name of the user, and fails where the user is only a number, as in our image.
        identity: Any = "moorage"
        tasks = await kopf.spawn_tasks(
            identity=identity,
            registry=self._registry,
            settings=self._settings,
            memo=self._memo,
            stop_flag=stop,
            clusterwide=not self._namespaces,
            namespaces=self._namespaces,
            standalone=True,
        )
        set_on_signals(stop)  # in place of kopf's own, which do nothing while it is not running
        await kopf.run_tasks(tasks, ignored=_AllTasks())


def set_on_signals(stop: asyncio.Event) -> None:
    """Have SIGINT and SIGTERM set `stop`: process 1 of a container ignores them if nobody handles them."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(number, stop.set)


def _first_line(error: Exception) -> str:
    """Say what is wrong, without the whole answer of the server that kopf appends."""
    text = str(error.args[0]) if error.args else ""
    return text.splitlines()[0] if text else type(error).__name__
