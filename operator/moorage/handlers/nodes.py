"""The cluster's nodes, read for as long as a buffer needs to know where its units fit."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.records import HeldRecords
from moorage.cluster.wire import parse_resource_version
from moorage.density.nodes import Node, node_of
from moorage.scheduling import StoredNode

PATH = "/api/v1/nodes"
STALE_SECONDS = 90.0
"""Nodes of which nothing has been heard for so long are not believed: bookmarks come about every 60 seconds."""


class NodeRecord(msgspec.Struct, frozen=True):
    """A node as it is kept."""

    uid: str
    resource_version: int
    node: Node


_decode = msgspec.json.Decoder(StoredNode).decode


def read_node(encoded: bytes) -> NodeRecord:
    """Return the record of an encoded node.

    Raises msgspec.MsgspecError or QuantityError when it cannot be read.
    """
    stored = _decode(encoded)
    return NodeRecord(stored.metadata.uid, parse_resource_version(stored.metadata.resource_version), node_of(stored))


class Nodes(HeldRecords[NodeRecord]):
    """Holds the nodes by name. `changed` is called when one comes, goes, or changes in what matters here.

    Kubelets report every few minutes, so most versions of a node differ in nothing that matters: then the value that is
    held stays the same object.
    """

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.changed: Callable[[], None] = lambda: None
        self.by_name: dict[str, Node] = {}
        self.version = 0
        """It grows with each change."""
        self._client = client
        self._feed: Feed[NodeRecord] | None = None

    async def run(self) -> None:
        """Follow the nodes until cancelled, and forget them then."""
        self._feed = Feed(self._client, PATH, read_node, self, pace=Pace(verify=0))
        try:
            await self._feed.run()
        finally:
            self._feed = None
            self.replace({})

    @property
    def trouble(self) -> str:
        """Why the nodes are not known, in a sentence; empty when they are."""
        feed = self._feed
        if feed is None or (not feed.synced and feed.refusal is None):
            return "the nodes are being listed"
        if feed.refusal is not None:
            return f"nodes cannot be read ({feed.refusal}): the operator needs the right to list and watch nodes"
        if feed.last_byte_at is not None and time.monotonic() - feed.last_byte_at > STALE_SECONDS:
            return f"nothing has been heard of nodes for more than {STALE_SECONDS:.0f} seconds ({feed.state})"
        return ""

    @property
    def listing(self) -> bool:
        """Whether they are not known only because they are being read for the first time."""
        return self._feed is None or (not self._feed.synced and self._feed.refusal is None)

    # The sink of the feed

    def put(self, record: NodeRecord) -> None:
        """Hold a new or changed node."""
        held = self.get(record.uid)
        if held is not None and held.node == record.node:
            record = NodeRecord(record.uid, record.resource_version, held.node)
        super().put(record)
        if self.by_name.get(record.node.name) is not record.node:
            self.by_name[record.node.name] = record.node
            self._note()

    def delete(self, record: NodeRecord) -> None:
        """Drop a node; one that was made anew under its name meanwhile stays."""
        held = self.get(record.uid)
        super().delete(record)
        if held is not None and self.by_name.get(held.node.name) is held.node:
            del self.by_name[held.node.name]
            self._note()

    def _note(self) -> None:
        self.version += 1
        self.changed()
