"""Proves from time to time that a feed holds what the server has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.pace import Pace
from moorage.cluster.proof import Drift, compare
from moorage.cluster.records import Decode, R, Sink
from moorage.cluster.wire import selecting

if TYPE_CHECKING:
    from moorage.cluster.feed import Feed

logger = logging.getLogger(__name__)

_RETRIES = 3


class Verifier(Generic[R]):
    """Compares what the sink of a feed holds with the server, and has the feed list anew when they differ."""

    def __init__(
        self,
        feed: Feed[R],
        client: Client,
        decode: Decode[R],
        sink: Sink[R],
        *,
        accept: str,
        pace: Pace,
        random: Callable[[], float],
    ) -> None:
        self._feed = feed
        self._client = client
        self._decode = decode
        self._sink = sink
        self._accept = accept
        self._pace = pace
        self._random = random

    async def run(self, interval_seconds: float) -> None:
        """Verify at intervals (give or take a tenth) until cancelled; failures are logged."""
        await self._feed.wait_synced()
        while True:
            await asyncio.sleep(interval_seconds * (0.9 + 0.2 * self._random()))
            try:
                await self.verify()
            except ClusterError as error:
                logger.warning("%s: could not be verified: %s", self._feed.path, error)
            except Exception:
                self._feed.counters.faults += 1
                logger.exception("%s: the verification failed by a bug", self._feed.path)

    async def verify(self) -> Drift:
        """See `Feed.verify`."""
        feed = self._feed
        attempts = self._client.backoff.attempts()
        while True:
            version, lists = feed.resource_version, feed.counters.relists
            if not version:
                raise ClusterError("nothing to verify: the first list is not complete")
            try:
                drift = await self._compare(version)
                break
            except ApiError as error:
                if error.too_new:
                    feed.relist("the server has not reached the version that we have seen")
                if attempts.failures >= _RETRIES or not (error.gone or error.too_new):
                    raise
                await attempts.wait(at_least=error.retry_after_seconds)
                if error.gone and feed.resource_version == version:
                    await self._client.newest_version(feed.path)
                    await asyncio.sleep(self._pace.silence)  # the next bookmark tells our watch as well
        feed.counters.verifications += 1
        if drift:
            feed.counters.drifts += 1
            logger.error("%s: what is held is not what the server has; %s", feed.path, drift)
            if lists == feed.counters.relists:
                feed.relist("to heal the drift")
        return drift

    async def _compare(self, version: str) -> Drift:
        """Compare at a version; what is held is copied before anything else can change it."""
        return await compare(
            self._client,
            self._feed.path,
            selecting(self._feed.held_selector, self._feed.label_selector) | {"resourceVersion": version},
            decode=self._decode,
            held=dict(self._sink.snapshot()),
            accept=self._accept,
            page_size=self._pace.page_size,
            yield_every=self._pace.yield_every,
        )
