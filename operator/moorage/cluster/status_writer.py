"""The one place that writes status: coalesced per object, only what changed, never lost.

Status is applied on the server side, so fields that are no longer in it vanish and foreign fields stay. Each object is
written at most once per interval; what changes meanwhile goes into the next write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError

logger = logging.getLogger(__name__)

Status = dict[str, Any]

API_VERSION = "moorage.dev/v1alpha1"


@dataclass(frozen=True, slots=True)
class StatusKey:
    """One of our objects."""

    kind: str
    plural: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Where its status is written."""
        return f"/apis/{API_VERSION}/namespaces/{self.namespace}/{self.plural}/{self.name}/status"


@dataclass(slots=True)
class _Held:
    """What the API server holds for an object, as far as we know."""

    uid: str
    resource_version: int
    status: Status
    next_write: float = 0.0


@dataclass(slots=True)
class WriterCounters:
    """What happened since the start."""

    writes: int = 0
    failures: int = 0
    unchanged: int = 0


class StatusWriter:
    """Brings the status of our objects to what `desired` says it should be.

    `desired` returns the status without times of transition, or None for an object that is not known (any more).
    `gone` is called with key and uid of an object that turns out to be deleted. `now` is the wall clock.
    """

    def __init__(
        self,
        client: Client,
        desired: Callable[[StatusKey], Status | None],
        *,
        gone: Callable[[StatusKey, str], None],
        now: Callable[[], datetime],
        interval_seconds: float = 0.25,
        parallel: int = 8,
    ) -> None:
        self.counters = WriterCounters()
        self._client = client
        self._desired = desired
        self._gone = gone
        self._now = now
        self._interval = interval_seconds
        self._slots = asyncio.Semaphore(parallel)
        self._held: dict[StatusKey, _Held] = {}
        self._dirty: set[StatusKey] = set()
        self._busy: set[StatusKey] = set()
        self._wake = asyncio.Event()

    def observe(self, key: StatusKey, *, uid: str, resource_version: int, status: Mapping[str, Any]) -> None:
        """Learn what the API server holds; a status that somebody else changed will be put right."""
        held = self._held.get(key)
        if held is None or held.uid != uid:
            self._held[key] = _Held(uid, resource_version, dict(status))
        elif resource_version > held.resource_version:
            held.resource_version, held.status = resource_version, dict(status)
        else:
            return
        self.mark(key)

    def held(self, key: StatusKey) -> Mapping[str, Any]:
        """Return the status that the API server holds, as far as we know."""
        held = self._held.get(key)
        return held.status if held is not None else {}

    def forget(self, key: StatusKey) -> None:
        """Stop writing an object that was deleted."""
        self._held.pop(key, None)
        self._dirty.discard(key)

    def mark(self, key: StatusKey) -> None:
        """Note that an object's status may have to change."""
        if key not in self._dirty:
            self._dirty.add(key)
            self._wake.set()

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._wake.wait()
                self._wake.clear()
                for key in self._dirty - self._busy:
                    self._busy.add(key)
                    group.create_task(self._write_until_clean(key), name=f"status of {key}")

    async def _write_until_clean(self, key: StatusKey) -> None:
        loop = asyncio.get_running_loop()
        attempts = self._client.backoff.attempts()
        try:
            while key in self._dirty:
                if (held := self._held.get(key)) is not None and (pause := held.next_write - loop.time()) > 0:
                    await asyncio.sleep(pause)
                self._dirty.discard(key)
                # Looked up anew: while we slept, the object may have been deleted, or made anew under its old name.
                if (held := self._held.get(key)) is None:
                    continue
                try:
                    async with self._slots:
                        began = loop.time()  # so that a slow API server does not make us slower still
                        if await self._write(key, held):
                            held.next_write = began + self._interval
                    attempts.reset()
                except ClusterError as error:
                    self.counters.failures += 1
                    logger.warning("the status of %s could not be written and will be tried again: %s", key, error)
                    self._dirty.add(key)
                    await attempts.wait(at_least=error.retry_after_seconds)
                except Exception:
                    # A bug; the next change of this object tries again, and all other objects go on.
                    self.counters.failures += 1
                    logger.exception("the status of %s could not be made", key)
        finally:
            self._busy.discard(key)

    async def _write(self, key: StatusKey, held: _Held) -> bool:
        """Write what is desired if it differs; tell whether it was written."""
        desired = self._desired(key)
        if desired is None:
            return False
        if without_times(desired) == without_times(held.status):
            self.counters.unchanged += 1
            return False
        status = with_times(desired, held.status, self._now())
        body = {
            "apiVersion": API_VERSION,
            "kind": key.kind,
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": held.uid},
            "status": status,
        }
        try:
            stored = await self._client.apply(key.path, body)
        except ApiError as error:
            if error.not_found or (error.conflict and "uid" in error.message.lower()):
                # Deleted, or made anew under the same name: then its own event follows.
                if self._held.get(key) is held:
                    self.forget(key)
                self._gone(key, held.uid)
                return False
            raise
        self.counters.writes += 1
        version = int(stored["metadata"]["resourceVersion"])
        if version > held.resource_version:
            held.resource_version, held.status = version, stored.get("status") or {}
        return True


def without_times(status: Mapping[str, Any]) -> Status:
    """Return a status in the form in which two are compared: conditions by type and without their times, no tuples.

    A tuple never equals the list that comes back for it.
    """
    conditions = {
        each["type"]: {name: value for name, value in each.items() if name != "lastTransitionTime"}
        for each in status.get("conditions") or ()
    }
    return {**_with_lists(status), "conditions": conditions}


def _with_lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_lists(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_lists(each) for each in value]
    return value


def with_times(desired: Mapping[str, Any], held: Mapping[str, Any], now: datetime) -> Status:
    """Say of each condition when its status last changed: as held so far, or now."""
    before = {each["type"]: each for each in held.get("conditions") or ()}
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = []
    for each in desired.get("conditions") or ():
        old = before.get(each["type"])
        kept = old["lastTransitionTime"] if old is not None and old["status"] == each["status"] else stamp
        conditions.append({**each, "lastTransitionTime": kept})
    return {**desired, "conditions": conditions}
