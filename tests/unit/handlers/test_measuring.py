"""Workloads are followed for as long as something of them is measured, and taken up again where they were left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from moorage.api import parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.cluster.autoscalers import Autoscalers
from moorage.cluster.client import Client
from moorage.cluster.history import History
from moorage.cluster.reference import Reference
from moorage.handlers.measuring import BufferKey, Measuring, Need, is_measured
from moorage.status.workload import Workload
from tests.unit.cluster.test_gauge import stamp
from tests.unit.small_server import SmallServer, small_server, until

KEY = ("team-a", "web")
WEB = Reference("team-a", "apps", "Deployment", "web")
PODS, NODES = "/api/v1/namespaces/team-a/pods", "/api/v1/nodes"
NOW = 1_770_000_000


def spec(**sizing: object) -> CapacityBufferSpec:
    given = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"} | sizing
    return parse_capacity_buffer_spec({"sizing": given})


@dataclass
class Watched:
    """What measures, what it measures, and its clock."""

    server: SmallServer
    measuring: Measuring
    needs: dict[BufferKey, Need] = field(default_factory=dict)
    time: float = NOW
    changed: list[BufferKey] = field(default_factory=list)
    looks: int = 0

    def look(self) -> dict[BufferKey, Need]:
        """Return what is to be measured, which is asked at each look."""
        self.looks += 1
        return self.needs

    def pods(self, key: BufferKey = KEY) -> int | None:
        """Return how many pods were counted; None while that is not known."""
        need = Need(spec(scaleUpRate="Measured"), f"app={key[1]}", WEB)
        found = self.measuring.complete(key, Workload(None, 20), need)
        return found.measured.pods if isinstance(found, Workload) else None


def pod(created: int, app: str = "web") -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}, "creationTimestamp": stamp(created)}}


class Remembered(History):
    """A Prometheus that knows of forty pods."""

    async def created(self, reference: Reference) -> list[int]:
        assert reference == WEB
        return [NOW - 3600 + at for at in range(40)]


@asynccontextmanager
async def watched(history: History | None = None, record: str = "") -> AsyncIterator[Watched]:
    async with small_server() as (server, client):
        server.collections |= {PODS: {}, NODES: {}}
        found = Watched(server, _measuring(client, history))
        found.measuring.needs = found.look
        found.measuring.changed = found.changed.append
        found.measuring.now = lambda: found.time
        if record:
            found.measuring.begin(KEY, {"sizing": {"measured": {"record": record}}})
        task = asyncio.create_task(found.measuring.run())
        yield found
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _measuring(client: Client, history: History | None) -> Measuring:
    return Measuring(client, dict, lambda _: None, Autoscalers(client, changed=lambda _: None), history=history)


async def test_pods_are_counted_and_a_record_takes_them_over_a_restart() -> None:
    async with watched() as first:
        first.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: bool(first.changed), "the pods listed")
        for at in range(5):
            first.server.put(
                PODS, f"p{at}", metadata={"labels": {"app": "web"}, "creationTimestamp": stamp(NOW + 1 + at)}
            )
        first.time = NOW + 40
        await until(lambda: first.pods() == 5, "all pods counted")
        record = first.measuring.record(KEY)
        assert record
    async with watched(record=record) as again:
        assert (again.measuring.record(KEY), again.pods()) == (record, None)
        again.time = NOW + 60
        for at in range(7):
            again.server.put(
                PODS, f"p{at}", metadata={"labels": {"app": "web"}, "creationTimestamp": stamp(NOW + 1 + 8 * at)}
            )
        again.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: again.pods() == 7, "the new pods counted")


async def test_while_no_pod_comes_nothing_is_written_anew() -> None:
    async with watched() as found:
        found.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: bool(found.changed), "the pods listed")
        first = found.measuring.record(KEY)
        found.changed.clear()
        ticks = 0

        def needs() -> dict[BufferKey, Need]:
            nonlocal ticks
            ticks += 1
            return found.needs

        found.measuring.needs = needs
        found.time += 45
        await until(lambda: ticks >= 3, "two looks")
        assert (found.changed, found.measuring.record(KEY)) == ([], first)
        found.server.put(PODS, "p", **pod(NOW + 46))
        found.time += 45
        await until(lambda: found.measuring.record(KEY) != first, "the pod written down")
        assert KEY in found.changed


async def test_what_came_before_is_known_from_history() -> None:
    async with watched(Remembered("")) as found:
        found.needs[KEY] = Need(spec(method="Observed"), "app=web", WEB)
        await until(lambda: bool(found.changed), "the pods listed")
        found.time = NOW + 20
        await until(lambda: found.pods() == 40, "the pods of history counted")


async def test_nothing_is_followed_for_a_buffer_that_is_gone() -> None:
    async with watched() as found:
        found.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: bool(found.changed), "the pods listed")
        found.needs.clear()
        found.measuring.end(KEY)
        assert found.measuring.record(KEY) == ""
        found.time = NOW + 40
        assert found.pods() == 0


async def test_a_namespace_is_watched_once_for_all_that_is_measured_in_it() -> None:
    async with watched() as found:
        keys = {app: ("team-a", app) for app in ("web", "api", "db")}
        for app, key in keys.items():
            found.needs[key] = Need(spec(scaleUpRate="Measured"), f"app={app}", WEB)
        await until(lambda: set(found.changed) >= set(keys.values()), "the pods listed")
        assert len(found.server.watched(PODS)) == 1
        for at, app in enumerate(("web", "web", "api", "none")):
            found.server.put(PODS, f"p{at}", **pod(NOW + 1 + at, app))
        found.time = NOW + 40
        await until(lambda: [found.pods(key) for key in keys.values()] == [2, 1, 0], "each has its own pods")


@pytest.mark.parametrize(("code", "samples"), [(500, 1), (403, 0)], ids=["not read yet", "refused"])
async def test_what_a_pod_waited_for_is_told_once_nodes_have_been_read(code: int, samples: int) -> None:
    async with watched() as found:
        found.server.refusals[NODES] = code
        found.server.put(NODES, "n", metadata={"creationTimestamp": stamp(NOW + 30)})
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(NOW + 40)}
        conditions = {"conditions": [scheduled]}
        found.server.put(PODS, "p", **pod(NOW + 1), spec={"nodeName": "n"}, status=conditions)
        found.needs[KEY] = Need(spec(coldNodeLatency="Measured"), "app=web", WEB)
        await until(lambda: len(found.server.watched(PODS)) == 1, "the pod read")
        found.time = NOW + 60
        if samples:
            looks = found.looks
            await until(lambda: found.looks > looks + 2, "two further looks")
            assert found.pods() == 0, "what it waited for would be lost"
            del found.server.refusals[NODES]
        await until(lambda: found.pods() == 1, "the pod counted")
        complete = found.measuring.complete(KEY, Workload(None, 20), found.needs[KEY])
        assert isinstance(complete, Workload)
        assert complete.measured.cold is not None
        assert complete.measured.cold.samples == samples


async def test_nodes_are_followed_no_more_once_nothing_is_measured_for_a_while() -> None:
    async with watched() as found:
        found.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: len(found.server.watched(NODES)) == 1, "nodes followed")
        del found.needs[KEY]
        await until(lambda: not found.server.watched(PODS), "pods followed no more")
        assert len(found.server.watched(NODES)) == 1, "a workload may be gone for a moment only"
        found.time += 61
        await until(lambda: not found.server.watched(NODES), "nodes followed no more")
        found.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: len(found.server.watched(NODES)) == 1, "nodes followed again")


async def test_what_was_learnt_is_kept_while_a_workload_is_gone() -> None:
    async with watched() as found:
        need = found.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: bool(found.server.watched(PODS)), "the pods listed")
        found.server.put(PODS, "p", **pod(NOW + 1))
        found.time = NOW + 40
        await until(lambda: found.pods() == 1, "the pod counted")
        del found.needs[KEY]
        await until(lambda: not found.server.watched(PODS), "pods followed no more")
        found.server.delete(PODS, "p")
        found.server.put(PODS, "q", **pod(NOW + 60))
        found.needs[KEY] = need
        found.time = NOW + 90
        assert found.pods() == 1, "until pods have been read again"
        await until(lambda: found.pods() == 2, "the pod remembered, and another one")


async def test_a_selector_that_cannot_be_read_stops_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async with watched() as found:
        found.needs[("team-a", "odd")] = Need(spec(scaleUpRate="Measured"), "app in web", WEB)
        found.needs[KEY] = Need(spec(scaleUpRate="Measured"), "app=web", WEB)
        await until(lambda: found.changed == [KEY], "the other pods listed")
        assert "nothing is measured of team-a/odd: 'app in web' is not a label selector" in caplog.text


def test_only_what_asks_for_it_is_measured() -> None:
    assert not is_measured(spec())
    assert not is_measured(parse_capacity_buffer_spec({"replicas": 3}))
    assert is_measured(spec(coldNodeLatency="Measured"))
    assert is_measured(spec(method="Observed"))
