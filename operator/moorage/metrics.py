"""Prometheus metrics, read from the running operator when they are asked for: counting costs nothing in between."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from moorage import __version__
from moorage.admission.counters import BUCKETS_SECONDS, AdmissionCounters
from moorage.cluster.feed import Feed
from moorage.cluster.intake import Counters
from moorage.handlers.operator import OperatorState
from moorage.quantity import NANO
from moorage.status.namespacequota import View
from moorage.status.presence import Sighting

_FEED_COUNTERS: tuple[tuple[str, str, Callable[[Counters], int]], ...] = (
    ("events", "Events taken from watches of what quotas count.", lambda it: it.events),
    ("relists", "Complete lists, the first of each resource included.", lambda it: it.relists),
    (
        "reconnects",
        "Watches opened after the first of each resource; one in 5 to 10 minutes is normal.",
        lambda it: it.reconnects,
    ),
    ("decode_errors", "Objects that could not be read.", lambda it: it.decode_errors),
    ("faults", "Bugs met while taking in objects.", lambda it: it.faults),
    ("verifications", "Comparisons of the ledger with the API server.", lambda it: it.verifications),
    ("drifts", "Comparisons that found a difference; anything but 0 is a bug.", lambda it: it.drifts),
)


class WatchList(Protocol):
    """What is watched now."""

    @property
    def feeds(self) -> Sequence[Feed[Any]]:
        """The feeds that run."""
        ...

    def views(self) -> Mapping[tuple[str, str | None], View]:
        """How well each resource is known."""
        ...


class OperatorCollector(Collector):
    """Reads quotas, buffers, ledger, feeds and writer."""

    def __init__(
        self,
        state: OperatorState,
        watches: WatchList,
        *,
        admission: AdmissionCounters | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state = state
        self._watches = watches
        self._admission = admission
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Return all metrics as they are now."""
        build = GaugeMetricFamily("moorage_build_info", "Always 1; the label tells the version.", labels=("version",))
        build.add_metric((__version__,), 1)
        yield build
        yield from self._quotas()
        yield from self._buffers()
        yield from self._feed_metrics()
        yield from self._writer()
        if self._admission is not None:
            yield from admission_metrics(self._admission)

    def _quotas(self) -> Iterator[Metric]:
        labels = ("namespace", "namespacequota", "resource")
        hard = GaugeMetricFamily("moorage_namespacequota_hard", "Limits in cores, bytes or objects.", labels=labels)
        used = GaugeMetricFamily("moorage_namespacequota_used", "Usage in cores, bytes or objects.", labels=labels)
        for key, limits, usage in self._state.quotas.usages():
            for resource, limit in limits.items():
                hard.add_metric((*key, resource), limit / NANO)
            for resource, amount in usage.items():
                used.add_metric((*key, resource), amount / NANO)
        yield hard
        yield used
        yield from self._differences((*labels[:2], "resourcequota", "resource"))

    def _differences(self, labels: Sequence[str]) -> Iterator[Metric]:
        drift = GaugeMetricFamily(
            "moorage_native_quota_difference",
            "What a ResourceQuota says is used, less what is; cores, bytes or objects. Missing while they agree.",
            labels=labels,
        )
        duration = GaugeMetricFamily(
            "moorage_native_quota_difference_seconds",
            "Since when a ResourceQuota has said something else than is used. Missing while they agree.",
            labels=labels,
        )
        for key, each, seconds in self._state.quotas.differences():
            drift.add_metric((*key, each.quota, each.resource), (each.used - each.counted) / NANO)
            duration.add_metric((*key, each.quota, each.resource), seconds)
        yield drift
        yield duration

    def _buffers(self) -> Iterator[Metric]:
        units = GaugeMetricFamily(
            "moorage_capacitybuffer_replicas",
            "Units that a buffer should hold.",
            labels=("namespace", "capacitybuffer", "tier"),
        )
        ready = GaugeMetricFamily(
            "moorage_capacitybuffer_ready_replicas",
            "Units that are there; missing while that is not known.",
            labels=("namespace", "capacitybuffer", "tier"),
        )
        consumed = GaugeMetricFamily(
            "moorage_capacitybuffer_consumed",
            "Units whose room pods have taken since the tier was last full.",
            labels=("namespace", "capacitybuffer", "tier"),
        )
        for namespace, name in self._state.buffers:
            seen = self._state.presence.seen((namespace, name)) if self._state.presence is not None else None
            if isinstance(seen, Sighting):
                for tier, each in (("active", seen.active), ("standby", seen.standby)):
                    ready.add_metric((namespace, name, tier), each.ready)
                    consumed.add_metric((namespace, name, tier), each.consumed)
            status = self._state.buffers.status(namespace, name)
            if status is not None and status.active is not None and status.standby is not None:
                units.add_metric((namespace, name, "active"), status.active.replicas)
                units.add_metric((namespace, name, "standby"), status.standby.replicas)
        yield units
        yield ready
        yield consumed

    def _feed_metrics(self) -> Iterator[Metric]:
        feeds = self._watches.feeds
        held = GaugeMetricFamily("moorage_objects", "Objects held in the ledger.", labels=("resource",))
        for resource in sorted({resource for resource, _ in self._watches.views()}):
            held.add_metric((resource,), len(self._state.ledger.objects(resource)))
        yield held
        for name, text, count in _FEED_COUNTERS:
            yield CounterMetricFamily(f"moorage_feed_{name}", text, value=sum(count(feed.counters) for feed in feeds))
        synced = bool(feeds) and all(feed.synced for feed in feeds)
        yield GaugeMetricFamily(
            "moorage_feed_synced", "1 once everything that quotas count has been listed.", value=float(synced)
        )
        silence = GaugeMetricFamily(
            "moorage_feed_silence_seconds", "Since the API server last sent anything; bookmarks come about every 60."
        )
        heard = [feed.last_byte_at for feed in feeds if feed.last_byte_at is not None]
        if heard:
            silence.add_metric((), self._clock() - min(heard))
        yield silence

    def _writer(self) -> Iterator[Metric]:
        counters = self._state.writer.counters
        yield CounterMetricFamily("moorage_status_writes", "Status updates written.", value=counters.writes)
        yield CounterMetricFamily(
            "moorage_status_write_failures", "Status updates that failed.", value=counters.failures
        )


