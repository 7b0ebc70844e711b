"""What /metrics says: every name with its value, and nothing that is not known yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client import generate_latest

from moorage import __version__
from moorage.cluster.client import Client
from moorage.cluster.feed import Feed
from moorage.handlers.operator import OperatorState
from moorage.handlers.pods import PodSink
from moorage.metrics import OperatorCollector, operator_metrics
from moorage.quota.usage import PodUse
from moorage.status.capacitybuffer import Workload
from moorage.status.namespacequota import PodsView
from tests.builders import pod_spec, pod_use
from tests.unit.operator_states import NoCredentials, operator_state

HARD = {"requests.cpu": "20", "requests.memory": "64Gi", "pods": 100, "count/pods": 200, "services": 3}
SIZING = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
WEB = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}


@pytest.fixture
async def state() -> OperatorState:
    return operator_state(lambda _: Workload(pod_spec(cpu="1"), 8))


@pytest.fixture
async def feed(state: OperatorState) -> Feed[PodUse]:
    sink = PodSink(state.ledger, namespace=None, changed=asyncio.Event().set)
    return Feed(Client(NoCredentials()), "/api/v1/pods", decode=lambda _: pod_use(), sink=sink)


def samples(state: OperatorState, *feeds: Feed[PodUse]) -> dict[str, float]:
    """Return what is exposed, without the metrics of the process."""
    lines = generate_latest(operator_metrics(state, feeds)).decode().splitlines()
    values = (line.rsplit(" ", 1) for line in lines if line.startswith("moorage_"))
    return {name: float(value) for name, value in values}


def of(state: OperatorState, what: str, *feeds: Feed[PodUse]) -> dict[str, float]:
    return {name: value for name, value in samples(state, *feeds).items() if name.startswith(what)}


def count_known(state: OperatorState, *, finished_too: bool = True) -> None:
    state.quotas.view = PodsView(complete=True, finished_too=finished_too)


async def test_an_operator_that_has_just_started_says_so(state: OperatorState, feed: Feed[PodUse]) -> None:
    assert samples(state, feed) == {
        f'moorage_build_info{{version="{__version__}"}}': 1,
        "moorage_pods": 0,
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


async def test_a_quota_shows_hard_and_used_in_cores_bytes_and_objects(state: OperatorState) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": HARD})
    state.ledger.put(pod_use("a", cpu="1500m", memory="1Gi"))
    state.ledger.put(pod_use("b", phase="Succeeded"))
    count_known(state)

    def sample(what: str, resource: str) -> str:
        return f'moorage_namespacequota_{what}{{namespace="team-a",namespacequota="all",resource="{resource}"}}'

    assert of(state, "moorage_namespacequota_") == {
        sample("hard", "requests.cpu"): 20,
        sample("hard", "requests.memory"): 64 * 2**30,
        sample("hard", "pods"): 100,
        sample("hard", "count/pods"): 200,
        sample("used", "requests.cpu"): 1.5,
        sample("used", "requests.memory"): 2**30,
        sample("used", "pods"): 1,
        sample("used", "count/pods"): 2,
    }
    assert samples(state)["moorage_pods"] == 2


async def test_usage_is_not_shown_before_all_pods_are_known(state: OperatorState) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": {"pods": 100}})
    assert len(of(state, "moorage_namespacequota_hard")) == 1
    assert of(state, "moorage_namespacequota_used") == {}


async def test_finished_pods_are_not_counted_from_a_list_without_them(state: OperatorState) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec={"hard": {"pods": 100, "count/pods": 200}})
    count_known(state, finished_too=False)
    assert [name for name in of(state, "moorage_namespacequota_used") if "count/pods" in name] == []


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"hard": {"pods": "many"}}, id="a spec that cannot be read"),
        pytest.param({"hard": {"pods": 1}, "scopes": ["VolumeAttributesClass"]}, id="a scope that selects no pods"),
    ],
)
async def test_a_quota_that_nothing_is_counted_for_shows_nothing(state: OperatorState, spec: dict[str, Any]) -> None:
    state.quotas.accept("team-a", "all", generation=1, spec=spec)
    count_known(state)
    assert of(state, "moorage_namespacequota_") == {}


async def test_a_buffer_shows_its_units_by_tier(state: OperatorState) -> None:
    state.buffers.accept("team-a", "web", generation=1, spec={**WEB, "sizing": SIZING})
    labels = 'capacitybuffer="web",namespace="team-a"'
    assert of(state, "moorage_capacitybuffer_") == {
        f'moorage_capacitybuffer_replicas{{{labels},tier="active"}}': 60,
        f'moorage_capacitybuffer_replicas{{{labels},tier="standby"}}': 120,
    }


async def test_a_buffer_without_a_size_shows_nothing(state: OperatorState) -> None:
    state.buffers.accept("team-a", "web", generation=1, spec=WEB)
    assert of(state, "moorage_capacitybuffer_") == {}


async def test_feeds_are_added_up_and_the_most_silent_one_is_shown(state: OperatorState, feed: Feed[PodUse]) -> None:
    other = Feed(NotImplemented, "/api/v1/namespaces/b/pods", decode=NotImplemented, sink=NotImplemented)
    for each, heard_at in ((feed, 90.0), (other, 95.0)):
        each.counters.events, each.synced, each.last_byte_at = 3, True, heard_at
    found = {
        sample.name: sample.value
        for metric in OperatorCollector(state, [feed, other], clock=lambda: 100.0).collect()
        for sample in metric.samples
        if sample.name.startswith("moorage_feed_")
    }
    assert found["moorage_feed_events_total"] == 6
    assert found["moorage_feed_synced"] == 1
    assert found["moorage_feed_silence_seconds"] == 10
