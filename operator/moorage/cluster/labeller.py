"""Keeps the labels on NamespaceQuotas that tell what they cover, and touches no others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from moorage.cluster.client import Client
from moorage.cluster.contests import Contests, contested
from moorage.cluster.errors import ApiError
from moorage.cluster.worklist import Worklist
from moorage.quota.coverage import COVERS

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace and name of a NamespaceQuota."""

_TRUE = "true"


class Labeller:
    """Brings about what `wanted` returns for a NamespaceQuota: names of labels; None: leave alone what there is.

    `uid` returns its uid, so that another one of the same name is not labelled.
    """

    def __init__(
        self,
        client: Client,
        *,
        wanted: Callable[[Key], frozenset[str] | None],
        uid: Callable[[Key], str | None],
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._uid = uid
        self._held: dict[Key, dict[str, str]] = {}
        self._written: dict[Key, dict[str, str]] = {}
        self._contests: Contests[Key] = Contests(client.backoff)
        self._work = Worklist(self._look, backoff=client.backoff, what="labels")

    def observe(self, key: Key, labels: Mapping[str, str]) -> None:
        """Learn what labels an object has."""
        self._held[key] = {name: value for name, value in labels.items() if name.startswith(COVERS)}
        self._work.mark(key)

    def mark(self, key: Key) -> None:
        """Have a look: what is wanted may have changed."""
        self._work.mark(key)

    def forget(self, key: Key) -> None:
        """Label an object no more that is gone."""
        self._work.forget(key)
        self._held.pop(key, None)
        self._written.pop(key, None)
        self._contests.forget(key)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._work.run()

    async def _look(self, key: Key) -> float | None:
        names, held, uid = self._wanted(key), self._held.get(key), self._uid(key)
        if names is None or held is None or uid is None:
            return None
        labels = {COVERS + name: _TRUE for name in names}
        changes: dict[str, str | None] = {name: None for name in held if name not in labels}
        changes |= {name: value for name, value in labels.items() if held.get(name) != value}
        if not changes:
            return None
        now = asyncio.get_running_loop().time()
        if self._written.get(key) == labels:
            if pause := self._contests.pause(key, now):
                return pause
            self._contests.put_back(key, now)
            if self._contests.is_contested(key, now):
                logger.warning("labels %s*: %s", COVERS, contested(f"NamespaceQuota {key[1]}", key[0]))
        await self._patch(key, uid, changes)
        self._written[key] = labels
        if self._held.get(key) is held:  # else it has been seen since, and perhaps edited
            self._held[key] = labels
        return None

    async def _patch(self, key: Key, uid: str, changes: Mapping[str, str | None]) -> None:
        namespace, name = key
        path = f"/apis/moorage.dev/v1alpha1/namespaces/{namespace}/namespacequotas/{name}"
        try:
            await self._client.patch(path, {"metadata": {"uid": uid, "labels": changes}})
        except ApiError as error:
            if not (error.not_found or error.conflict):
                raise
