"""The selection may change while the feed runs."""

from __future__ import annotations

from tests.feed.harness import a_bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer

from moorage.cluster.client import Client

RUNNING = "status.phase!=Succeeded,status.phase!=Failed"


async def test_another_selector_lists_anew_and_tells_when_it_is_in_force(
    server: ScriptedServer, client: Client
) -> None:
    bench = a_bench(server, client, field_selector=RUNNING)
    async with running(bench):
        bench.feed.set_field_selector("")
        assert bench.feed.held_selector == RUNNING, "until the new list is complete"
        await until(lambda: bench.feed.held_selector == "", "the new selection")
        assert [watch.query.get("fieldSelector") for watch in server.requests("watch")] == [RUNNING, None]
        assert bench.store.calls == ["replace 5", "replace 5"]
        bench.feed.set_field_selector("")
        assert bench.feed.state == "watching"


async def test_a_selector_set_while_a_list_is_read_starts_it_over(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client, field_selector=RUNNING)
    server.next_watch(Script().initial(2).hang())
    async with running(bench, synced=False):
        await until(lambda: bench.feed.last_byte_at is not None, "the list has begun")
        bench.feed.set_field_selector("")
        await bench.in_sync()
        assert bench.feed.held_selector == ""


async def test_a_selector_set_at_the_moment_a_list_is_complete_is_not_lost(
    server: ScriptedServer, client: Client
) -> None:
    bench = a_bench(server, client, field_selector=RUNNING)
    bench.store.on_replace = lambda: bench.feed.set_field_selector("")
    async with running(bench):
        await until(lambda: bench.feed.held_selector == "", "the new selection")


async def test_a_resumed_watch_keeps_the_selection_of_its_list(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client, field_selector=RUNNING)
    server.next_watch(Script().initial().initial_end())
    async with running(bench):
        await until(lambda: len(server.requests("watch")) == 2, "a resumed watch")
        assert server.requests("watch")[1].query["fieldSelector"] == RUNNING
        assert not await bench.feed.verify()
        assert server.requests("list")[0].query["fieldSelector"] == RUNNING


async def test_a_selector_that_the_server_refuses_is_told_and_can_be_mended(
    server: ScriptedServer, client: Client
) -> None:
    bench = a_bench(server, client)
    refusal = Script().refuse(400, "BadRequest", "field label not supported: nonsense")
    async with running(bench):
        server.next_watch(refusal)
        server.next_list(refusal)
        bench.feed.set_field_selector("nonsense=1")
        await until(lambda: "field label not supported" in bench.feed.state, "the state says so")
        bench.feed.set_field_selector("")
        await until(lambda: bench.feed.counters.relists == 2, "a new list")
        assert bench.feed.state == "watching"
        assert server.requests("watch")[-1].streams, "streaming was not to blame"