def admission_metrics(counters: AdmissionCounters) -> Iterator[Metric]:
    """Return what the webhook has answered."""
    quota = ("namespace", "namespacequota")
    admitted = CounterMetricFamily("moorage_admission_admitted", "Pods that a quota let in.", labels=quota)
    for key, count in counters.admitted.items():
        admitted.add_metric(key, count)
    yield admitted
    defaulted = CounterMetricFamily(
        "moorage_admission_defaulted", "Admitted pods to which a quota gave an amount.", labels=quota[:1]
    )
    for namespace, count in counters.defaulted.items():
        defaulted.add_metric((namespace,), count)
    yield defaulted
    for name, text, counts in (
        ("refused", "Pods and resizes that were refused.", counters.refused),
        ("would_refuse", "Pods and resizes that a quota in Audit mode would have refused.", counters.would_refuse),
    ):
        refused = CounterMetricFamily(f"moorage_admission_{name}", text, labels=(*quota, "reason"))
        for labels, count in counts.items():
            refused.add_metric(labels, count)
        yield refused
    for name, text, count in (
        ("unsure", "Reviews left to the API server, since our numbers were not proved to be its own.", counters.unsure),
        ("malformed", "Requests that were no reviews.", counters.malformed),
        ("faults", "Bugs met by reviews, which were then admitted.", counters.faults),
    ):
        yield CounterMetricFamily(f"moorage_admission_{name}", text, value=count)
    bounds = [*map(str, BUCKETS_SECONDS), "+Inf"]
    below = itertools.accumulate(counters.buckets)
    yield HistogramMetricFamily(
        "moorage_admission_duration_seconds",
        "How long reviews took.",
        buckets=list(zip(bounds, below, strict=True)),
        sum_value=counters.seconds,
    )


def operator_metrics(
    state: OperatorState, watches: WatchList, admission: AdmissionCounters | None = None
) -> CollectorRegistry:
    """Return a registry with the operator's metrics, those of its webhook if it has one, and those of its process."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    registry.register(OperatorCollector(state, watches, admission=admission))
    return registry
