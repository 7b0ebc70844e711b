"""What else decides how units can be made: the cluster's version, the placeholders' class, GKE's ComputeClasses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from moorage.backends.gke import PLATFORM, platform_of
from moorage.backends.placeholder import PRIORITY_CLASS
from moorage.backends.warnings import parse_kubernetes_version
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.owned import OwnedObject, owned_decoder
from moorage.cluster.records import LookedOverRecords

logger = logging.getLogger(__name__)

_LOOK_AT_VERSION_SECONDS = 600.0
_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_COMPUTE_CLASSES = "/apis/cloud.google.com/v1/computeclasses"


class Surroundings:
    """Follows them; `changed` is called when one of them changes. `clusterwide` gives the right to read classes."""

    def __init__(self, client: Client, *, clusterwide: bool, changed: Callable[[], None]) -> None:
        self.git_version = ""
        """As the API server gives it; empty until it is known."""
        self._version_was_refused = False
        self._client = client
        self._changed = changed
        self._clusterwide = clusterwide
        self._classes = _Named(changed)
        self._compute_classes = _Named(changed)
        self._class_feed = _feed(client, _PRIORITY_CLASSES, self._classes, f"metadata.name={PRIORITY_CLASS}")
        self._compute_class_feed = _feed(client, _COMPUTE_CLASSES, self._compute_classes)

    @property
    def kubernetes(self) -> tuple[int, int] | None:
        """Major and minor version; None when it is not known."""
        return parse_kubernetes_version(self.git_version)

    @property
    def platform(self) -> str:
        """GKE, or an empty text."""
        return platform_of(self.git_version)

    @property
    def priority_class_is_known(self) -> bool:
        """Whether the placeholders' PriorityClass could be looked up."""
        return self._class_feed.synced and self._class_feed.refusal is None

    @property
    def priority_class(self) -> Mapping[str, Any] | None:
        """The placeholders' PriorityClass; None when there is none."""
        return self._classes.get_named(PRIORITY_CLASS)

    def compute_class(self, name: str) -> Mapping[str, Any] | None:
        """Return a ComputeClass of GKE; None when there is none, or it cannot be read."""
        return self._compute_classes.get_named(name)

    @property
    def version_is_awaited(self) -> bool:
        """Whether the version may be known in a moment: it has not been read, and was not refused either."""
        return not self.git_version and not self._version_was_refused

    @property
    def is_read(self) -> bool:
        """Whether the version has been read, and with it all that there is on GKE alone, as far as that may be read."""
        if not self.git_version or not self._clusterwide or self.platform != PLATFORM:
            return not self.version_is_awaited
        return self._compute_class_feed.synced or self._compute_class_feed.refusal is not None

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self._clusterwide:
                tasks.create_task(self._class_feed.run(), name=f"feed {_PRIORITY_CLASSES}")
            tasks.create_task(self._follow_version(tasks), name="version")

    async def _follow_version(self, tasks: asyncio.TaskGroup) -> None:
        """Ask for the version now and then; follow what there is on GKE alone once it is that."""
        attempts = self._client.backoff.attempts()
        follows_gke = False
        while True:
            try:
                found = str((await self._client.get("/version")).get("gitVersion") or "")
            except ClusterError as error:
                level = logging.DEBUG if self._version_was_refused else logging.WARNING
                logger.log(level, "the version of the API server cannot be read: %s", error)
                if isinstance(error, ApiError) and error.refused:
                    self._take_version("")
                await attempts.wait(at_least=error.retry_after_seconds)
                continue
            attempts.reset()
            self._take_version(found)
            if self._clusterwide and not follows_gke and self.platform == PLATFORM:
                follows_gke = True
                tasks.create_task(self._compute_class_feed.run(), name=f"feed {_COMPUTE_CLASSES}")
            await asyncio.sleep(_LOOK_AT_VERSION_SECONDS)

    def _take_version(self, found: str) -> None:
        """Hold what was answered; empty where it is not told, which some clusters forbid."""
        if found != self.git_version or self.version_is_awaited:
            self.git_version, self._version_was_refused = found or self.git_version, not found
            self._changed()


class _Named(LookedOverRecords[OwnedObject]):
    """Holds objects of the cluster by their names."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed

    def get_named(self, name: str) -> Mapping[str, Any] | None:
        return next((each.body for each in self._records.values() if each.key.name == name), None)

    def _look(self) -> None:
        self._changed()


def _feed(client: Client, path: str, sink: _Named, field_selector: str = "") -> Feed[OwnedObject]:
    decode = owned_decoder("")
    return Feed(client, path, decode, sink, field_selector=field_selector, pace=Pace(verify=0))
