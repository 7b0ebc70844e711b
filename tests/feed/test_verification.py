"""The proof: what is held is compared with a list at exactly the version that has been seen."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.feed.harness import Bench, Held, a_bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer, pod

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.feed import Pace


async def test_nothing_is_found_where_nothing_is_wrong(bench: Bench) -> None:
    async with running(bench):
        drift = await bench.feed.verify()
        assert not drift
        assert str(drift) == "compared with 5 objects at version 105: no difference"
        exact = bench.server.requests("list")
        assert [request.query.get("resourceVersionMatch") for request in exact] == ["Exact", None]
        assert bench.feed.counters.verifications == 1


async def test_injected_drift_is_found_told_and_healed(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    async with running(bench):
        del bench.store.records["web-1"]
        bench.store.records["web-2"] = Held("web-2", 102, "web-2", "9999")
        bench.store.records["ghost"] = Held("ghost", 1, "ghost", "1")
        with caplog.at_level(logging.ERROR):
            drift = await bench.feed.verify()
        assert (drift.missing, drift.extra, drift.different) == (
            ("team-a/web-1 (web-1)",),
            ("ghost",),
            ("team-a/web-2 (web-2)",),
        )
        assert "1 missing: team-a/web-1 (web-1); 1 extra: ghost; 1 different: team-a/web-2 (web-2)" in caplog.text
        await bench.in_sync()
        assert bench.feed.counters.drifts == 1
        assert bench.feed.counters.relists == 2


async def test_nothing_is_found_under_churn(bench: Bench) -> None:
    server = bench.server

    async def churn() -> None:
        for round in range(400):
            server.put(pod(f"web-{round % 7}", cpu=str(round)))
            if round % 3 == 0:
                server.delete(f"web-{round % 7}")
            await asyncio.sleep(0)

    async with running(bench):
        changing = asyncio.create_task(churn())
        checked = 0
        while not changing.done():
            assert not await bench.feed.verify()
            checked += 1
        await bench.in_sync()
        assert checked > 3
        assert bench.feed.counters.relists == 1


async def test_a_version_that_is_gone_is_tried_again_with_a_newer_one(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.next_list(Script().refuse(410, "Expired").do(lambda: server.put(pod("web-6"))))
        assert not await bench.feed.verify()
        assert [request.query.get("resourceVersion") for request in server.requests("list")][:2] == ["105", "106"]


async def test_a_version_that_stays_gone_is_an_error_and_no_drift(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client, pace=Pace(silence=0.05, verify=0))
    async with running(bench):
        server.lists_exactly = False
        with pytest.raises(ApiError, match="too old") as caught:
            await bench.feed.verify()
        assert caught.value.gone
        assert bench.feed.counters.verifications == 0
        assert "1" in [request.query["limit"] for request in server.requests("list")], "what is newest was asked for"


async def test_a_version_that_the_server_has_not_reached_leads_to_a_new_list(bench: Bench) -> None:
    server = bench.server
    too_new = Script().refuse(
        504,
        "Timeout",
        "Too large resource version",
        causes=[{"reason": "ResourceVersionTooLarge"}],
        retryAfterSeconds=0,
    )
    async with running(bench):
        server.next_list(*[too_new] * 2)
        await bench.feed.verify()
        await until(lambda: bench.feed.counters.relists >= 2, "a new list")


async def test_there_is_nothing_to_verify_before_the_first_list(bench: Bench) -> None:
    with pytest.raises(ClusterError, match="first list"):
        await bench.feed.verify()


async def test_it_runs_by_itself_and_survives_its_own_failures(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client, pace=Pace(verify=0.02))
    server.next_list(Script().refuse(403, "Forbidden"), Script().answer(b"not json"))
    async with running(bench):
        await until(lambda: bench.feed.counters.verifications >= 2, "proofs")
        del bench.store.records["web-1"]
        await until(lambda: bench.feed.counters.drifts == 1, "the drift is found")
        await bench.in_sync()
