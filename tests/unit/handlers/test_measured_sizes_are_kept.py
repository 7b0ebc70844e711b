"""A size that is made of what was measured stays as it is until pods have been read anew: "not yet" is not "none"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from moorage.cluster.autoscalers import Autoscalers
from moorage.cluster.client import Client
from moorage.cluster.gauge import Memory
from moorage.cluster.status_writer import Status
from moorage.handlers.measuring import BufferKey, Measuring, Need
from moorage.handlers.operator import BUFFERS, key_of
from moorage.status.namespacequota import View
from moorage.status.workload import Unresolved, Workload
from tests.builders import pod_spec
from tests.unit.cluster.test_gauge import stamp
from tests.unit.operator_states import Known, operator_state
from tests.unit.small_server import SmallServer, small_server, until

BUFFER = key_of(BUFFERS, "team-a", "web")
PODS, NODES = "/api/v1/namespaces/team-a/pods", "/api/v1/nodes"
NOW = 1_770_000_000
MEASURED = {"scaleUpRate": "Measured", "standbyResumeLatency": "2s", "coldNodeLatency": "10s"}
GONE = Unresolved("WorkloadNotFound", "there is no Deployment web in namespace team-a")


class Started:
    """An operator that was started with one buffer, which finds a workload."""

    def __init__(self, client: Client, *, time: float, found: Workload | Unresolved) -> None:
        self.time = time
        """Its clock."""
        self.sizes: list[int] = []
        """Each size that was to be written, in order; -1 for none."""
        self.looks = 0
        """How often it was looked at what is measured."""
        self._found = found
        known = Known()
        known.all = View()
        self.state = operator_state(lambda _: self._found, known=known)
        scalers = Autoscalers(client, changed=lambda _: None)
        self.measuring = self.state.buffers.measuring = Measuring(
            client, self._needs, self._changed, scalers, now=lambda: self.time
        )

    def accept(self, status: Status | None = None, **sizing: object) -> None:
        spec = {"selector": {"matchLabels": {"app": "web"}}, "sizing": MEASURED | sizing}
        self.state.accept(BUFFER, uid="1", generation=1, spec=spec, described=bool(status), status=status)
        self.look()

    def find(self, what: Workload | Unresolved) -> None:
        self._found = what
        self.look()

    def look(self) -> Status | None:
        """Size the buffer anew, as happens whenever something comes in its namespace; return what is to be written."""
        self.state.share_out(BUFFER.namespace)
        status = self.state.desired(BUFFER)
        if status is not None:
            self.sizes.append(status.get("replicas", -1))
        return status

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition, while the buffer is sized anew again and again."""
        await until(lambda: [self.look(), condition()][1], what)

    def _needs(self) -> Mapping[BufferKey, Need]:
        self.looks += 1
        return self.state.buffers.needs()

    def _changed(self, key: BufferKey) -> None:
        self.state.buffer_due(*key)
        self.look()


def workload(selector: str = "app=web") -> Workload:
    return Workload(pod_spec(cpu="1"), 20, selector=selector)


@asynccontextmanager
async def started(
    client: Client, *, time: float, status: Status | None = None, found: Workload | None = None
) -> AsyncIterator[Started]:
    """An operator that finds this status at its start."""
    result = Started(client, time=time, found=found or workload())
    result.accept(status)
    task = asyncio.create_task(result.measuring.run())
    yield result
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def learnt() -> AsyncIterator[tuple[SmallServer, Client, Started, Status]]:
    """An operator that has learnt the rate of its pods, which made the status with a record."""
    async with small_server() as (server, client):
        server.collections |= {PODS: {}, NODES: {}}
        async with started(client, time=NOW) as found:
            await until(lambda: len(server.watched(PODS)) == 1, "the pods watched")
            for at in range(60):
                meta = {"labels": {"app": "web"}, "creationTimestamp": stamp(NOW + 1 + at)}
                server.put(PODS, f"p{at}", metadata=meta)
            found.time = NOW + 100
            await until(lambda: found.sizes[-1] > 0, "the rate learnt")
            status = found.look()
            assert status is not None
            assert status["sizing"]["measured"]["record"]
            yield server, client, found, status


