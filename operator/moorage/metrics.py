"""Prometheus metrics, read from the running operator when they are asked for: counting costs nothing in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from moorage import __version__
from moorage.cluster.feed import Feed
from moorage.cluster.intake import Counters
from moorage.handlers.operator import OperatorState
from moorage.quantity import NANO
from moorage.quota.names import COUNT_PODS, pod_source

_FEED_COUNTERS: tuple[tuple[str, str, Callable[[Counters], int]], ...] = (
    ("events", "Events taken from the watch of pods.", lambda it: it.events),
    ("relists", "Complete lists of pods, the first included.", lambda it: it.relists),
    (
        "reconnects",
        "Watches of pods opened after the first; one in 5 to 10 minutes is normal.",
        lambda it: it.reconnects,
    ),
    ("decode_errors", "Pods that could not be read.", lambda it: it.decode_errors),
    ("faults", "Bugs met while taking in pods.", lambda it: it.faults),
    ("verifications", "Comparisons of the ledger with the API server.", lambda it: it.verifications),
    ("drifts", "Comparisons that found a difference; anything but 0 is a bug.", lambda it: it.drifts),
)


class OperatorCollector(Collector):
    """Reads quotas, buffers, ledger, feeds and writer."""

    def __init__(
        self, state: OperatorState, feeds: Iterable[Feed[Any]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._state = state
        self._feeds = tuple(feeds)
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

    def _quotas(self) -> Iterator[Metric]:
        labels = ("namespace", "namespacequota", "resource")
        hard = GaugeMetricFamily("moorage_namespacequota_hard", "Limits in cores, bytes or objects.", labels=labels)
        used = GaugeMetricFamily("moorage_namespacequota_used", "Usage in cores, bytes or objects.", labels=labels)
        for (namespace, name), limits, usage in self._state.quotas.usages():
            view = self._state.quotas.view_of(namespace)
            for resource, limit in limits.items():
                source = pod_source(resource)
                if source is None:
                    continue
                hard.add_metric((namespace, name, resource), limit / NANO)
                if view.complete and (view.finished_too or source != COUNT_PODS):  # else it would be too little
                    used.add_metric((namespace, name, resource), usage.used[resource] / NANO)
        yield hard
        yield used

    def _buffers(self) -> Iterator[Metric]:
        units = GaugeMetricFamily(
            "moorage_capacitybuffer_replicas",
            "Units that a buffer should hold.",
            labels=("namespace", "capacitybuffer", "tier"),
        )
        for namespace, name in self._state.buffers:
            status = self._state.buffers.status(namespace, name)
            if status is not None and status.active is not None and status.standby is not None:
                units.add_metric((namespace, name, "active"), status.active.replicas)
                units.add_metric((namespace, name, "standby"), status.standby.replicas)
        yield units

    def _feed_metrics(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("moorage_pods", "Pods held in the ledger.", value=len(self._state.ledger))
        for name, text, count in _FEED_COUNTERS:
            yield CounterMetricFamily(
                f"moorage_feed_{name}", text, value=sum(count(feed.counters) for feed in self._feeds)
            )
        synced = all(feed.synced for feed in self._feeds)
        yield GaugeMetricFamily("moorage_feed_synced", "1 once all pods have been listed.", value=float(synced))
        silence = GaugeMetricFamily(
            "moorage_feed_silence_seconds", "Since the API server last sent anything; bookmarks come about every 60."
        )
        heard = [feed.last_byte_at for feed in self._feeds if feed.last_byte_at is not None]
        if heard:
            silence.add_metric((), self._clock() - min(heard))
        yield silence

    def _writer(self) -> Iterator[Metric]:
        counters = self._state.writer.counters
        yield CounterMetricFamily("moorage_status_writes", "Status updates written.", value=counters.writes)
        yield CounterMetricFamily(
            "moorage_status_write_failures", "Status updates that failed.", value=counters.failures
        )


def operator_metrics(state: OperatorState, feeds: Iterable[Feed[Any]]) -> CollectorRegistry:
    """Return a registry with the operator's metrics and those of its process."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    registry.register(OperatorCollector(state, feeds))
    return registry
