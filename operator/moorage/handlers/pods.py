"""From the feed of pods to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from moorage.objects import Pod
from moorage.quota.ledger import Ledger
from moorage.quota.usage import PodReader, PodUse

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector for pods that have not ended; one that ends then arrives as deleted."""

_decode_pod = msgspec.json.Decoder(Pod).decode


def pod_decoder(reader: PodReader) -> Callable[[bytes], PodUse]:
    """Return what makes a record of an encoded pod; see `PodReader.read` for what it raises."""

    def decode(encoded: bytes) -> PodUse:
        return reader.read(_decode_pod(encoded))

    return decode


class PodSink:
    """Hands the pods of one feed, of one namespace or of all, to the ledger; `changed` is called after each change."""

    def __init__(self, ledger: Ledger, *, namespace: str | None, changed: Callable[[], None]) -> None:
        self._ledger = ledger
        self._namespace = namespace
        self._changed = changed

    def replace(self, records: Mapping[str, PodUse]) -> None:
        """Hold exactly these pods."""
        self._ledger.replace(records.values(), namespace=self._namespace)
        self._changed()

    def put(self, record: PodUse) -> None:
        """Hold a new or changed pod."""
        self._ledger.put(record)
        self._changed()

    def delete(self, record: PodUse) -> None:
        """Drop a pod."""
        self._ledger.delete(record.uid)
        self._changed()

    def get(self, uid: str) -> PodUse | None:
        """Return the record held for a pod."""
        return self._ledger.get(uid)

    def snapshot(self) -> Mapping[str, PodUse]:
        """Return the pods held, by uid."""
        return self._ledger.pods(self._namespace)