async def test_a_restart_keeps_the_size_while_pods_are_being_read() -> None:
    async with learnt() as (server, client, _, status):
        server.refusals[PODS] = 500
        server.cut(PODS)
        async with started(client, time=NOW + 130, status=status) as again:
            await again.until(lambda: again.looks > 1, "two looks at what is measured")
            assert again.sizes == [], "what is written stays"
            del server.refusals[PODS]
            await again.until(lambda: bool(again.sizes), "the pods read")
            assert set(again.sizes) == {status["replicas"]}


async def test_a_record_outlives_a_restart_while_there_is_no_workload() -> None:
    async with learnt() as (_, client, found, status):
        found.find(GONE)
        gone = found.look()
        assert gone is not None
        assert "replicas" not in gone
        assert gone["sizing"]["measured"]["record"]
        async with started(client, time=NOW + 130, status=gone) as again:
            await again.until(lambda: bool(again.sizes), "a size")
            assert set(again.sizes) == {status["replicas"]}, "of what was learnt, once the workload is back"


async def test_where_pods_may_not_be_read_what_was_learnt_counts() -> None:
    async with learnt() as (server, client, _, status):
        server.refusals[PODS] = 403
        server.cut(PODS)
        async with started(client, time=NOW + 130, status=status) as again:
            await again.until(lambda: bool(again.sizes), "pods refused")
            assert set(again.sizes) == {status["replicas"]}


@pytest.mark.parametrize("selector", ["", "app in web"], ids=["no selector", "no readable selector"])
async def test_where_no_pods_can_be_followed_none_are_waited_for(selector: str) -> None:
    async with learnt() as (_, client, _, status):
        again = Started(client, time=NOW + 130, found=workload(selector))
        again.accept(status)
        assert again.sizes == [0]


async def test_a_buffer_without_a_record_has_its_fallback_at_once() -> None:
    async with small_server() as (server, client):
        server.collections |= {PODS: {}, NODES: {}}
        async with started(client, time=NOW) as found:
            assert found.sizes == [0]
            found.accept(fallback={"scaleUpRate": "2"})
            assert found.sizes == [0, 20]


async def test_a_workload_that_was_gone_for_a_moment_has_its_old_size_at_once() -> None:
    async with learnt() as (server, _, found, status):
        found.find(GONE)
        await until(lambda: not server.watched(PODS), "pods followed no more")
        found.sizes.clear()
        found.find(workload())
        found.time += 30
        before = found.looks
        await found.until(lambda: found.looks > before + 2, "pods followed again")
        assert len(server.watched(PODS)) == 1
        assert set(found.sizes) == {status["replicas"]}


async def test_so_has_one_whose_selector_changes() -> None:
    async with learnt() as (server, _, found, status):
        found.sizes.clear()
        found.find(workload("app=web,!canary"))
        found.time += 30
        before = found.looks
        await found.until(lambda: found.looks > before + 2, "other pods followed")
        assert [each["labelSelector"] for each in server.watched(PODS)] == ["app=web,!canary"]
        assert set(found.sizes) == {status["replicas"]}


async def test_a_buffer_that_cannot_be_taken_up_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever somebody wrote into its status."""

    def fail(_: str) -> Memory:
        raise RuntimeError("a bug")

    async with learnt() as (_, client, _, status):
        monkeypatch.setattr(Memory, "read", fail)
        async with started(client, time=NOW + 130, status=status) as again:
            await again.until(lambda: bool(again.sizes), "a size in spite of that")
            looks = again.looks
            await again.until(lambda: again.looks > looks + 1, "two further looks")
        assert caplog.text.count("nothing more is measured of team-a/web") == 1
