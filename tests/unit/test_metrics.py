"""What /metrics says: every name with its value, and nothing that is not known yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from moorage import __version__
from moorage.admission.counters import AdmissionCounters
from moorage.buffer.presence import Refill
from moorage.cluster.client import Client
from moorage.cluster.feed import Feed
from moorage.density.groups import Outlook
from moorage.handlers.counting import LedgerSink
from moorage.handlers.operator import OperatorState
from moorage.metrics import OperatorCollector, admission_metrics, operator_metrics
from moorage.quota.native import NativeQuota
from moorage.quota.usage import ObjectUse
from moorage.status.capacitybuffer import Workload
from moorage.status.namespacequota import View
from moorage.status.presence import Sighting, TierSighting, Unseen
from tests.builders import nano, object_use, pod_spec, pod_use
from tests.unit.operator_states import Known, NoCredentials, operator_state

HARD = {"requests.cpu": "20", "requests.memory": "64Gi", "pods": 100, "count/pods": 200, "x.com/gpu": 3, "secrets": 4}
SIZING = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
WEB = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}


@dataclass
class Watched:
    """What is watched, as the collector sees it."""

    feeds: list[Feed[ObjectUse]] = field(default_factory=list)
    resources: tuple[str, ...] = ("pods",)

    def views(self) -> Mapping[tuple[str, str | None], View]:
        return {(resource, None): View() for resource in self.resources}


@dataclass(eq=False)
class Shown(Collector):
    """The webhook's metrics alone."""

    counters: AdmissionCounters

    def collect(self) -> Iterator[Metric]:
        return admission_metrics(self.counters)


@pytest.fixture
def known() -> Known:
    return Known()


@pytest.fixture
async def state(known: Known) -> OperatorState:
    return operator_state(lambda _: Workload(pod_spec(cpu="1"), 8), known=known)


@pytest.fixture
async def feed(state: OperatorState) -> Feed[ObjectUse]:
    sink = LedgerSink(state.ledger, "pods", namespace=None, changed=asyncio.Event().set)
    return Feed(Client(NoCredentials()), "/api/v1/pods", decode=lambda _: pod_use(), sink=sink)


def samples(state: OperatorState, watched: Watched | None = None) -> dict[str, float]:
    """Return what is exposed, without the metrics of the process."""
    lines = generate_latest(operator_metrics(state, watched or Watched())).decode().splitlines()
    values = (line.rsplit(" ", 1) for line in lines if line.startswith("moorage_"))
    return {name: float(value) for name, value in values}


def of(state: OperatorState, what: str, watched: Watched | None = None) -> dict[str, float]:
    return {name: value for name, value in samples(state, watched).items() if name.startswith(what)}


async def test_an_operator_that_has_just_started_says_so(state: OperatorState, feed: Feed[ObjectUse]) -> None:
    assert samples(state, Watched([feed])) == {
        f'moorage_build_info{{version="{__version__}"}}': 1,
        'moorage_objects{resource="pods"}': 0,
        "moorage_feed_events_total": 0,
        "moorage_feed_relists_total": 0,
        "moorage_feed_reconnects_total": 0,
        "moorage_feed_decode_errors_total": 0,
        "moorage_feed_faults_total": 0,
        "moorage_feed_verifications_total": 0,
        "moorage_feed_drifts_total": 0,
        "moorage_feed_synced": 0,
        "moorage_status_writes_total": 0,
        "moorage_status_write_failures_total": 0,
    }


