"""Looks up which nodes can reach the volumes of units: by their claims, the volumes behind them, and storage classes.

There are few such units, and their volumes seldom move, so each is asked for anew now and then while it is of use.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.density.volumes import class_nodes, volume_nodes
from moorage.scheduling import NodeSelector, StoredClaim, StoredStorageClass, StoredVolume, Volume

logger = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS = 10.0

Claim = tuple[str, str]
"""Namespace and name of a PersistentVolumeClaim; of an ephemeral one, an empty text and its storage class."""


class VolumeNodes:
    """Answers from what it has looked up; what it is asked for and does not know yet it looks up soon.

    `changed` is called when an answer is another than before. Without `clusterwide` nothing is looked up, since volumes
    belong to no namespace.
    """

    def __init__(self, client: Client, *, clusterwide: bool) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._client = client
        self._clusterwide = clusterwide
        self._troubles: dict[Claim, str] = {}
        self._known: dict[Claim, NodeSelector | None] = {}
        self._asked: set[Claim] = set()
        self._new = asyncio.Event()

    def of(self, namespace: str, volumes: Iterable[Volume]) -> tuple[NodeSelector, ...]:
        """Return what holds of the nodes that can reach all of these volumes, as far as it is known."""
        found = []
        for claim in _claims(namespace, volumes) if self._clusterwide else ():
            self._asked.add(claim)
            if claim not in self._known:
                self._new.set()
            elif (nodes := self._known[claim]) is not None:
                found.append(nodes)
        return tuple(found)

    async def run(self) -> None:
        """Look up until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._new.wait(), _LOOK_AGAIN_SECONDS if self._asked else None)
            self._new.clear()
            asked, self._asked = self._asked, set()
            before = self._known
            self._known = {claim: await self._look_up(claim) for claim in sorted(asked)}
            if self._known != before:
                self.changed()

    async def _look_up(self, claim: Claim) -> NodeSelector | None:
        namespace, name = claim
        try:
            return await (self._claim_nodes(namespace, name) if namespace else self._class_nodes(name))
        except (ClusterError, msgspec.MsgspecError) as error:
            if isinstance(error, ApiError) and error.not_found:
                return None
            if self._troubles.get(claim) != str(error):  # said once: it is tried again and again
                self._troubles[claim] = str(error)
                logger.warning("where the volume of %s %s can be reached is not known: %s", namespace, name, error)
            return self._known.get(claim)

    async def _claim_nodes(self, namespace: str, name: str) -> NodeSelector | None:
        claim = await self._get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}", StoredClaim)
        if not claim.spec.volume_name:
            return await self._class_nodes(claim.spec.storage_class_name or "")
        volume = await self._get(f"/api/v1/persistentvolumes/{claim.spec.volume_name}", StoredVolume)
        return volume_nodes(volume)

    async def _class_nodes(self, name: str) -> NodeSelector | None:
        if not name:
            return None
        return class_nodes(await self._get(f"/apis/storage.k8s.io/v1/storageclasses/{name}", StoredStorageClass))

    async def _get(self, path: str, kind: Any) -> Any:
        return msgspec.convert(await self._client.get(path), kind)


def _claims(namespace: str, volumes: Iterable[Volume]) -> Iterable[Claim]:
    for each in volumes:
        if each.persistent_volume_claim is not None:
            yield namespace, each.persistent_volume_claim.claim_name
        elif (made := each.ephemeral) is not None and (template := made.volume_claim_template) is not None:
            yield "", template.spec.storage_class_name or ""
