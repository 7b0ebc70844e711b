"""Measures one workload: what comes of its pods is demand, what they wait are latencies. The sink of a feed of pods."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from moorage.buffer.demand import Demand, hour_text
from moorage.buffer.latency import AT_ONCE_SECONDS, Start, Waits, quantiles, start_of
from moorage.buffer.measured import Measured
from moorage.buffer.newcomers import Member, Newcomers
from moorage.cluster.arrivals import Arrival
from moorage.cluster.records import HeldRecords

_NODES_LAG_SECONDS = 3
"""A pod is told by its node so long after it was scheduled: by then the node has been read."""
_MOST_RECORD_BYTES = 300_000


class Nodes(Protocol):
    """What is known of nodes."""

    def created(self, name: str) -> int | None:
        """Return when a node was made."""
        ...

    def resumed(self, name: str) -> int | None:
        """Return when a node was resumed last."""
        ...


@dataclass(slots=True)
class Memory:
    """What outlives a restart."""

    demand: Demand
    waits: Waits
    scheduled: int
    """Up to when pods were scheduled whose waits are kept, in seconds since the epoch."""
    ready: int

    @classmethod
    def new(cls, near: Fraction, far: Fraction, now: float) -> Memory:
        """Return the memory of somebody who begins to look now."""
        return cls(Demand(near, far, began=now), Waits(), int(now) - 1, int(now) - 1)

    def text(self) -> str:
        """Return it as a text."""
        stored = {
            "demand": self.demand.stored(),
            "waits": self.waits.stored(),
            "scheduled": self.scheduled,
            "ready": self.ready,
        }
        return base64.b64encode(zlib.compress(json.dumps(stored, separators=(",", ":")).encode(), 9)).decode()

    @classmethod
    def read(cls, text: str) -> Memory | None:
        """Return what a text holds; None for what is no such text."""
        try:
            inflate = zlib.decompressobj()
            raw = inflate.decompress(base64.b64decode(text, validate=True), _MOST_RECORD_BYTES)
            stored: dict[str, Any] = json.loads(raw)
            waits, demand = Waits.restored(stored["waits"]), Demand.restored(stored["demand"])
            return cls(demand, waits, int(stored["scheduled"]), int(stored["ready"]))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, zlib.error):
            return None


class Gauge(HeldRecords[Arrival]):
    """Holds the pods of a workload, and learns from them. `advance` has to be called every second or so."""

    def __init__(self, memory: Memory, nodes: Nodes | None, *, newcomers: Newcomers) -> None:
        super().__init__()
        self.memory = memory
        self.listed = False
        self.came = 0
        """How many pods were heard of."""
        self._nodes = nodes
        """None where nodes may not be read: then it is not told what a pod waited for."""
        self._newcomers = newcomers
        self._open: set[str] = set()
        """Pods that are still to be sampled."""
        self._sampled: set[str] = set()
        self._readied: set[str] = set()

    def advance(self, now: float) -> None:
        """Count the seconds that are over."""
        if not self.listed:
            return
        self.memory.demand.advance(now, self._is_new)
        settled = int(now) - _NODES_LAG_SECONDS
        for uid in list(self._open):
            pod = self._records[uid]
            if pod.scheduled is not None and pod.scheduled <= settled:
                self._sample(pod)
                self._note_ready(pod)
            if pod.ended or (uid in self._sampled and uid in self._readied):
                self._open.discard(uid)

    def measured(self, now: float) -> Measured:
        """Return what is known."""
        memory = self.memory
        demand, waits = memory.demand, memory.waits
        waiting = [
            now - pod.created
            for pod in map(self._records.__getitem__, self._open)
            if pod.scheduled is None and pod.deleted is None and not pod.ended and now - pod.created > AT_ONCE_SECONDS
        ]
        return Measured(
            rate=demand.rate(),
            resume=quantiles([*map(float, waits.resume)]),
            cold=quantiles([*map(float, waits.cold)], waiting),
            after=quantiles([*map(float, waits.after)]),
            recorded=demand.recorded(now),
            pods=demand.pods,
            busiest=tuple(f"{hour_text(hour)} {peak} pods" for hour, peak in demand.busiest()),
        )

    def record(self) -> str:
        """Return what outlives a restart; samples up to now are in it, so they are not taken again."""
        kept = Memory(self.memory.demand, self.memory.waits, self.memory.scheduled, self.memory.ready)
        times = [
            pod.scheduled for pod in self._records.values() if pod.uid in self._sampled and pod.scheduled is not None
        ]
        kept.scheduled = max([kept.scheduled, *times])
        ready = [pod.ready for pod in self._records.values() if pod.uid in self._readied and pod.ready is not None]
        kept.ready = max([kept.ready, *ready])
        return kept.text()

    def _sample(self, pod: Arrival) -> None:
        """Keep how long a pod waited for its place, once."""
        if pod.uid in self._sampled or pod.scheduled is None:
            return
        self._sampled.add(pod.uid)
        if self._nodes is None or pod.scheduled <= self.memory.scheduled:
            return
        waited = pod.scheduled - pod.created
        created, resumed = self._nodes.created(pod.node), self._nodes.resumed(pod.node)
        match start_of(pod.created, pod.scheduled, node_created=created, resumed=resumed):
            case Start.COLD:
                self.memory.waits.cold.append(waited)
            case Start.RESUME:
                self.memory.waits.resume.append(waited)

    def _note_ready(self, pod: Arrival) -> None:
        """Keep how long a pod took to become ready on its node, once."""
        if pod.uid in self._readied or pod.ready is None or pod.scheduled is None:
            return
        self._readied.add(pod.uid)
        if pod.ready > self.memory.ready:
            self.memory.waits.after.append(max(pod.ready - pod.scheduled, 0))

    def _is_new(self, uid: str, second: int) -> bool:
        pod = self._records.get(uid)
        return self._newcomers.is_new(_member(pod) if pod is not None else Member(uid, second))

    # The sink of the feed

    def replace(self, records: Mapping[str, Arrival]) -> None:
        """Hold exactly these pods; those that were there before we looked replace nothing."""
        super().replace({pod.uid: pod for pod in sorted(records.values(), key=lambda pod: pod.created)})
        self.listed = True

    def put(self, record: Arrival) -> None:
        """Hold a new or changed pod."""
        if record.uid not in self._records:
            self.came += 1
            self._newcomers.came(_member(record), known=record.created <= self.memory.demand.settled)
            self.memory.demand.add(record.uid, record.created)
        super().put(record)
        if record.uid not in self._sampled or record.uid not in self._readied:
            self._open.add(record.uid)
        if record.deleted is not None or record.evicted or record.failed:
            self._newcomers.went(record.uid, record.deleted or record.created, evicted=record.evicted or record.failed)
        elif record.ended:
            self._newcomers.ended(record.uid)

    def delete(self, record: Arrival) -> None:
        """Drop a pod."""
        super().delete(record)
        self._newcomers.ended(record.uid)
        self._open.discard(record.uid)
        self._sampled.discard(record.uid)
        self._readied.discard(record.uid)


def _member(pod: Arrival) -> Member:
    return Member(pod.uid, pod.created, pod.template, pod.owner_kind)