def test_what_the_webhook_has_said_is_shown_by_quota_and_reason() -> None:
    counters = AdmissionCounters()
    counters.admitted["team-a", "all"] += 3
    counters.defaulted["team-a"] += 2
    counters.refused["team-a", "all", "total"] += 1
    counters.would_refuse["team-b", "all", "bounds"] += 1
    counters.unsure = 4
    for seconds in (0.0001, 0.002, 7):
        counters.took(seconds)
    registry = CollectorRegistry()
    registry.register(Shown(counters))
    lines = generate_latest(registry).decode().splitlines()
    shown = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}
    of_quota = 'namespace="team-{}",namespacequota="all"'
    expected = {
        f"moorage_admission_admitted_total{{{of_quota.format('a')}}}": 3,
        'moorage_admission_defaulted_total{namespace="team-a"}': 2,
        f'moorage_admission_refused_total{{{of_quota.format("a")},reason="total"}}': 1,
        f'moorage_admission_would_refuse_total{{{of_quota.format("b")},reason="bounds"}}': 1,
        "moorage_admission_unsure_total": 4,
        "moorage_admission_malformed_total": 0,
        "moorage_admission_faults_total": 0,
        'moorage_admission_duration_seconds_bucket{le="0.0005"}': 1,
        'moorage_admission_duration_seconds_bucket{le="0.0025"}': 2,
        'moorage_admission_duration_seconds_bucket{le="1.0"}': 2,
        'moorage_admission_duration_seconds_bucket{le="+Inf"}': 3,
        "moorage_admission_duration_seconds_count": 3,
        "moorage_admission_duration_seconds_sum": 7.0021,
    }
    assert shown.items() >= expected.items()


async def test_a_quota_shows_hard_and_used_in_cores_bytes_and_objects(state: OperatorState, known: Known) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": HARD})
    state.ledger.put(pod_use("a", cpu="1500m", memory="1Gi"))
    state.ledger.put(pod_use("b", phase="Succeeded"))
    state.ledger.put(object_use("c", resource="secrets"))
    known.all = View()

    def sample(what: str, resource: str) -> str:
        return f'moorage_namespacequota_{what}{{namespace="team-a",namespacequota="all",resource="{resource}"}}'

    assert of(state, "moorage_namespacequota_") == {
        sample("hard", "requests.cpu"): 20,
        sample("hard", "requests.memory"): 64 * 2**30,
        sample("hard", "pods"): 100,
        sample("hard", "count/pods"): 200,
        sample("hard", "secrets"): 4,
        sample("used", "requests.cpu"): 1.5,
        sample("used", "requests.memory"): 2**30,
        sample("used", "pods"): 1,
        sample("used", "count/pods"): 2,
        sample("used", "secrets"): 1,
    }


async def test_the_ledger_shows_how_many_objects_it_holds_of_each_resource_that_is_watched(
    state: OperatorState,
) -> None:
    for uid, resource in (("a", "secrets"), ("b", "secrets"), ("c", "deployments.apps")):
        state.ledger.put(object_use(uid, resource=resource))
    assert of(state, "moorage_objects", Watched(resources=("secrets", "pods", "deployments.apps"))) == {
        'moorage_objects{resource="deployments.apps"}': 1,
        'moorage_objects{resource="pods"}': 0,
        'moorage_objects{resource="secrets"}': 2,
    }


async def test_usage_is_not_shown_before_all_objects_behind_it_are_known(state: OperatorState, known: Known) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": {"pods": 100, "secrets": 5}})
    assert len(of(state, "moorage_namespacequota_hard")) == 2
    assert of(state, "moorage_namespacequota_used") == {}
    known.each["secrets"] = View()
    (name,) = of(state, "moorage_namespacequota_used")
    assert 'resource="secrets"' in name


async def test_finished_pods_are_not_counted_from_a_list_without_them(state: OperatorState, known: Known) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": {"pods": 100, "count/pods": 200}})
    known.all = View(finished_too=False)
    (name,) = of(state, "moorage_namespacequota_used")
    assert 'resource="pods"' in name


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"hard": {"pods": "many"}}, id="a spec that cannot be read"),
        pytest.param({"hard": {"x.com/gpu": 1}}, id="a name that nothing ever counts"),
        pytest.param({}, id="no limits"),
    ],
)
async def test_a_quota_that_nothing_is_counted_for_shows_nothing(
    state: OperatorState, known: Known, spec: dict[str, Any]
) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec=spec)
    known.all = View()
    assert of(state, "moorage_namespacequota_") == {}


