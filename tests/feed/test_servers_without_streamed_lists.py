"""Where lists are not streamed, they are read in pages."""

from __future__ import annotations

import pytest
from tests.feed.harness import Bench, a_bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer, bookmark, pod

from moorage.cluster.client import Client
from moorage.cluster.feed import Pace


@pytest.mark.parametrize("code", [400, 422])
async def test_a_refused_streamed_list_falls_back_to_pages_and_is_not_tried_again(bench: Bench, code: int) -> None:
    server = bench.server
    server.next_watch(Script().refuse(code, "Invalid", "sendInitialEvents: Forbidden"))
    async with running(bench):
        assert [request.query.get("limit") for request in server.requests("list")] == ["3", "3"]
        await until(lambda: len(server.requests("watch")) == 2, "the watch that follows")
        assert server.requests("watch")[-1].query["resourceVersion"] == "105"
        server.put(pod("web-6"))
        await bench.in_sync()
        bench.feed.relist("the test wants it")
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert [watch.streams for watch in server.requests("watch")].count(True) == 1


async def test_a_server_that_ignores_the_parameter_shows_by_an_ordinary_bookmark(bench: Bench) -> None:
    bench.server.next_watch(Script().initial().send(bookmark(105)).hang())
    async with running(bench):
        assert len(bench.server.requests("list")) == 2


async def test_a_server_that_ignores_the_parameter_shows_by_its_silence(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client, pace=Pace(silence=5.0, initial_silence=0.1, verify=0))
    server.next_watch(Script().initial().hang())
    async with running(bench):
        assert len(server.requests("list")) == 1
        assert bench.store.calls == ["replace 5"]


async def test_events_of_objects_already_listed_in_pages_are_not_taken_twice(bench: Bench) -> None:
    server = bench.server
    server.next_watch(Script().refuse(400), Script().send(server.line("ADDED", "web-5")).hang())
    async with running(bench):
        await until(lambda: bench.feed.counters.ignored == 1, "the repeated event")
        assert bench.store.calls == ["replace 5"]
