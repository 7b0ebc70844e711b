"""What is read of pods and nodes to learn how many pods come and how long they wait: times, and little else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from moorage.cluster.records import HeldRecords
from moorage.cluster.wire import parse_resource_version


class _Owner(msgspec.Struct, frozen=True):
    kind: str = ""
    controller: bool | None = None


_TEMPLATE, _REVISION = "pod-template-hash", "controller-revision-hash"
"""Labels by which a controller tells the pods of one template from those of another."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    restart_count: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: list[_Condition] | None = None
    container_statuses: list[_Container] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Arrival(msgspec.Struct, frozen=True):
    """A pod, as far as its waits go; times in seconds since the epoch, None for what has not happened."""

    uid: str
    resource_version: int
    created: int
    template: str
    owner_kind: str
    node: str
    scheduled: int | None
    ready: int | None
    """Missing when a container was restarted: then it is not the first time."""
    deleted: int | None
    """When its deletion was asked for."""
    evicted: bool
    """By a drain, a preemption, a taint or a lost node."""
    ended: bool
    failed: bool
    labels: dict[str, str] = {}
    """They tell which workload it is of."""


_decode_pod = msgspec.json.Decoder(_Pod).decode


def read_arrival(encoded: bytes) -> Arrival:
    """Read a pod.

    Raises msgspec.MsgspecError.
    """
    pod = _decode_pod(encoded)
    meta, status = pod.metadata, pod.status
    holding = {each.type: each for each in status.conditions or () if each.status == "True"}
    restarted = any(each.restart_count for each in status.container_statuses or ())
    owner = next((each.kind for each in meta.owner_references or () if each.controller), "")
    labels = meta.labels or {}
    deleted = _seconds(meta.deletion_timestamp)
    return Arrival(
        uid=meta.uid,
        resource_version=parse_resource_version(meta.resource_version),
        created=_seconds(meta.creation_timestamp) or 0,
        template=labels.get(_TEMPLATE) or labels.get(_REVISION) or "",
        owner_kind=owner,
        node=pod.spec.node_name,
        scheduled=_since(holding, "PodScheduled"),
        ready=None if restarted else _since(holding, "Ready"),
        deleted=deleted - (meta.deletion_grace_period_seconds or 0) if deleted is not None else None,
        evicted="DisruptionTarget" in holding,
        ended=status.phase in ("Succeeded", "Failed"),
        failed=status.phase == "Failed",
        labels=labels,
    )


class _NodeStatus(msgspec.Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    status: _NodeStatus = _NodeStatus()


class NodeBirth(msgspec.Struct, frozen=True):
    """When a node was made, and whether it is suspended; `since` is when that changed last, 0 when not told."""

    uid: str
    resource_version: int
    name: str
    created: int
    suspended: bool
    since: int


_decode_node = msgspec.json.Decoder(_Node).decode


def read_birth(encoded: bytes) -> NodeBirth:
    """Read a node.

    Raises msgspec.MsgspecError.
    """
    node = _decode_node(encoded)
    suspended = next((each for each in node.status.conditions or () if each.type == "Suspended"), _Condition())
    return NodeBirth(
        uid=node.metadata.uid,
        resource_version=parse_resource_version(node.metadata.resource_version),
        name=node.metadata.name,
        created=_seconds(node.metadata.creation_timestamp) or 0,
        suspended=suspended.status == "True",
        since=_seconds(suspended.last_transition_time) or 0,
    )


class NodeBirths(HeldRecords[NodeBirth]):
    """The sink of a feed of nodes: when each was made, and when it was resumed last.

    The time of a condition may be left out or left as it was: then a resume that is seen counts as of now.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._now = now
        self._by_name: dict[str, NodeBirth] = {}
        self._resumed: dict[str, int] = {}

    def created(self, name: str) -> int | None:
        """Return when a node was made; None when it is not known."""
        node = self._by_name.get(name)
        return node.created if node is not None else None

    def resumed(self, name: str) -> int | None:
        """Return when a node was resumed last, as far as it was seen."""
        return self._resumed.get(name)

    # The sink of the feed

    def put(self, record: NodeBirth) -> None:
        """Hold a new or changed node."""
        before = self.get(record.uid)
        super().put(record)
        self._by_name[record.name] = record
        if record.suspended or not (before.suspended if before is not None else record.since):
            return
        told = record.since > (before.since if before is not None else 0)
        self._resumed[record.name] = record.since if told else int(self._now())

    def delete(self, record: NodeBirth) -> None:
        """Drop a node."""
        super().delete(record)
        if self._by_name.get(record.name, record).uid == record.uid:
            self._by_name.pop(record.name, None)
            self._resumed.pop(record.name, None)


def _since(conditions: Mapping[str, _Condition], kind: str) -> int | None:
    found = conditions.get(kind)
    return _seconds(found.last_transition_time) if found is not None else None


def _seconds(moment: datetime | None) -> int | None:
    return int(moment.timestamp()) if moment is not None else None
