"""Prometheus metrics, read from the running operator when they are asked for: counting costs nothing in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from moorage.cluster.feed import Feed
from moorage.handlers.operator import OperatorState
from moorage.quantity import NANO
from moorage.quota.names import pod_source

_FEED_COUNTERS = {
    "events": "Events taken from the watch of pods.",
    "relists": "Complete lists of pods, the first included.",
    "reconnects": "Watches of pods opened after the first.",
    "decode_errors": "Pods that could not be read.",
    "faults": "Bugs met while taking in pods.",
    "verifications": "Comparisons of the ledger with the API server.",
    "drifts": "Comparisons that found a difference; anything but 0 is a bug.",
}


class OperatorCollector(Collector):
    """Reads quotas, buffers, ledger, feeds and writer."""

    def __init__(self, state: OperatorState, feeds: Iterable[Feed[Any]]) -> None:
        self._state = state
        self._feeds = tuple(feeds)

    def collect(self) -> Iterator[Metric]:
        """Return all metrics as they are now."""
        yield from self._quotas()
        yield from self._buffers()
        yield from self._feed_metrics()
        yield from self._writer()
        yield GaugeMetricFamily("moorage_pods", "Pods held in the ledger.", value=len(self._state.ledger))

    def _quotas(self) -> Iterator[Metric]:
        labels = ("namespace", "namespacequota", "resource")
        hard = GaugeMetricFamily("moorage_namespacequota_hard", "Limits in cores, bytes or objects.", labels=labels)
        used = GaugeMetricFamily("moorage_namespacequota_used", "Usage in cores, bytes or objects.", labels=labels)
        for (namespace, name), limits, usage in self._state.quotas.usages():
            for resource, limit in limits.items():
                if pod_source(resource) is not None:
                    hard.add_metric((namespace, name, resource), limit / NANO)
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
        for name, text in _FEED_COUNTERS.items():
            total = sum(getattr(feed.counters, name) for feed in self._feeds)
            yield CounterMetricFamily(f"moorage_feed_{name}", text, value=total)
        synced = all(feed.synced for feed in self._feeds)
        yield GaugeMetricFamily("moorage_feed_synced", "1 once all pods have been listed.", value=float(synced))

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
