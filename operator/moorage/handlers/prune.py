"""Forgets objects of ours whose deletion fell into a gap of kopf's watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from moorage.cluster.client import Client
from moorage.cluster.errors import ClusterError
from moorage.handlers.operator import GROUP, KINDS, VERSION, OperatorState, key_of

logger = logging.getLogger(__name__)


class Pruner:
    """Looks every `interval_seconds` for objects that are known and not there; `namespaces` is empty for all."""

    def __init__(
        self, client: Client, state: OperatorState, *, namespaces: Sequence[str], interval_seconds: float
    ) -> None:
        self._client = client
        self._state = state
        self._places: Sequence[str | None] = tuple(namespaces) or (None,)
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(self._interval_seconds)
            for plural in KINDS:
                for namespace in self._places:
                    try:
                        await self._forget_gone(plural, namespace)
                    except ClusterError as error:
                        logger.warning("%s could not be listed, which will be tried again: %s", plural, error)

    async def _forget_gone(self, plural: str, namespace: str | None) -> None:
        known = {
            key: uid
            for key, uid in self._state.known().items()
            if key.plural == plural and namespace in (None, key.namespace)
        }
        place = f"/namespaces/{namespace}" if namespace else ""
        found = await self._client.get(f"/apis/{GROUP}/{VERSION}{place}/{plural}")
        metas = [item["metadata"] for item in found["items"]]
        alive = {key_of(plural, meta["namespace"], meta["name"]): meta["uid"] for meta in metas}
        self._state.remove_gone(known, alive)
