"""Keeps the label on namespaces by which the admission policies find those that they have something to do in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing

from moorage.cluster.client import METADATA_ONLY, Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.wire import decode_meta
from moorage.cluster.worklist import Worklist
from moorage.quota.coverage import ENFORCED

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 60.0
"""How often edits are looked for."""

_NAMESPACES = "/api/v1/namespaces"


class NamespaceLabels:
    """Labels the namespaces for which `wanted` is true (None: leave alone what there is), and no others.

    `quotas` returns the names of the quotas known in a namespace: only when it is all of them is a label taken off.
    `namespaces`: work in these alone; empty: in the whole cluster.
    """

    def __init__(
        self,
        client: Client,
        *,
        wanted: Callable[[str], bool | None],
        quotas: Callable[[str], Collection[str]],
        namespaces: Collection[str] = (),
    ) -> None:
        self.problems: dict[str, str] = {}
        """Why a namespace has no label, as a sentence."""
        self._client = client
        self._wanted = wanted
        self._quotas = quotas
        self._namespaces = tuple(namespaces)
        self._labelled: dict[str, bool] = {}
        """As far as it is known."""
        self._work = Worklist(self._look, backoff=client.backoff, what="the label of namespace")

    def mark(self, namespace: str) -> None:
        """Have a look: what is wanted may have changed."""
        self._work.mark(namespace)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._work.run(), name="labels of namespaces")
            group.create_task(self._look_for_edits(), name="edits of namespaces")

    async def _look_for_edits(self) -> None:
        """Find labels that somebody took off, and those that were left while nobody looked."""
        while True:
            before = dict(self._labelled)
            try:
                if self._namespaces:
                    self._labelled = {}
                else:
                    self._take(await self._list(), before)
            except ClusterError as error:
                logger.warning("labelled namespaces cannot be listed, which will be tried again: %s", error)
            for namespace in {*before, *self._labelled, *self._namespaces}:
                self._work.mark(namespace)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def _take(self, listed: Collection[str], before: Mapping[str, bool]) -> None:
        """Take over a list, but for what was labelled or not any more while it was read."""
        newer = before.keys() ^ self._labelled.keys()
        kept = dict.fromkeys(newer & self._labelled.keys(), True)
        self._labelled = {namespace: True for namespace in listed if namespace not in newer} | kept

    async def _list(self) -> set[str]:
        found: set[str] = set()
        listing = self._client.list_pages(_NAMESPACES, {"labelSelector": ENFORCED}, accept=METADATA_ONLY)
        async with aclosing(listing) as pages:
            async for page in pages:
                found |= {decode_meta(item).name for item in page.items or ()}
        return found

    async def _look(self, namespace: str) -> None:
        wanted = self._wanted(namespace)
        known = self._labelled.get(namespace, None if self._namespaces else False)
        if wanted == known:
            self.problems.pop(namespace, None)  # somebody else may have put it right
        if wanted is None or wanted == known:
            return
        if not wanted and await self._has_unknown_quotas(namespace):
            return  # looked at again when they are known, and with the next list
        try:
            await self._client.patch(
                f"{_NAMESPACES}/{namespace}", {"metadata": {"labels": {ENFORCED: "true" if wanted else None}}}
            )
        except ApiError as error:
            if not error.not_found:
                self.problems[namespace] = f"label {ENFORCED} cannot be set on namespace {namespace}: {error}"
                raise
            wanted = False
        self.problems.pop(namespace, None)
        if wanted:
            self._labelled[namespace] = True
        else:
            self._labelled.pop(namespace, None)

    async def _has_unknown_quotas(self, namespace: str) -> bool:
        found = await self._client.get(f"/apis/moorage.dev/v1alpha1/namespaces/{namespace}/namespacequotas")
        return not {each["metadata"]["name"] for each in found["items"]} <= {*self._quotas(namespace)}
