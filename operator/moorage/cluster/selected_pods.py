"""Follows the pods that a label selector selects: how many there are, and what the newest of them looks like."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.records import LookedOverRecords
from moorage.cluster.templates import template_of_pod, template_spec
from moorage.cluster.unit_shape import NO_SHAPE, Shape
from moorage.cluster.wire import parse_resource_version

_SHARED_TEMPLATES = 256
"""How many templates are remembered to make equal ones one object in memory."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    status: _Status = _Status()


class SelectedPod(msgspec.Struct, frozen=True):
    """What is kept of a pod."""

    uid: str
    resource_version: int
    created: str
    """As Kubernetes writes it; such texts sort by age."""
    runs: bool
    """It has not ended and is not being deleted."""
    template: bytes
    """The template that such pods are made of."""


_decode_pod = msgspec.json.Decoder(_Pod).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode


class SelectedPods(LookedOverRecords[SelectedPod]):
    """The sink of a feed of pods, and what is known by them; `on_change` is called when that may have changed."""

    def __init__(self, client: Client, namespace: str, selector: str, *, on_change: Callable[[], None]) -> None:
        super().__init__()
        self.feed: Feed[SelectedPod] = Feed(
            client,
            f"/api/v1/namespaces/{namespace}/pods",
            self.decode,
            self,
            label_selector=selector,
            pace=Pace(verify=0),
        )
        self.shape = NO_SHAPE
        """Of the newest pod that runs, else of the newest; of the last one there was when there is none."""
        self.listed = False
        """Whether all of them have been read once."""
        self._on_change = on_change
        self._templates: dict[bytes, bytes] = {}

    @property
    def replicas(self) -> int:
        """How many pods have not ended."""
        return sum(pod.runs for pod in self._records.values())

    def decode(self, encoded: bytes) -> SelectedPod:
        """Read a pod.

        Raises msgspec.MsgspecError.
        """
        pod = _decode_pod(encoded)
        meta = pod.metadata
        return SelectedPod(
            uid=meta.uid,
            resource_version=parse_resource_version(meta.resource_version),
            created=meta.creation_timestamp,
            runs=meta.deletion_timestamp is None and pod.status.phase not in ("Succeeded", "Failed"),
            template=self._shared(template_of_pod(_decode_any(encoded))),
        )

    def replace(self, records: Mapping[str, SelectedPod]) -> None:
        """Hold exactly these pods."""
        self.listed = True
        super().replace(records)

    def _look(self) -> None:
        # Times are whole seconds; of two equal ones that pod is newer which was heard of later.
        newest = max(reversed(self._records.values()), key=lambda pod: (pod.runs, pod.created), default=None)
        if newest is not None and newest.template != self.shape.encoded:
            self.shape = Shape(template_spec(newest.template), newest.template)
        self._on_change()

    def _shared(self, template: bytes) -> bytes:
        if len(self._templates) >= _SHARED_TEMPLATES:
            self._templates.clear()
        return self._templates.setdefault(template, template)


class OneSelection:
    """Follows one selection of pods at a time, whichever was asked for last, in a task of `tasks`."""

    def __init__(
        self, client: Client, namespace: str, tasks: asyncio.TaskGroup, *, on_change: Callable[[], None]
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._tasks = tasks
        self._on_change = on_change
        self._followed: tuple[str, SelectedPods, asyncio.Task[None]] | None = None

    def selected(self, selector: str) -> SelectedPods:
        """Return what is known of the pods of a selector, and follow them from now on."""
        if self._followed is not None:
            before, pods, task = self._followed
            if before == selector:
                return pods
            task.cancel()
        pods = SelectedPods(self._client, self._namespace, selector, on_change=self._on_change)
        self._followed = selector, pods, self._tasks.create_task(pods.feed.run())
        return pods
