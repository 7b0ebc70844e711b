"""Keeps track of what is there of each buffer, at a pace that costs little however busy the cluster is."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from moorage.handlers.nodes import Nodes
from moorage.handlers.sight import BufferKey, Sight, Wish
from moorage.handlers.watches import Watches
from moorage.quota.names import PODS
from moorage.status.presence import Sighting, Unseen

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.25
_SHARE = 20
"""After a look, this many times as long as it took is waited at least: looking takes 5% of one CPU at most."""

_LOOK_AGAIN_SECONDS = 1.0
"""Sizes change without a word to us, so they are compared this often."""

_PATIENCE_SECONDS = 40.0
"""How long is waited for the first node that could hold a unit, of an autoscaler that does not say what it can do."""

_FIRST_LIST_SECONDS = 30.0
"""How long the first list of nodes may take before status says that it is waited for."""


_NOT_WATCHED = Unseen(
    "NodesNotWatched",
    "the operator works in some namespaces only (--namespace), so it does not know what else is on nodes",
)


class Presence:
    """Looks where units are, and says so to `on_change` with each buffer of which something changed.

    `wishes` returns what is looked for, or why nothing is, those first that have the first choice. `on_taken` is called
    with a buffer and how many of its units pods have taken since the last look.
    """

    def __init__(
        self,
        watches: Watches,
        nodes: Nodes,
        wishes: Callable[[], Mapping[BufferKey, Wish | Unseen]],
        *,
        on_change: Callable[[BufferKey], None],
        on_taken: Callable[[BufferKey, int], None] = lambda *_: None,
    ) -> None:
        self._watches = watches
        self._nodes = nodes
        self._wishes = wishes
        self._on_change = on_change
        self._on_taken = on_taken
        self._sight = Sight()
        self._seen: dict[BufferKey, Sighting | Unseen] = {}
        self._looked_for: Mapping[BufferKey, Wish] = {}
        self._wake = asyncio.Event()
        self._dirty = True
        self._began = time.monotonic()
        self._relists: dict[str, int] = {}
        self._unfit_since: dict[BufferKey, float] = {}
        """Since when no node that is there could hold a unit of these buffers."""
        nodes.changed = watches.residents.changed = self._changed

    def seen(self, key: BufferKey) -> Sighting | Unseen:
        """Return what is there of a buffer."""
        return self._seen.get(key, Unseen("NodesUnknown", "nodes and pods are being looked at", pending=True))

    def wake(self) -> None:
        """Look soon: a buffer came, changed or went."""
        self._wake.set()

    async def run(self) -> None:
        """Look until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            following: asyncio.Task[None] | None = None
            while True:
                began = time.monotonic()
                wished = self._wishes()
                wishes = {key: each for key, each in wished.items() if isinstance(each, Wish)}
                if wishes and following is None and self._watches.clusterwide:
                    self._began = time.monotonic()
                    following = tasks.create_task(self._nodes.run(), name="nodes")
                elif not wishes and following is not None:
                    following.cancel()
                    following = None
                await self._look_for(wishes, {key: each for key, each in wished.items() if isinstance(each, Unseen)})
                await asyncio.sleep(max(_PAUSE_SECONDS, (time.monotonic() - began) * _SHARE))
                await self._woken(_LOOK_AGAIN_SECONDS if wishes else None)

    async def _woken(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    def _changed(self) -> None:
        self._dirty = True
        self._wake.set()

    async def _look_for(self, wishes: Mapping[BufferKey, Wish], unseen: Mapping[BufferKey, Unseen]) -> None:
        """Look, if anything has changed; of some buffers it is known that nothing can be seen."""
        self._arrange(wishes)
        try:
            seen = {**await self._look(wishes), **unseen}
        except Exception:
            # A bug. The buffers keep what was seen last, and everything else goes on.
            logger.exception("what is there of buffers could not be found out")
            return
        changed = [key for key, each in seen.items() if self._seen.get(key) != each]
        self._seen = seen
        for key, each in seen.items():
            if isinstance(each, Sighting) and each.taken and key in changed:
                self._on_taken(key, each.taken)
        for key in changed:
            self._on_change(key)

    def _arrange(self, wishes: Mapping[BufferKey, Wish]) -> None:
        """Have watched what the wishes need, and no more."""
        residents = self._watches.residents
        if not wishes:
            if residents.watched:
                residents.stop()
                self._watches.want_labels(None)
            return
        residents.watch((key[0], wish.placeholders) for key, wish in wishes.items() if wish.placeholders)
        minding = [wish.unit for wish in wishes.values() if wish.unit.minds_other_pods]
        keys = frozenset(key for unit in minding for key in unit.label_keys())
        if minding and self._watches.want_labels(keys):
            self._relists = {feed.path: feed.counters.relists for feed in self._watches.pod_feeds}

    async def _look(self, wishes: Mapping[BufferKey, Wish]) -> dict[BufferKey, Sighting | Unseen]:
        if (unseen := self._unseen()) is not None:
            self._dirty = True
            return self._without_nodes(wishes, unseen)
        if not self._dirty and wishes == self._looked_for and not self._waited_enough():
            return self._seen
        self._dirty, self._looked_for = False, wishes
        residents = self._watches.residents
        found: dict[BufferKey, Sighting | Unseen] = {}
        for key, each in self._sight.look(
            wishes,
            dict(self._nodes.by_name),  # as it is now, for all buffers
            residents.occupancy.loads,
            places={key: residents.places((key[0], wish.placeholders)) for key, wish in wishes.items()},
            nodes_version=self._nodes.version,
            daemons_version=residents.occupancy.daemons_changed,
        ):
            found[key] = self._with_patience(key, each)
            await asyncio.sleep(0)  # nothing else shall wait for all buffers
        residents.occupancy.prune(self._nodes.by_name)
        self._unfit_since = {key: since for key, since in self._unfit_since.items() if key in wishes}
        return found

    def _without_nodes(self, wishes: Mapping[BufferKey, Wish], unseen: Unseen) -> dict[BufferKey, Sighting | Unseen]:
        """Count placeholders that have a node where nodes may not be read; of other units nothing is known."""
        found: dict[BufferKey, Sighting | Unseen] = dict.fromkeys(wishes, unseen)
        if unseen is _NOT_WATCHED and self._watches.view(PODS).complete:
            for key, wish in wishes.items():
                if wish.placeholders:
                    places = self._watches.residents.places((key[0], wish.placeholders))
                    found[key] = self._sight.count(key, wish, places, self._watches.residents.occupancy.loads)
        return found

    def _with_patience(self, key: BufferKey, seen: Sighting) -> Sighting:
        """Give an autoscaler time to make the first node that could hold a unit."""
        if seen.outlook.feasible:
            self._unfit_since.pop(key, None)
            return seen
        since = self._unfit_since.setdefault(key, time.monotonic())
        return replace(seen, waited=time.monotonic() - since >= _PATIENCE_SECONDS)

    def _waited_enough(self) -> bool:
        """Whether the time of a buffer is over that was given when it was last looked at."""
        return any(
            isinstance(seen := self._seen.get(key), Sighting)
            and not seen.waited
            and time.monotonic() - since >= _PATIENCE_SECONDS
            for key, since in self._unfit_since.items()
        )

    def _unseen(self) -> Unseen | None:
        """Return why nothing can be said now."""
        if not self._watches.clusterwide:
            return _NOT_WATCHED
        view = self._watches.view(PODS)
        if view.trouble is not None:
            return Unseen("PodsUnknown", view.message)
        if self._nodes.listing or not view.complete or self._labels_are_read():
            pending = time.monotonic() - self._began < _FIRST_LIST_SECONDS
            return Unseen("NodesUnknown", "nodes and pods are being listed", pending=pending)
        return Unseen("NodesUnknown", self._nodes.trouble) if self._nodes.trouble else None

    def _labels_are_read(self) -> bool:
        """Whether pods are being listed anew for labels that units look at."""
        return any(feed.counters.relists == self._relists.get(feed.path) for feed in self._watches.pod_feeds)
