"""Keeps a sink equal to one resource of the API server: list, then watch, for as long as the process lives.

A list replaces everything the sink holds, so deletions that nobody told us about are noticed. A watch resumes from the
last version it has seen; when that is too old, or anything else is in doubt, there is a new list. Until a new list is
complete, readers see the old records. Nothing that the server does ends the feed; only cancellation does.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Generic

from moorage.cluster.backoff import Attempts
from moorage.cluster.client import JSON, Client
from moorage.cluster.errors import ApiError, ClusterError, SilentError, UnreachableError
from moorage.cluster.intake import Counters, Intake, UnstreamedError
from moorage.cluster.pace import Pace
from moorage.cluster.proof import Drift
from moorage.cluster.records import Decode, R, Sink
from moorage.cluster.stream import LineStream
from moorage.cluster.verifier import Verifier
from moorage.cluster.wire import is_older, selecting

__all__ = ["Feed", "Pace"]

logger = logging.getLogger(__name__)

_SHORT_WATCH_SECONDS = 5.0
"""A watch that ends sooner without a word counts as a failure, lest we reconnect in a tight loop."""


class Feed(Generic[R]):
    """List and watch of one resource, such as `/api/v1/pods` or `/api/v1/namespaces/a/pods`, into a sink.

    Plain attributes tell how it goes; they are for readiness and metrics, and to be read only.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        decode: Decode[R],
        sink: Sink[R],
        *,
        field_selector: str = "",
        label_selector: str = "",
        accept: str = JSON,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.path = path
        self.counters = Counters()
        self.state = "starting"
        """`starting`, `listing`, `watching`, `backing off: <reason>`, `refused: <reason>` or `stopped`."""
        self.refusal: ApiError | None = None
        """Why the server lets us read nothing, while `state` is `refused`."""
        self.synced = False
        """True once the first list is complete; it stays true, see `last_byte_at` for whether it is current."""
        self.last_byte_at: float | None = None
        """When the server last sent anything, by `clock`; None before."""
        self.held_selector: str | None = None
        """The field selector that the held records were listed with; None before the first list."""
        self.field_selector = field_selector
        """The field selector that is wanted."""
        self.label_selector = label_selector
        """The label selector, which stays the same."""

        self._client = client
        self._accept = accept
        self._intake = Intake(decode, sink, self.counters, name=path)
        self._pace = pace or Pace()
        self._clock = clock
        self._random = random

        self._verifier = Verifier(self, client, decode, sink, accept=accept, pace=self._pace, random=random)
        self._must_list = True
        self._streams_lists = True
        self._refused_since = 0.0
        self._watched = False
        self._listing = False
        self._mute = False
        self._last_trouble = ""
        self._scope: asyncio.Timeout | None = None
        self._first_list = asyncio.Event()

    @property
    def resource_version(self) -> str:
        """The version up to which all changes are in the sink; empty before the first list."""
        return self._intake.resource_version

    @property
    def refused_seconds(self) -> float:
        """For how long each attempt has been refused; 0 while `refusal` is None."""
        return self._clock() - self._refused_since if self.refusal is not None else 0.0

    @property
    def undecodable(self) -> dict[str, str]:
        """Why objects (by uid) cannot be read; what the sink holds for them is their last good version, or nothing."""
        return self._intake.undecodable

    async def wait_synced(self) -> None:
        """Wait until the first list is complete."""
        await self._first_list.wait()

    def set_field_selector(self, field_selector: str) -> None:
        """Want another field selector: list anew with it and swap the result in; `held_selector` tells when."""
        if field_selector != self.field_selector:
            self.field_selector = field_selector
            self.relist("another field selector is wanted")

    def relist(self, reason: str) -> None:
        """Break the watch off and list anew, soon."""
        logger.info("%s: to be listed anew: %s", self.path, reason)
        self._must_list = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Keep the sink current until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow(), name=f"feed {self.path}")
                if self._pace.verify > 0:
                    tasks.create_task(self._verifier.run(self._pace.verify), name=f"verify {self.path}")
        finally:
            self.state = "stopped"

    async def verify(self) -> Drift:
        """Prove that the sink holds what the server has: compare it with a list at exactly the version we have seen.

        Drift is logged and healed by a new list. When the server no longer has that version, a newer one is tried, some
        times. Raises ClusterError when no list could be had.
        """
        return await self._verifier.verify()

    async def _follow(self) -> None:
        attempts = self._client.backoff.attempts()
        while True:
            try:
                await self._connect_once(attempts)
            except ClusterError as error:
                await self._recover(error, attempts)
            except Exception as error:
                # A bug, in the sink most likely. What it holds is in doubt now, so it gets a complete list.
                self.counters.faults += 1
                self._must_list = True
                self.state = f"backing off: {type(error).__name__}: {error}"
                logger.exception("%s: failed by a bug; listing anew", self.path)
                await attempts.wait()

    async def _connect_once(self, attempts: Attempts) -> None:
        """List if needed, then watch until the server ends the watch or relist() breaks it off."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scope = scope
                if self._mute:
                    await self._check_history()
                if self._must_list and not self._streams_lists:
                    await self._list()
                await self._watch(attempts)
        except TimeoutError:
            if not scope.expired():
                raise
            # relist() broke it off, since nothing else lets this scope expire; the next round lists.
        finally:
            self._scope = None

    async def _check_history(self) -> None:
        """After a resumed watch without a word, make sure that the server can reach the version we resume from.

        An etcd that was restored from a backup may be behind it, and would keep us waiting until it is not any more.
        """
        newest = await self._client.newest_version(self.path)
        self._note_bytes()
        self._mute = False
        if is_older(newest, self.resource_version):
            logger.warning("%s: the server went back from version %s to %s", self.path, self.resource_version, newest)
            self._must_list = True

    async def _list(self) -> None:
        selector = self.field_selector
        self._intake.begin()
        version = ""
        async with aclosing(
            self._client.list_pages(
                self.path, selecting(selector, self.label_selector), limit=self._pace.page_size, accept=self._accept
            )
        ) as pages:
            async for page in pages:
                self.refusal = None
                self.state = "listing"  # not before: a state of trouble holds until something works
                self._note_bytes()
                version = page.metadata.resource_version
                for count, encoded in enumerate(page.items or ()):
                    if count % self._pace.yield_every == 0:
                        await asyncio.sleep(0)
                    self._intake.add(encoded)
        self._complete(version, selector)

    async def _watch(self, attempts: Attempts) -> None:
        """Watch from the last version, or from nothing, in which case the watch begins with the list."""
        self._listing = self._must_list
        selector = self.field_selector
        began, heard = self._clock(), False
        async with await self._open_watch(selector) as stream:
            try:
                while lines := await stream.lines():
                    heard = True
                    await self._take(lines, stream, selector)
                    if not self._listing:
                        attempts.reset()
            except SilentError:
                self._mute = not heard and not self._listing
                raise
        if self._listing:
            raise UnreachableError("the watch ended before the list was complete")
        if not heard and self._clock() - began < _SHORT_WATCH_SECONDS:
            raise UnreachableError("the watch ended at once")

    async def _open_watch(self, selector: str) -> LineStream:
        seconds = self._pace.watch * (1 + self._random())
        params = selecting(selector, self.label_selector) | {
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        if self._listing:
            self._intake.begin()
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            params["resourceVersion"] = self.resource_version
        silence = self._pace.initial_silence if self._listing else self._pace.silence
        self.counters.reconnects += self._watched
        self._watched = True
        stream = await self._client.watch(
            self.path, params, accept=self._accept, silence_seconds=silence, on_bytes=self._note_bytes
        )
        self._note_bytes()  # the head of the answer
        self.refusal = None
        self.state = "listing" if self._listing else "watching"
        return stream

    async def _take(self, lines: list[bytes], stream: LineStream, selector: str) -> None:
        for count, line in enumerate(lines):
            if count % self._pace.yield_every == 0:
                await asyncio.sleep(0)
            if not self._listing:
                self._intake.apply(line)
            elif version := self._intake.initial(line):
                self._complete(version, selector)
                self.state, self._listing = "watching", False
                stream.silence_seconds = self._pace.silence

    def _complete(self, version: str, selector: str) -> None:
        self._intake.finish(version)
        # Unless relist() has been called, and its interruption is on the way.
        self._must_list = self._scope is not None and self._scope.when() is not None
        self.held_selector = selector
        self.synced = True
        self._first_list.set()
        logger.info("%s: listed at version %s", self.path, version)

    async def _recover(self, error: ClusterError, attempts: Attempts) -> None:
        """Decide whether to resume or to list anew after a failure, and wait as long as is due."""
        if self._must_list and self._streams_lists and _means_no_streaming(error):
            self._streams_lists = False
            logger.info("%s: lists are not streamed here (%s); reading them in pages", self.path, error)
            return
        if self._must_list and isinstance(error, ApiError) and error.invalid:
            self._streams_lists = True  # pages are refused just as well, so it was not the streaming
        if isinstance(error, SilentError):
            # Usual in a quiet cluster, and no reason to worry as long as the next watch can be opened.
            logger.info("%s: %s; watching anew", self.path, error)
            return
        if error.stale:
            self._must_list = True
        await self._back_off(error, attempts)

    async def _back_off(self, error: ClusterError, attempts: Attempts) -> None:
        refused = isinstance(error, ApiError) and error.refused
        if self.refusal is None:
            self._refused_since = self._clock()
        self.refusal = error if isinstance(error, ApiError) and refused else None
        state = f"{'refused' if refused else 'backing off'}: {error}"
        # Said once: a feed that is refused would otherwise repeat it forever.
        level = logging.DEBUG if state == self._last_trouble and attempts.failures else logging.WARNING
        logger.log(level, "%s: %s", self.path, state)
        self.state = self._last_trouble = state
        await attempts.wait(at_least=error.retry_after_seconds)

    def _note_bytes(self) -> None:
        self.last_byte_at = self._clock()


def _means_no_streaming(error: ClusterError) -> bool:
    """Refused by an older server, or silently ignored by a much older one or something in between."""
    return isinstance(error, UnstreamedError | SilentError) or (isinstance(error, ApiError) and error.invalid)
