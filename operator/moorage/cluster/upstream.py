"""Whether the autoscalers' own CapacityBuffers are served, in which version, and those of them that we made."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable

from moorage.backends.autoscaler import GROUP, KIND, PLURAL, VERSIONS
from moorage.backends.plan import OWNED_SELECTOR
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.owned import Kind, OwnedObject, OwnedObjects, OwnedSink, owned_decoder

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 5.0
"""How often is looked whether the API comes or goes."""
UNREAD_SECONDS = 60.0
"""After so long without a list it is told that there is none: it may never come, as with a broken conversion."""


class Upstream:
    """Follows the API and our objects in it. `changed` is called when it comes, goes or changes its version."""

    def __init__(
        self,
        client: Client,
        objects: OwnedObjects,
        *,
        namespaces: Iterable[str],
        changed: Callable[[], None],
        patience_seconds: float = 300.0,
    ) -> None:
        self.served: bool | None = None
        """Whether it is served; None until that is known, and our objects in it are."""
        self.kind: Kind | None = None
        """Where it is served; None when it is not."""
        self.refusal = ""
        """Why our objects in it cannot be read, with the rule to give; empty when they can."""
        self.refused_since = 0.0
        """Since when `refusal` has stood, in seconds since the epoch."""
        self.patience_seconds = patience_seconds
        """How long a refusal must have stood to be told of objects that could be read before."""
        self._client = client
        self._objects = objects
        self._places: tuple[str | None, ...] = tuple(namespaces) or (None,)
        self._changed = changed

    async def run(self) -> None:
        """Follow until cancelled."""
        attempts = self._client.backoff.attempts()
        while True:
            try:
                version = await self._version()
            except ClusterError as error:
                logger.warning("whether %s is served cannot be found out: %s", GROUP, error)
                await attempts.wait(at_least=error.retry_after_seconds)
                continue
            attempts.reset()
            if version is None:
                self._settle(None)
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
            else:
                await self._follow(Kind(GROUP, version, PLURAL, KIND))

    async def _follow(self, kind: Kind) -> None:
        """Watch our objects while they are served in this version."""
        sinks, began = {place: OwnedSink(self._objects) for place in self._places}, time.monotonic()
        async with self._feeding(kind, sinks) as feeds:
            while True:
                await _wait_for_first_lists(feeds)
                # Before that, what was made before a restart would be taken for what is still to be made.
                unread = [feed for feed in feeds if not feed.synced and not _is_forbidden(feed)]
                if not unread:
                    self._settle(kind, self._refused(feeds))
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)
                elif (waited := time.monotonic() - began) >= UNREAD_SECONDS:
                    self._settle(kind, unread[0], seconds=waited)
                with contextlib.suppress(ClusterError):
                    if await self._version() != kind.version:
                        break
        logger.info("%s is not served as %s any more", GROUP, kind.version)
        for sink in sinks.values():
            sink.replace({})

    @contextlib.asynccontextmanager
    async def _feeding(self, kind: Kind, sinks: dict[str | None, OwnedSink]) -> AsyncIterator[list[Feed[OwnedObject]]]:
        feeds = [
            Feed(
                self._client,
                kind.path(place),
                owned_decoder(KIND),
                sink,
                label_selector=OWNED_SELECTOR,
                pace=Pace(verify=0),
            )
            for place, sink in sinks.items()
        ]
        tasks = [asyncio.create_task(feed.run(), name=f"feed {feed.path}") for feed in feeds]
        try:
            yield feeds
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _version(self) -> str | None:
        """Return the version to use, None when none that we know is served. Raises ClusterError."""
        try:
            group = await self._client.get(f"/apis/{GROUP}")
            offered = {each["version"] for each in group.get("versions") or ()}
            for version in VERSIONS:
                if version in offered:
                    served = await self._client.get(f"/apis/{GROUP}/{version}")
                    if any(each["name"] == PLURAL for each in served.get("resources") or ()):
                        return version
        except ApiError as error:
            if not error.not_found:
                raise
        return None

    def _refused(self, feeds: Iterable[Feed[OwnedObject]]) -> Feed[OwnedObject] | None:
        """Return a feed of which it is certain that its objects may not be read.

        For a moment that happens to anybody: an API server that has just started refuses all until it has read the
        roles, and a ClusterRoleBinding that is replaced is missing in between. What was made must not go for that.
        """
        for feed in feeds:
            if _is_forbidden(feed) and (not feed.synced or feed.refused_seconds >= self.patience_seconds):
                return feed
        return None

    def _settle(
        self, kind: Kind | None, refused: Feed[OwnedObject] | None = None, *, seconds: float | None = None
    ) -> None:
        """Take over what is served; of a feed that could not be read for so many seconds, it is said why."""
        served, refusal = kind is not None, ""
        if kind is not None and refused is not None:
            refusal = refused.state if refused.refusal is None else str(refused.refusal)
            if _is_forbidden(refused):
                refusal += f"; {kind.rule('get, list, watch, create, patch, delete')}"
            self.refused_since = time.time() - (refused.refused_seconds if seconds is None else seconds)
        if (served, kind, refusal) != (self.served, self.kind, self.refusal):
            self.served, self.kind, self.refusal = served, kind, refusal
            logger.info("%s is %s", GROUP, f"served as {kind.version}" if kind is not None else "not served")
            self._changed()


async def _wait_for_first_lists(feeds: Iterable[Feed[OwnedObject]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOK_AGAIN_SECONDS):
            for feed in feeds:
                await feed.wait_synced()


def _is_forbidden(feed: Feed[OwnedObject]) -> bool:
    """Tell whether our objects may not be read, rather than not at this moment."""
    return feed.refusal is not None and feed.refusal.forbidden
