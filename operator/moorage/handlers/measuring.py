"""Follows the pods of the workloads whose demand or latencies are to be measured, and the nodes they wait for.

Nothing is followed for buffers whose values are all given, and a namespace is followed once for all of its buffers.
What was learnt is kept in the buffers' status and is taken up again after a restart. Until then no size is made of it:
nothing learnt is a size too, and a smaller one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.sizing_values import MEASURED
from moorage.buffer.demand import Demand
from moorage.buffer.measured import NOTHING_MEASURED, Measured
from moorage.buffer.newcomers import Newcomers
from moorage.buffer.size import SizingError
from moorage.cluster.arrivals import Arrival, NodeBirth, NodeBirths, read_arrival, read_birth
from moorage.cluster.autoscalers import Autoscalers
from moorage.cluster.client import Client
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.gauge import Gauge, Memory
from moorage.cluster.history import History, HistoryError
from moorage.cluster.reference import AnyReference, Reference
from moorage.cluster.shared_feed import SharedFeed, SharedFeeds, Wanted, with_labels
from moorage.density.selectors import parse_selector
from moorage.status.findings import RESOLVING
from moorage.status.sizing import record_windows
from moorage.status.workload import Unresolved, Workload

logger = logging.getLogger(__name__)

BufferKey = tuple[str, str]

_TICK_SECONDS = 1.0
_PUBLISH_SECONDS = 10.0
"""How often sizes follow what is measured: each time is a write of status."""
_HISTORY_ATTEMPTS, _HISTORY_SECONDS = 5, 30.0
_RECORD_SECONDS = 30.0
"""How often what is to outlive a restart is written while pods come."""
_OLDEST_RECORD_SECONDS = 600.0
"""The same while none do: then only time has passed."""
_LINGER_SECONDS = 60.0
"""Nodes are followed for so long after nothing is measured any more: a workload may be gone for a moment only."""

_AUTOSCALERS_UNREAD = Unresolved(RESOLVING, "the namespace's autoscalers are being read", pending=True)
_TAKEN_UP = Unresolved(RESOLVING, "what was learnt of the workload's pods is being taken up again", pending=True)


@dataclass(frozen=True, slots=True)
class Need:
    """A buffer, and the pods to measure it by."""

    spec: CapacityBufferSpec
    selector: str
    """Empty when it is not told which pods these are."""
    reference: AnyReference


def is_measured(spec: CapacityBufferSpec) -> bool:
    """Whether a spec asks for anything that is measured by pods."""
    sizing = spec.sizing
    if sizing is None:
        return False
    values = (sizing.scale_up_rate, sizing.standby_resume_latency, sizing.cold_node_latency)
    return sizing.method == "Observed" or MEASURED in values


def may_be_scaled(spec: CapacityBufferSpec) -> bool:
    """Whether an autoscaler may cap a buffer or tell its burst: one with sizing, of a workload."""
    return spec.sizing is not None and spec.scalable_ref is not None


@dataclass(slots=True)
class _Followed:
    """A workload that is measured now."""

    need: Need
    gauge: Gauge
    feed: SharedFeed[Arrival]
    published_at: float = 0.0
    recorded_at: float = 0.0
    learnt: tuple[object, ...] = ()
    """What the record tells of pods."""


@dataclass(slots=True)
class Measuring:
    """What is measured, by buffer. `needs` returns what is to be measured, `changed` is called with a buffer."""

    client: Client
    needs: Callable[[], Mapping[BufferKey, Need]]
    changed: Callable[[BufferKey], None]
    autoscalers: Autoscalers
    history: History | None = None
    """Where demand is read from that came before we looked; None: nowhere."""
    clusterwide: bool = True
    now: Callable[[], float] = time.time
    _published: dict[BufferKey, Measured] = field(default_factory=dict)
    """What sizes are made of; it stays in force while a workload is gone, or others of its pods are being read."""
    _records: dict[BufferKey, str] = field(default_factory=dict)
    """What is to outlive a restart."""
    _followed: dict[BufferKey, _Followed] = field(default_factory=dict)
    _failed: set[BufferKey] = field(default_factory=set)
    """Buffers that nothing could be measured for, by a bug."""
    _births: NodeBirths = field(default_factory=NodeBirths)
    _feed_of_births: Feed[NodeBirth] | None = None
    _following_births: asyncio.Task[None] | None = None
    _needed_at: float = 0.0
    """When anything was measured last."""
    _feeds: SharedFeeds[Arrival] | None = None
    _unreadable: set[str] = field(default_factory=set)
    """Selectors that cannot be read, which is said once of each."""

    def begin(self, key: BufferKey, status: Mapping[str, Any]) -> None:
        """Learn of a buffer; what its status holds was learnt before a restart."""
        record = ((status.get("sizing") or {}).get("measured") or {}).get("record")
        if record:
            self._records.setdefault(key, record)

    def end(self, key: BufferKey) -> None:
        """Forget a buffer that was deleted."""
        self._unfollow(key)
        self._published.pop(key, None)
        self._records.pop(key, None)
        self._failed.discard(key)

    def complete(self, key: BufferKey, found: Workload, need: Need) -> Workload | Unresolved:
        """Add what is measured of a workload, and its autoscaler."""
        measured = NOTHING_MEASURED
        if is_measured(need.spec):
            if key not in self._published and key in self._records and self._can_be_followed(need):
                return _TAKEN_UP
            measured = self._published.get(key, NOTHING_MEASURED)
        if may_be_scaled(need.spec) and isinstance(need.reference, Reference):
            if not self.autoscalers.is_known(key[0]):
                return _AUTOSCALERS_UNREAD
            target = need.reference.kind, need.reference.name
            scaler = self.autoscalers.of(key[0], target, replicas=found.replicas or 0)
            measured = replace(measured, autoscaler=scaler)
        return replace(found, measured=measured) if measured != NOTHING_MEASURED else found

    def record(self, key: BufferKey) -> str:
        """Return what is to outlive a restart; empty when there is nothing."""
        return self._records.get(key, "")

    async def run(self) -> None:
        """Measure until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._feeds = SharedFeeds(self.client, read_arrival, tasks)
            while True:
                try:
                    needs = self.needs()
                    self._arrange_births(tasks, needed=bool(needs))
                    self._arrange(needs, self._feeds, tasks)
                    for key in list(self._followed):
                        self._advance(key)
                except Exception:
                    logger.exception("what is measured of workloads could not be found out")  # a bug; all else goes on
                await asyncio.sleep(_TICK_SECONDS)

    def _arrange_births(self, tasks: asyncio.TaskGroup, *, needed: bool) -> None:
        """Follow nodes while something is measured, where they may be read."""
        if needed:
            self._needed_at = self.now()
            if self._following_births is None and self.clusterwide:
                feed = Feed[NodeBirth](self.client, "/api/v1/nodes", read_birth, self._births, pace=Pace(verify=0))
                self._feed_of_births = feed
                self._following_births = tasks.create_task(feed.run(), name="births of nodes")
        elif self._following_births is not None and self.now() - self._needed_at >= _LINGER_SECONDS:
            self._following_births.cancel()
            self._following_births = self._feed_of_births = None
            self._births = NodeBirths()  # what happens meanwhile is not seen

    def _births_are_pending(self) -> bool:
        feed = self._feed_of_births
        return feed is not None and not feed.synced and feed.refusal is None

    def _arrange(self, needs: Mapping[BufferKey, Need], feeds: SharedFeeds[Arrival], tasks: asyncio.TaskGroup) -> None:
        for key in self._followed.keys() - needs.keys():
            self._leave(key)
        for key, need in needs.items():
            try:
                self._take_up(key, need, feeds, tasks)
            except Exception:
                if key not in self._failed:  # once, not every second
                    self._failed.add(key)
                    logger.exception("nothing more is measured of %s/%s, by a bug; all others go on", *key)
                if key not in self._published:
                    self._publish(key, NOTHING_MEASURED, "")
            else:
                self._failed.discard(key)

    def _take_up(self, key: BufferKey, need: Need, feeds: SharedFeeds[Arrival], tasks: asyncio.TaskGroup) -> None:
        """Measure for a buffer, and go on from what was learnt before."""
        followed = self._followed.get(key)
        if followed is not None and followed.need.selector == need.selector:
            followed.need = need
            return
        windows = self._windows(need, NOTHING_MEASURED)
        if windows is None:
            return
        self._leave(key)
        memory = Memory.read(self._records.get(key, ""))
        is_new = memory is None
        if memory is None:
            memory = Memory.new(*windows, self.now())
        if not self._follow(key, need, memory, feeds):
            return
        if is_new and self.history is not None and isinstance(need.reference, Reference):
            tasks.create_task(self._read_history(self.history, need.reference, memory), name=f"history {key}")

    def _follow(self, key: BufferKey, need: Need, memory: Memory, feeds: SharedFeeds[Arrival]) -> bool:
        """Follow the pods of a workload, if it can be told which they are."""
        try:
            wanted: Wanted[Arrival] = with_labels(need.selector)
        except ValueError as error:
            if need.selector not in self._unreadable:
                self._unreadable.add(need.selector)
                logger.warning("nothing is measured of %s/%s: %s", *key, error)
            return False
        counting = need.spec.sizing.count if need.spec.sizing is not None else ()
        newcomers = Newcomers(rollouts="Rollouts" in counting, replacements="Replacements" in counting)
        gauge = Gauge(memory, self._births if self.clusterwide else None, newcomers=newcomers)
        self._followed[key] = _Followed(need, gauge, feeds.join(_pods_of(key[0]), gauge, wanted))
        return True

    def _can_be_followed(self, need: Need) -> bool:
        """Whether the pods of a workload are followed, or will be in a moment."""
        with suppress(ValueError):
            parse_selector(need.selector)
            return bool(need.selector) and self._windows(need, NOTHING_MEASURED) is not None
        return False

    async def _read_history(self, history: History, reference: Reference, memory: Memory) -> None:
        """Put the demand of the past in front of what was seen since, which it holds as well."""
        for attempt in range(_HISTORY_ATTEMPTS):
            try:
                times = await history.created(reference)
            except HistoryError as error:
                logger.warning("the history of %s in %s cannot be read: %s", reference, reference.namespace, error)
                await asyncio.sleep(_HISTORY_SECONDS * (attempt + 1))
                continue
            if times:
                before = memory.demand
                memory.demand = Demand.of_history(before.near, before.far, times, now=self.now())
                logger.info("%d pods of %s in %s are known from history", len(times), reference, reference.namespace)
            return

    def _leave(self, key: BufferKey) -> None:
        """Follow a workload no more for now; it goes on from what was learnt, should it or other pods of it come."""
        followed = self._followed.get(key)
        if followed is not None and followed.gauge.listed:
            self._records[key] = followed.gauge.record()
        self._unfollow(key)

    def _unfollow(self, key: BufferKey) -> None:
        followed = self._followed.pop(key, None)
        if followed is not None and self._feeds is not None:
            self._feeds.leave(_pods_of(key[0]), followed.gauge)

    def _advance(self, key: BufferKey) -> None:
        followed, now = self._followed[key], self.now()
        gauge = followed.gauge
        if not gauge.listed:
            if followed.feed.refusal is not None and key not in self._published:
                self._publish(key, gauge.measured(now), self.record(key))  # what was learnt is all there is
            return
        if self._births_are_pending():
            return  # a pod is told by its node once, and by no node it is not
        gauge.advance(now)
        if now - followed.published_at < _PUBLISH_SECONDS:
            return
        followed.published_at = now
        measured = gauge.measured(now)
        windows = self._windows(followed.need, measured)
        if windows is not None and _differ(windows, (gauge.memory.demand.near, gauge.memory.demand.far)):
            gauge.memory.demand.rewindow(*windows)
            measured = gauge.measured(now)
        record = self.record(key)
        learnt = (gauge.came, windows, measured.resume, measured.cold, measured.after)
        if now - followed.recorded_at >= (_RECORD_SECONDS if learnt != followed.learnt else _OLDEST_RECORD_SECONDS):
            followed.recorded_at, followed.learnt, record = now, learnt, gauge.record()
        self._publish(key, measured, record)

    def _publish(self, key: BufferKey, measured: Measured, record: str) -> None:
        if (measured, record) == (self._published.get(key), self.record(key)):
            return
        self._published[key] = measured
        if record:
            self._records[key] = record
        self.changed(key)

    def _windows(self, need: Need, measured: Measured) -> tuple[Fraction, Fraction] | None:
        try:
            return record_windows(need.spec, measured)
        except (SizingError, ValueError):
            return None


def _pods_of(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def _differ(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> bool:
    """Whether windows differ enough to count anew: latencies are measured again and again, and never quite the same."""
    return any(abs(a - b) > max(Fraction(2), b / 10) for a, b in zip(one, other, strict=True))
