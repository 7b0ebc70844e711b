"""Writes Kubernetes events of events.k8s.io. An event that cannot be written is lost: nothing depends on it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.event_series import EventSeries, Happening, NewEvent, SeriesUpdate, Write

logger = logging.getLogger(__name__)

CONTROLLER = "moorage.dev/operator"
_MOST_NOTE_BYTES = 1024
_MOST_INSTANCE_LENGTH = 128
_LOOK_AGAIN_SECONDS = 1.0
"""How often series are looked through for what is due."""


class EventWriter:
    """Tells what happens. `instance` names this process; `now` is the wall clock in seconds since the epoch."""

    def __init__(self, client: Client, *, instance: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._instance = instance[:_MOST_INSTANCE_LENGTH]
        self._now = now
        self._series = EventSeries()
        self._wake = asyncio.Event()
        self._last_trouble = ""

    def tell(self, happening: Happening) -> None:
        """Have an event written soon; returns at once."""
        self._series.add(happening, self._now())
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AGAIN_SECONDS):
                    await self._wake.wait()
            self._wake.clear()
            for write in list(self._series.due(self._now())):
                await self._attempt(write)

    async def _attempt(self, write: Write) -> None:
        try:
            await self._write(write)
            self._last_trouble = ""
        except ClusterError as error:
            self._series.forget(write.name)
            gone = isinstance(error, ApiError) and error.not_found
            if not gone and str(error) != self._last_trouble:
                logger.warning("an event could not be written, which will not be tried again: %s", error)
                self._last_trouble = str(error)

    async def _write(self, write: Write) -> None:
        if isinstance(write, NewEvent):
            namespace = write.happening.regarding.namespace
            await self._client.post(_path(namespace), event_body(write, self._instance))
        else:
            await self._client.patch(f"{_path(write.namespace)}/{write.name}", {"series": series_body(write)})


def event_body(new: NewEvent, instance: str) -> dict[str, Any]:
    """Return an event as it is written."""
    what = new.happening
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": new.name, "namespace": what.regarding.namespace},
        "eventTime": _micro_time(new.at),
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
        "type": "Warning" if what.warning else "Normal",
        "reason": what.reason,
        "action": what.action,
        "note": _cut(what.note),
        "regarding": {
            "apiVersion": what.regarding.api_version,
            "kind": what.regarding.kind,
            "namespace": what.regarding.namespace,
            "name": what.regarding.name,
            **({"uid": what.regarding.uid} if what.regarding.uid else {}),
        },
    }


def series_body(update: SeriesUpdate) -> dict[str, Any]:
    """Return the series of an event as it is written."""
    return {"count": update.count, "lastObservedTime": _micro_time(update.last)}


def _path(namespace: str) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


def _cut(note: str) -> str:
    encoded = note.encode()
    if len(encoded) <= _MOST_NOTE_BYTES:
        return note
    return encoded[: _MOST_NOTE_BYTES - 4].decode(errors="ignore") + " ..."


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
