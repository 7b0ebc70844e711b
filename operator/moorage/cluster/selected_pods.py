"""Follows the pods that a label selector selects: how many there are, and what the newest of them looks like."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from moorage.cluster.records import LookedOverRecords
from moorage.cluster.shared_feed import SharedFeed, SharedFeeds, with_labels
from moorage.cluster.templates import template_of_pod, template_spec
from moorage.cluster.unit_shape import NO_SHAPE, Shape
from moorage.cluster.wire import parse_resource_version

logger = logging.getLogger(__name__)

_SHARED_TEMPLATES = 256
"""How many templates are remembered to make equal ones one object in memory."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None


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
    labels: dict[str, str] = {}


_decode_pod = msgspec.json.Decoder(_Pod).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode


class PodReader:
    """Reads pods; equal templates are one object in memory."""

    def __init__(self) -> None:
        self._templates: dict[bytes, bytes] = {}

    def __call__(self, encoded: bytes) -> SelectedPod:
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
            labels=meta.labels or {},
        )

    def _shared(self, template: bytes) -> bytes:
        if len(self._templates) >= _SHARED_TEMPLATES:
            self._templates.clear()
        return self._templates.setdefault(template, template)


class SelectedPods(LookedOverRecords[SelectedPod]):
    """The sink of a feed of pods, and what is known by them; `on_change` is called when that may have changed."""

    def __init__(self, *, on_change: Callable[[], None]) -> None:
        super().__init__()
        self.shape = NO_SHAPE
        """Of the newest pod that runs, else of the newest; of the last one there was when there is none."""
        self.listed = False
        """Whether all of them have been read once."""
        self._on_change = on_change

    @property
    def replicas(self) -> int:
        """How many pods have not ended."""
        return sum(pod.runs for pod in self._records.values())

    def join(self, feeds: SharedFeeds[SelectedPod], namespace: str, selector: str) -> SharedFeed[SelectedPod]:
        """Follow the pods of a namespace that a selector selects.

        Raises ValueError for what is no selector.
        """
        return feeds.join(_path(namespace), self, with_labels(selector))

    def leave(self, feeds: SharedFeeds[SelectedPod], namespace: str) -> None:
        """Follow them no more."""
        feeds.leave(_path(namespace), self)

    # The sink of the feed

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


class OneSelection:
    """Follows one selection of pods at a time, whichever was asked for last, until it is closed."""

    def __init__(self, feeds: SharedFeeds[SelectedPod], namespace: str, *, on_change: Callable[[], None]) -> None:
        self._feeds = feeds
        self._namespace = namespace
        self._on_change = on_change
        self._followed: tuple[str, SelectedPods] | None = None
        self._feed: SharedFeed[SelectedPod] | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the server lets us read no pods at the moment; `on_change` does not tell of that."""
        return self._feed is not None and self._feed.refusal is not None

    def shape(self, selector: str) -> Shape | None:
        """Return what the pods of a selector look like, and follow them from now on; None while they are being read.

        Without the right to read them, or with what is no selector, nothing is waited for.
        """
        pods = self._selected(selector)
        return None if self._feed is not None and not pods.listed and not self.is_refused else pods.shape

    def _selected(self, selector: str) -> SelectedPods:
        if self._followed is not None and self._followed[0] == selector:
            return self._followed[1]
        self.close()
        pods = SelectedPods(on_change=self._on_change)
        self._followed = selector, pods
        try:
            self._feed = pods.join(self._feeds, self._namespace, selector)
        except ValueError as error:
            logger.warning("pods of a workload in %s cannot be found: %s", self._namespace, error)
        return pods

    def close(self) -> None:
        """Follow no pods any more."""
        if self._followed is not None:
            self._followed[1].leave(self._feeds, self._namespace)
            self._followed = self._feed = None


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"
