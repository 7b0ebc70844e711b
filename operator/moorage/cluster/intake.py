"""From encoded objects to the sink: which events count, which are old, and what to do about objects nobody can read.

No I/O and no clock: a sequence of lines and pages in, calls of the sink out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Generic

import msgspec

from moorage.cluster.errors import ApiError, ClusterError, MalformedError, api_error
from moorage.cluster.records import Decode, R, Sink
from moorage.cluster.wire import INITIAL_EVENTS_END, Event, ObjectMeta, decode_event, decode_meta, is_older

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Counters:
    """What happened since the start; numbers that only grow."""

    events: int = 0
    """Events taken from a watch, those that were ignored included; bookmarks not."""
    ignored: int = 0
    """Events older than what is held, repeated, or of an unknown type."""
    bookmarks: int = 0
    relists: int = 0
    """Complete lists, the first included."""
    reconnects: int = 0
    """Watches opened after the first; one in 5 to 10 minutes is normal."""
    decode_errors: int = 0
    """Objects that could not be decoded, each version counted."""
    faults: int = 0
    """Exceptions that are bugs, of the sink above all."""
    verifications: int = 0
    drifts: int = 0
    """Verifications that found the held records to differ from the server's."""


class UnstreamedError(ClusterError):
    """The server does not stream lists, so they must be read in pages."""


class Intake(Generic[R]):
    """Feeds one sink and knows up to which version it is current.

    An object that cannot be decoded keeps its last good record, if there is one: old numbers are nearer to the truth
    than none. When it is deleted, that record goes too.
    """

    def __init__(self, decode: Decode[R], sink: Sink[R], counters: Counters, *, name: str) -> None:
        self.resource_version = ""
        """All changes up to this version are in the sink; empty before the first list."""
        self.undecodable: dict[str, str] = {}
        """Why an object (by uid) cannot be read; what is held for it, if anything, is of an older version."""
        self._decode = decode
        self._sink = sink
        self._counters = counters
        self._name = name
        self._unknown_types: set[str] = set()
        self._filling: dict[str, R] = {}
        self._filling_undecodable: dict[str, str] = {}

    # A new list is filled aside, then swapped in, so that readers see the old records until the new ones are complete.

    def begin(self) -> None:
        """Start a new list; what an unfinished one has gathered is dropped."""
        self._filling, self._filling_undecodable = {}, {}

    def add(self, encoded: msgspec.Raw) -> None:
        """Take one object into the new list."""
        record, meta = self._read(bytes(encoded), self._filling_undecodable)
        held = self._sink.get(meta.uid)
        if record is None or record == held:
            # Undecodable: the last good record. Unchanged: the copy can go at once, so a relist needs little memory.
            record = held
        if record is None:
            return
        known = self._filling.get(record.uid)
        if known is None or not is_older(record.resource_version, known.resource_version):
            self._filling[record.uid] = record

    def initial(self, line: bytes) -> str:
        """Take one line of a streamed list; return the list's version on the last one, else an empty text.

        Raises ApiError for an ERROR event, and UnstreamedError when the server turns out not to stream lists.
        """
        event = _event(line)
        if event.type == "BOOKMARK":
            meta = _meta(event.object)
            if INITIAL_EVENTS_END not in (meta.annotations or {}):
                raise UnstreamedError("the server sent a bookmark before the end of the initial events")
            return meta.resource_version
        _raise_if_error(event)
        self._counters.events += 1
        if event.type in {"ADDED", "MODIFIED"}:
            self.add(event.object)
        elif event.type == "DELETED":
            uid = _meta(event.object).uid
            self._filling.pop(uid, None)
            self._filling_undecodable.pop(uid, None)
        else:
            self._ignore_type(event.type)
        return ""

    def finish(self, resource_version: str) -> None:
        """Swap the new list in: the sink holds the state at this version from now on."""
        self._sink.replace(self._filling)
        self.undecodable = self._filling_undecodable
        self.begin()
        self.resource_version = resource_version
        self._counters.relists += 1

    # The watch that follows.

    def apply(self, line: bytes) -> None:
        """Take one line of a watch. Raises ApiError for an ERROR event, `gone` when the server's history went back."""
        event = _event(line)
        if event.type == "BOOKMARK":
            self._bookmark(_meta(event.object).resource_version)
            return
        _raise_if_error(event)
        self._counters.events += 1
        record, meta = None, ObjectMeta()
        if event.type == "DELETED":
            meta = _meta(event.object)
        elif event.type in {"ADDED", "MODIFIED"}:
            record, meta = self._read(bytes(event.object), self.undecodable)
        else:
            self._ignore_type(event.type)
            return
        # A watch sends versions in rising order, so anything at or below what we have is a repetition.
        if is_older(meta.resource_version, self.resource_version, or_equal=True):
            self._counters.ignored += 1
            return
        held = self._sink.get(meta.uid)
        if event.type == "DELETED":
            self._delete(meta.uid, held)
        elif record is not None:
            self._put(record, held)
        self.resource_version = meta.resource_version or self.resource_version

    def _read(self, encoded: bytes, undecodable: dict[str, str]) -> tuple[R | None, ObjectMeta]:
        """Decode an object; when that fails, count it, log it once per uid, and read its metadata alone."""
        try:
            record = self._decode(encoded)
        except Exception as error:  # whatever a decoder trips over, all other objects must go on
            self._counters.decode_errors += 1
            meta = _meta(encoded)
            reason = f"{type(error).__name__}: {error}"
            if meta.uid not in self.undecodable and meta.uid not in undecodable:
                expected = isinstance(error, ValueError | msgspec.MsgspecError)
                logger.warning(
                    "%s: %s (uid %s) cannot be read, its last good version is kept: %s",
                    self._name, meta.label, meta.uid, reason, exc_info=None if expected else error,
                )  # fmt: skip
            undecodable[meta.uid] = reason
            return None, meta
        if record.resource_version:
            return record, ObjectMeta(uid=record.uid, resource_version=str(record.resource_version))
        return record, _meta(encoded)

    def _put(self, record: R, held: R | None) -> None:
        self.undecodable.pop(record.uid, None)
        if held is not None and is_older(record.resource_version, held.resource_version, or_equal=True):
            self._counters.ignored += 1
        else:
            self._sink.put(record)

    def _delete(self, uid: str, held: R | None) -> None:
        self.undecodable.pop(uid, None)
        if held is None:
            self._counters.ignored += 1
        else:
            self._sink.delete(held)

    def _bookmark(self, resource_version: str) -> None:
        self._counters.bookmarks += 1
        if is_older(resource_version, self.resource_version):
            # An etcd restored from a backup. Events that we would take for repetitions may follow.
            message = f"the server's history went back from version {self.resource_version} to {resource_version}"
            raise ApiError(410, "Expired", message)
        self.resource_version = resource_version or self.resource_version

    def _ignore_type(self, kind: str) -> None:
        self._counters.ignored += 1
        if kind not in self._unknown_types:
            self._unknown_types.add(kind)
            logger.warning("%s: events of the unknown type %r are ignored", self._name, kind)


def _meta(encoded: bytes | msgspec.Raw) -> ObjectMeta:
    try:
        return decode_meta(encoded)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ObjectMeta()


def _event(line: bytes) -> Event:
    try:
        return decode_event(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedError(f"the watch sent a line that is no event: {error}") from error


def _raise_if_error(event: Event) -> None:
    if event.type == "ERROR":
        raise api_error(0, bytes(event.object))
