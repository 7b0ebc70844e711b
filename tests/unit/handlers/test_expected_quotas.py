"""After a start, the quotas that exist are waited for, so that no buffer is sized without them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from moorage.handlers import expected as module
from moorage.handlers.expected import ExpectedQuotas
from moorage.quota.ledger import QuotaKey
from tests.controlplane.waiting import wait_for_async
from tests.unit.small_server import SmallServer, small_server

PATH = "/apis/moorage.dev/v1alpha1/namespacequotas"
TEAM_A = {"metadata": {"namespace": "team-a", "name": "all"}}


@asynccontextmanager
async def expecting(
    *stored: dict[str, object], refusal: int = 0
) -> AsyncIterator[tuple[ExpectedQuotas, set[QuotaKey], SmallServer]]:
    """Expect what is stored; the second value are those that have been taken in."""
    async with small_server() as (server, client):
        server.documents[PATH] = {"items": list(stored)}
        if refusal:
            server.refusals[PATH] = refusal
        taken_in: set[QuotaKey] = set()
        expected = ExpectedQuotas(client, [PATH], taken_in.__contains__)
        assert expected.awaits("team-a"), "nothing is known before the list"
        running = asyncio.create_task(expected.run())
        yield expected, taken_in, server
        running.cancel()


async def listed(expected: ExpectedQuotas) -> None:
    await wait_for_async(lambda: expected.missing is not None, timeout=5, message="the list of quotas")


async def test_a_quota_is_awaited_until_it_has_been_taken_in() -> None:
    async with expecting(TEAM_A) as (expected, taken_in, _):
        await listed(expected)
        assert (expected.awaits("team-a"), expected.awaits("team-b")) == (True, False)
        taken_in.add(("team-a", "all"))
        assert not expected.awaits("team-a")
        taken_in.clear()
        assert not expected.awaits("team-a"), "one that is deleted later is not expected back"


async def test_what_may_not_be_read_is_not_awaited() -> None:
    async with expecting(TEAM_A, refusal=403) as (expected, _, _):
        await listed(expected)
        assert not expected.awaits("team-a")


async def test_a_server_that_fails_is_asked_again() -> None:
    async with expecting(TEAM_A, refusal=503) as (expected, _, server):
        await asyncio.sleep(0.05)
        assert expected.awaits("team-b")
        server.refusals.clear()
        await listed(expected)
        assert (expected.awaits("team-a"), expected.awaits("team-b")) == (True, False)


async def test_waiting_costs_no_more_the_more_there_are() -> None:
    stored = [{"metadata": {"namespace": "team-a", "name": f"quota-{number}"}} for number in range(500)]
    async with small_server() as (server, client):
        server.documents[PATH] = {"items": stored}
        asked = 0

        def arrived(key: QuotaKey) -> bool:
            nonlocal asked
            asked += 1
            return False

        expected = ExpectedQuotas(client, [PATH], arrived)
        running = asyncio.create_task(expected.run())
        await listed(expected)
        asked = 0
        assert all(expected.awaits("team-a") for _ in range(100))
        assert asked == 100, "each object that is taken in asks, so all of them must not be gone through"
        assert expected.missing == 500
        running.cancel()


async def test_one_that_is_being_deleted_is_not_awaited() -> None:
    going = {"metadata": {**TEAM_A["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    async with expecting(going) as (expected, _, _):
        await listed(expected)
        assert not expected.awaits("team-a")


class TestPatience:
    """A minute counts from the last that came, shortened here."""

    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, seconds in (("_LOOK_SECONDS", 0.25), ("_GONE_SECONDS", 0.5), ("_PATIENCE_SECONDS", 1.0)):
            monkeypatch.setattr(module, name, seconds)

    async def test_one_that_was_deleted_meanwhile_holds_nobody_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_PATIENCE_SECONDS", 1000.0)
        async with expecting(TEAM_A) as (expected, _, server):
            await listed(expected)
            server.documents[PATH] = {"items": []}
            await wait_for_async(lambda: not expected.awaits("team-a"), timeout=5, message="its absence noticed")

    async def test_one_that_never_comes_is_not_awaited_for_ever(self) -> None:
        async with expecting(TEAM_A) as (expected, _, _):
            await listed(expected)
            assert expected.awaits("team-a")
            await wait_for_async(lambda: not expected.awaits("team-a"), timeout=5, message="the end of patience")

    async def test_many_that_come_one_after_the_other_are_all_awaited(self) -> None:
        stored = [{"metadata": {"namespace": "team-a", "name": f"quota-{number}"}} for number in range(10)]
        async with expecting(*stored) as (expected, taken_in, _):
            await listed(expected)
            for number in range(9):
                taken_in.add(("team-a", f"quota-{number}"))
                await asyncio.sleep(0.3)
                assert expected.awaits("team-a"), "for the last one, however long all take together"
