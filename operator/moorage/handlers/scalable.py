"""The workloads that can be scaled, held in memory: the webhook needs their templates, and may ask nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from moorage.admission.workloads import Replicated, WorkloadObject, replicated
from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource
from moorage.cluster.event_series import Regarding
from moorage.cluster.feed import Feed, Pace

_FOLLOWED = (
    Resource("apps", "v1", "deployments", "Deployment"),
    Resource("apps", "v1", "statefulsets", "StatefulSet"),
    Resource("apps", "v1", "replicasets", "ReplicaSet"),
)
"""What can be scaled. Jobs cannot, and their pods name them in full."""


class ScalableRecord(msgspec.Struct, frozen=True):
    """A stored workload."""

    uid: str
    resource_version: int
    workload: Replicated | None
    """None for one that another workload manages, as a Deployment does its ReplicaSets."""


_decode = msgspec.json.Decoder(WorkloadObject).decode


def read_scalable(kind: str, encoded: bytes) -> ScalableRecord:
    """Read a stored workload. Raises msgspec.MsgspecError."""
    found = _decode(encoded)
    meta = found.metadata
    workload = None if meta.controller is not None else replicated(kind, found)
    return ScalableRecord(meta.uid, meta.version, workload)


class _Sink:
    """Holds the workloads of one feed, and finds them by name."""

    def __init__(self, known: dict[tuple[str, str, str], ScalableRecord]) -> None:
        self._records: dict[str, ScalableRecord] = {}
        self._known = known

    def replace(self, records: Mapping[str, ScalableRecord]) -> None:
        for record in self._records.values():
            self._forget(record)
        self._records = dict(records)
        for record in records.values():
            self._learn(record)

    def put(self, record: ScalableRecord) -> None:
        self._records[record.uid] = record
        self._learn(record)

    def delete(self, record: ScalableRecord) -> None:
        self._records.pop(record.uid, None)
        self._forget(record)

    def get(self, uid: str) -> ScalableRecord | None:
        return self._records.get(uid)

    def snapshot(self) -> Mapping[str, ScalableRecord]:
        return self._records

    def _learn(self, record: ScalableRecord) -> None:
        if record.workload is not None:
            self._known[_key(record.workload)] = record

    def _forget(self, record: ScalableRecord) -> None:
        if record.workload is not None:
            known = self._known.get(_key(record.workload))
            if known is not None and known.uid == record.uid:  # else it was made anew under its old name
                del self._known[_key(record.workload)]


class Scalables:
    """Knows what can be scaled, in some namespaces or (None among `places`) in all."""

    def __init__(self, client: Client, places: Iterable[str | None]) -> None:
        self._known: dict[tuple[str, str, str], ScalableRecord] = {}
        self.feeds = [
            Feed(client, each.path(place), _reader(each.kind), _Sink(self._known), pace=Pace(verify=0))
            for each in _FOLLOWED
            for place in places
        ]

    def get(self, kind: str, namespace: str, name: str) -> Replicated | None:
        """Return a workload, if it is known."""
        record = self._known.get((kind, namespace, name))
        return record.workload if record is not None else None

    def regarding(self, kind: str, namespace: str, name: str) -> Regarding | None:
        """Return how an event names a workload, if it is known."""
        record = self._known.get((kind, namespace, name))
        return None if record is None else Regarding("apps/v1", kind, namespace, name, record.uid)


def _reader(kind: str) -> Callable[[bytes], ScalableRecord]:
    return partial(read_scalable, kind)


def _key(workload: Replicated) -> tuple[str, str, str]:
    return workload.kind, workload.namespace, workload.name
