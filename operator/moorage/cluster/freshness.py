"""Proves, about every second, that a feed has everything that the API server had a moment ago.

A watch that says nothing may be one on which nothing happens, or one that is dead: bookmarks come about once a minute
only. Whoever acts on what is held, and may not be wrong, needs to know which.

The API server is asked for its current version, which makes it read etcd first. A feed that has reached that version
has everything up to it. Mostly it has not, since versions rise with every object of the cluster: then a second, short
watch from the feed's own version shows whether anything has happened that the feed has not got.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from moorage.cluster.client import METADATA_ONLY, Client
from moorage.cluster.errors import ClusterError, MalformedError, api_error
from moorage.cluster.feed import Feed
from moorage.cluster.wire import decode_event, decode_meta, is_older, selecting

logger = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofPace:
    """How often proofs are made and how long they hold, in seconds."""

    interval: float = 1.0
    """From the end of a proof to the beginning of the next."""
    bound: float = 5.0
    """How long after its beginning a proof holds; one that takes longer is none."""
    on_the_way: float = 0.2
    """How long events may take to reach the feed before a second watch is opened."""
    probe: int = 1
    """How long the API server keeps the second watch open, in whole seconds."""


class Freshness:
    """Proves feeds current; `feeds` returns those that are to be."""

    def __init__(
        self,
        client: Client,
        feeds: Callable[[], Iterable[Feed[Any]]],
        *,
        pace: ProofPace | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._feeds = feeds
        self._pace = pace or ProofPace()
        self._clock = clock
        self._proven: WeakKeyDictionary[Feed[Any], float] = WeakKeyDictionary()

    def is_fresh(self, feed: Feed[Any]) -> bool:
        """Whether the feed is proved to have all that the API server had at some moment of the last seconds."""
        proven_at = self._proven.get(feed)
        return proven_at is not None and self._clock() - proven_at <= self._pace.bound

    async def run(self) -> None:
        """Prove again and again until cancelled; nothing that the server does ends this."""
        while True:
            await asyncio.gather(*(self._attempt(feed) for feed in list(self._feeds())))
            await asyncio.sleep(self._pace.interval)

    async def prove(self, feed: Feed[Any]) -> bool:
        """Make one proof; tell whether it came out.

        Raises ClusterError when the server cannot be asked, and TimeoutError when it takes too long.
        """
        began = self._clock()
        async with asyncio.timeout(self._pace.bound):
            newest = await self._client.newest_version(feed.path)
            proved = await self._reaches(feed, newest, self._pace.on_the_way) or await self._misses_nothing(feed)
        if proved:
            self._proven[feed] = began
        return proved

    async def _attempt(self, feed: Feed[Any]) -> None:
        try:
            await self.prove(feed)
        except (ClusterError, TimeoutError) as error:
            logger.debug("%s cannot be proved current: %s", feed.path, error)
        except Exception:  # a bug must not end the operator: what is not proved is only not acted on
            logger.exception("%s cannot be proved current", feed.path)

    async def _reaches(self, feed: Feed[Any], version: str | int, seconds: float) -> bool:
        deadline = self._clock() + seconds
        while not feed.resource_version or is_older(feed.resource_version, version):
            if self._clock() >= deadline:
                return False
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        return True

    async def _misses_nothing(self, feed: Feed[Any]) -> bool:
        """Watch from the feed's version and see that the feed gets all that comes."""
        start = feed.resource_version
        if not start or feed.held_selector != feed.field_selector:
            return False
        last = ""
        params = selecting(feed.held_selector) | {"resourceVersion": start, "timeoutSeconds": str(self._pace.probe)}
        async with await self._client.watch(
            feed.path, params, accept=METADATA_ONLY, silence_seconds=self._pace.bound
        ) as stream:
            while lines := await stream.lines():
                last = _version(lines[-1])
        return await self._reaches(feed, last or start, self._pace.on_the_way)


def _version(line: bytes) -> str:
    """Return the version of a watch's event. Raises ApiError for an ERROR event, MalformedError for anything else."""
    try:
        event = decode_event(line)
        if event.type != "ERROR":
            return decode_meta(event.object).resource_version
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedError(f"the watch sent a line that is no event: {error}") from error
    raise api_error(0, bytes(event.object))
