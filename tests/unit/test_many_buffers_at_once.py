"""What quotas leave in a namespace is shared out once for all of its buffers that something concerns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.handlers.operator import BUFFERS, QUOTAS, OperatorState, key_of
from moorage.quota.ledger import QuotaKey
from moorage.run import Operator, Options
from moorage.status.namespacequota import View
from moorage.status.workload import Workload
from tests.builders import pod_spec
from tests.controlplane.waiting import wait_for_async
from tests.unit.operator_states import Known, operator_state

TEAM, COUNT = "team-a", 500
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
"""


@pytest.fixture
async def operator(tmp_path: Path) -> Operator:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return Operator(Options(kubeconfig=str(path)))


@pytest.fixture
async def shared(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The namespaces whose room was shared out, one after the other, while the operator does that."""
    found: list[str] = []
    share_out = operator.state.buffers.share_out
    monkeypatch.setattr(
        operator.state.buffers, "share_out", lambda namespace: [found.append(namespace), share_out(namespace)][1]
    )
    running = asyncio.create_task(operator._share_out_rooms())
    yield found
    running.cancel()


def accept(state: OperatorState, number: int, *, described: bool = False) -> None:
    name = f"buffer-{number}"
    state.accept(
        key_of(BUFFERS, TEAM, name),
        uid=name,
        generation=1,
        spec={"podTemplateRef": {"name": "unit"}, "replicas": 2},
        described=described,
        created=f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
    )


async def test_many_buffers_that_are_due_cost_one_round(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    monkeypatch.setattr(
        operator.state.buffers, "share_out", lambda namespace: [happened.append(f"shared {namespace}"), []][1]
    )
    monkeypatch.setattr(operator.state.writer, "mark", lambda key: happened.append(key.name))
    for number in range(100):
        operator._buffer_due((TEAM, f"buffer-{number}"))
        operator._buffer_due((TEAM, f"buffer-{number}"))
    operator.rooms.awaits_buffers = lambda _: False
    running = asyncio.create_task(operator._share_out_rooms())
    await wait_for_async(lambda: len(happened) >= 101, timeout=5, message="all of them sized anew")
    assert happened[0] == f"shared {TEAM}", "the sizes follow what is left"
    assert sorted(happened[1:]) == sorted(f"buffer-{number}" for number in range(100))
    running.cancel()


async def test_500_buffers_of_a_start_are_shared_out_for_once(operator: Operator, shared: list[str]) -> None:
    """One round for each that came made 500 x 500 looks, and left buffers without a status for a minute."""
    arrived: set[QuotaKey] = set()
    operator.rooms.awaits_buffers = lambda namespace: namespace == TEAM and len(arrived) < COUNT
    for number in range(COUNT):
        accept(operator.state, number)
        arrived.add((TEAM, f"buffer-{number}"))
        if number % 100 == 0:
            await asyncio.sleep(0.15)  # longer than changes are gathered
            assert not shared, "a size would be judged without those that come later"
    await wait_for_async(lambda: operator.state.buffers.is_shared(TEAM), timeout=5, message="the room shared out")
    assert shared == [TEAM]


async def test_buffers_that_are_applied_later_are_gathered_too(operator: Operator, shared: list[str]) -> None:
    operator.rooms.awaits_buffers = lambda _: False
    await asyncio.sleep(0)
    for number in range(COUNT):
        accept(operator.state, number)
    await wait_for_async(lambda: operator.state.buffers.is_shared(TEAM), timeout=5, message="the room shared out")
    assert len(shared) <= 2


class TestBeforeThat:
    """Between a change and the sharing no size is told, and none is forgotten."""

    @pytest.fixture
    async def state(self) -> OperatorState:
        known = Known()
        known.all = View()
        state = operator_state(lambda _: Workload(pod_spec(cpu="1")), known=known)
        spec = {"hard": {"pods": 3}, "enforcement": "Enforce"}
        state.accept(key_of(QUOTAS, TEAM, "all"), uid="q", generation=1, spec=spec, described=False)
        accept(state, 1)
        state.share_soon = lambda _: None  # from here on as long as a test says
        return state

    def test_a_buffer_that_came_has_no_status(self, state: OperatorState) -> None:
        accept(state, 2)
        assert state.desired(key_of(BUFFERS, TEAM, "buffer-2")) is None
        assert state.buffers.status(TEAM, "buffer-2") is None

    def test_nor_is_another_written_that_it_may_concern(self, state: OperatorState) -> None:
        first = key_of(BUFFERS, TEAM, "buffer-1")
        assert state.desired(first) is not None
        accept(state, 0)
        assert state.desired(first) is None

    def test_what_was_asked_for_meanwhile_is_written_afterwards(
        self, state: OperatorState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        accept(state, 2)
        for number in (1, 2):
            state.desired(key_of(BUFFERS, TEAM, f"buffer-{number}"))
        marked: list[str] = []
        monkeypatch.setattr(state.writer, "mark", lambda key: marked.append(key.name))
        state.share_out(TEAM)
        assert {"buffer-1", "buffer-2"} <= set(marked)
        sizes = [state.buffers.status(TEAM, f"buffer-{number}") for number in (1, 2)]
        assert [each.replicas for each in sizes if each is not None] == [2, 1]

    def test_a_quota_that_tells_of_buffers_waits_and_is_written_afterwards(
        self, state: OperatorState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        quota = key_of(QUOTAS, TEAM, "all")
        state.observe(quota, uid="q", resource_version=5, status={"buffered": {"pods": "2"}})
        accept(state, 1)  # says nothing new
        assert state.desired(quota) is None
        marked: list[str] = []
        monkeypatch.setattr(state.writer, "mark", lambda key: marked.append(key.name))
        state.share_out(TEAM)
        assert "all" in marked

    def test_the_last_buffer_that_goes_takes_what_it_held_along(
        self, state: OperatorState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        marked: list[str] = []
        state.remove(key_of(BUFFERS, TEAM, "buffer-1"), uid="buffer-1")
        monkeypatch.setattr(state.writer, "mark", lambda key: marked.append(key.name))
        state.share_out(TEAM)
        assert marked == ["all"]
        assert not state.buffers.holdings(TEAM)


async def test_quotas_are_looked_at_when_the_buffers_of_their_own_namespace_are_in(
    operator: Operator, shared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then it is not known what placeholders hold; those of other namespaces may take a minute."""
    awaited, looked = {TEAM}, []
    operator.state.quotas.accept(TEAM, "quota", generation=1, spec={"hard": {"pods": 5}})
    monkeypatch.setattr(operator.state.writer, "mark", looked.append)
    operator.rooms.changed(TEAM)
    asked: list[str] = []
    operator.rooms.awaits_buffers = lambda namespace: [asked.append(namespace), namespace in awaited][1]
    await wait_for_async(lambda: len(asked) >= 2, timeout=5, message="two looks")
    assert not shared
    assert not looked
    awaited.clear()
    await wait_for_async(lambda: key_of(QUOTAS, TEAM, "quota") in looked, timeout=5, message="a look at the quota")
    assert shared == [TEAM]