async def test_where_a_native_quota_differs_is_shown_with_its_sign_and_only_while_it_does(
    state: OperatorState, known: Known
) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": {"pods": 9, "requests.memory": "9Gi"}})
    state.ledger.put(pod_use("a", memory="1Gi"))
    known.all = View()

    def native(**used: str) -> NativeQuota:
        return NativeQuota("u1", "team-a", "theirs", 1, frozenset(), nano(**used))

    def sample(resource: str) -> str:
        labels = f'namespace="team-a",namespacequota="all",resource="{resource}",resourcequota="theirs"'
        return f"moorage_native_quota_difference{{{labels}}}"

    state.quotas.native.put(native(**{"pods": "3", "requests.memory": "512Mi"}))
    assert of(state, "moorage_native_quota_difference{") == {sample("pods"): 2, sample("requests.memory"): -(2**29)}
    state.quotas.native.put(native(**{"pods": "1", "requests.memory": "1Gi"}))
    assert of(state, "moorage_native") == {}


async def test_how_long_a_native_quota_has_differed_is_shown_beside_that() -> None:
    clock = [1000.0]
    known = Known()
    known.all = View()
    state = operator_state(known=known, now=lambda: clock[0])
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": {"pods": 9}})
    state.quotas.native.put(NativeQuota("u1", "team-a", "theirs", 1, frozenset(), nano(pods="3")))
    state.quotas.status("team-a", "all")
    clock[0] += 90
    labels = 'namespace="team-a",namespacequota="all",resource="pods",resourcequota="theirs"'
    expected = {f"moorage_native_quota_difference_seconds{{{labels}}}": 90}
    assert of(state, "moorage_native_quota_difference_seconds") == expected


async def test_a_buffer_shows_its_units_by_tier(state: OperatorState) -> None:
    state.buffers.accept("team-a", "web", generation=1, spec={**WEB, "sizing": SIZING})
    state.share_out("team-a")
    labels = 'capacitybuffer="web",namespace="team-a"'
    assert of(state, "moorage_capacitybuffer_") == {
        f'moorage_capacitybuffer_replicas{{{labels},tier="active"}}': 60,
        f'moorage_capacitybuffer_replicas{{{labels},tier="standby"}}': 120,
    }


async def test_a_buffer_shows_what_is_there_once_that_is_known(state: OperatorState) -> None:
    class Looked:
        def seen(self, key: tuple[str, str]) -> Sighting | Unseen:
            if key[1] == "api":
                return Unseen("NodesUnknown", "nodes are being listed")
            outlook = Outlook((), {}, {})
            return Sighting(TierSighting(60, 52, consumed=8), TierSighting(120, 120), Refill(0, 0, 8, 0), outlook)

    state.presence = Looked()
    for name in ("web", "api"):
        state.buffers.accept("team-a", name, generation=1, spec={**WEB, "sizing": SIZING})
    labels = 'capacitybuffer="web",namespace="team-a"'
    assert of(state, "moorage_capacitybuffer_ready") == {
        f'moorage_capacitybuffer_ready_replicas{{{labels},tier="active"}}': 52,
        f'moorage_capacitybuffer_ready_replicas{{{labels},tier="standby"}}': 120,
    }
    assert of(state, "moorage_capacitybuffer_consumed") == {
        f'moorage_capacitybuffer_consumed{{{labels},tier="active"}}': 8,
        f'moorage_capacitybuffer_consumed{{{labels},tier="standby"}}': 0,
    }


async def test_a_buffer_without_a_size_shows_nothing(state: OperatorState) -> None:
    state.buffers.accept("team-a", "web", generation=1, spec=WEB)
    assert of(state, "moorage_capacitybuffer_") == {}


async def test_feeds_are_added_up_and_the_most_silent_one_is_shown(state: OperatorState, feed: Feed[ObjectUse]) -> None:
    other = Feed(NotImplemented, "/api/v1/namespaces/b/pods", decode=NotImplemented, sink=NotImplemented)
    for each, heard_at in ((feed, 90.0), (other, 95.0)):
        each.counters.events, each.synced, each.last_byte_at = 3, True, heard_at
    found = {
        sample.name: sample.value
        for metric in OperatorCollector(state, Watched([feed, other]), clock=lambda: 100.0).collect()
        for sample in metric.samples
        if sample.name.startswith("moorage_feed_")
    }
    assert found["moorage_feed_events_total"] == 6
    assert found["moorage_feed_synced"] == 1
    assert found["moorage_feed_silence_seconds"] == 10
