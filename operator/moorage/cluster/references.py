"""Follows what buffers refer to: pod templates, workloads and pods.

Each is followed once, however many buffers refer to it, and for as long as one does; objects of one kind in one
namespace come in one feed, and so do pods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from moorage.cluster.client import Client
from moorage.cluster.reference import PENDING, AnyReference, PodsReference
from moorage.cluster.referenced_object import FollowedObject, ObjectRecord, decode_referenced
from moorage.cluster.referenced_pods import FollowedPods
from moorage.cluster.selected_pods import PodReader, SelectedPod
from moorage.cluster.shared_feed import SharedFeeds
from moorage.status.workload import Unresolved, Workload

logger = logging.getLogger(__name__)

_TRIALS_AT_ONCE = 4
"""How many pod templates are tried on the API server at the same time."""


@dataclass(frozen=True, slots=True)
class _Running:
    """What there is while references are followed."""

    tasks: asyncio.TaskGroup
    objects: SharedFeeds[ObjectRecord]
    pods: SharedFeeds[SelectedPod]


class References:
    """All that buffers refer to. `on_change` is called with the reference of which something else is known now."""

    def __init__(self, client: Client, on_change: Callable[[AnyReference], None]) -> None:
        self._client = client
        self._on_change = on_change
        self._followed: dict[AnyReference, tuple[FollowedObject | FollowedPods, asyncio.Task[None]]] = {}
        self._running: _Running | None = None
        self._wanted: set[AnyReference] = set()
        self._turns = asyncio.Semaphore(_TRIALS_AT_ONCE)

    def want(self, references: Iterable[AnyReference]) -> None:
        """Follow exactly these from now on."""
        self._wanted = set(references)
        self._arrange()

    def known(self, reference: AnyReference) -> Workload | Unresolved:
        """Return what is known of an object, or of pods."""
        followed = self._followed.get(reference)
        return followed[0].known if followed is not None else PENDING

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            objects = SharedFeeds(self._client, decode_referenced, tasks)
            self._running = _Running(tasks, objects, SharedFeeds(self._client, PodReader(), tasks))
            self._arrange()
            await asyncio.get_running_loop().create_future()

    def _arrange(self) -> None:
        if self._running is None:
            return
        for reference in self._wanted - self._followed.keys():
            followed = self._follower(reference, self._running)
            task = self._running.tasks.create_task(self._guard(followed), name=f"follow {reference}")
            self._followed[reference] = (followed, task)
        for reference in self._followed.keys() - self._wanted:
            _, task = self._followed.pop(reference)
            task.cancel()

    def _follower(self, reference: AnyReference, running: _Running) -> FollowedObject | FollowedPods:
        def changed() -> None:
            self._on_change(reference)

        if isinstance(reference, PodsReference):
            return FollowedPods(reference, running.pods, on_change=changed)
        return FollowedObject(
            reference, self._client, running.objects, running.pods, turns=self._turns, on_change=changed
        )

    async def _guard(self, followed: FollowedObject | FollowedPods) -> None:
        """Keep a bug in following one reference from ending the operator."""
        attempts = self._client.backoff.attempts()
        while True:
            try:
                await followed.run()
            except Exception:
                logger.exception("following %s failed by a bug; starting over", followed.reference)
                await attempts.wait()
