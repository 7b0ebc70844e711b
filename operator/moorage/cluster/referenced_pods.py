"""Follows the pods of a workload whose kind has no /scale."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from moorage.cluster.reference import PENDING, PodsReference
from moorage.cluster.selected_pods import SelectedPod, SelectedPods
from moorage.cluster.shared_feed import SharedFeed, SharedFeeds
from moorage.status.workload import Unresolved, Workload

_LOOK_SECONDS = 1.0


class FollowedPods:
    """What is known of the pods that a selector selects; `on_change` is called when that changes."""

    def __init__(
        self, reference: PodsReference, feeds: SharedFeeds[SelectedPod], *, on_change: Callable[[], None]
    ) -> None:
        self.reference = reference
        self.known: Workload | Unresolved = PENDING
        self._feeds = feeds
        self._on_change = on_change
        self._feed: SharedFeed[SelectedPod] | None = None
        self._pods = SelectedPods(on_change=self._settle)

    async def run(self) -> None:
        """Follow the pods until cancelled; nothing that the server does ends this."""
        self._feed = self._pods.join(self._feeds, self.reference.namespace, self.reference.selector)
        try:
            while True:
                await asyncio.sleep(_LOOK_SECONDS)  # no event tells of a refusal, or of an empty list
                self._settle()
        finally:
            self._pods.leave(self._feeds, self.reference.namespace)

    def _settle(self) -> None:
        known = self._look()
        if known != self.known:
            self.known = known
            self._on_change()

    def _look(self) -> Workload | Unresolved:
        if self._feed is not None and self._feed.refusal is not None:
            why = f"{self.reference} cannot be read: {self._feed.refusal}"
            rule = 'give the operator\'s ClusterRole list, watch on pods in API group ""'
            return Unresolved("Forbidden", f"{why}; {rule}")
        if not self._pods.listed:
            return PENDING
        shape = self._pods.shape
        return Workload(shape.spec, self._pods.replicas, shape.encoded, selector=self.reference.selector)
