"""410 Gone, wherever it comes, leads to a new list, and a new list drops what vanished unseen."""

from __future__ import annotations

from tests.feed.harness import Bench, a_bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer, pod

from moorage.cluster.client import Client


async def test_a_relist_drops_objects_whose_deletion_nobody_told_us_about(bench: Bench) -> None:
    bench.server.next_watch(
        Script().initial().initial_end().do(lambda: bench.server.vanish("web-2")).error(410, "Expired")
    )
    async with running(bench, synced=False):
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert bench.store.names == ["web-1", "web-3", "web-4", "web-5"]
        assert not [call for call in bench.store.calls if call.startswith("delete")]


async def test_an_expired_error_event_in_a_watch_leads_to_a_new_list(bench: Bench) -> None:
    bench.server.next_watch(Script().initial().initial_end().error(410, "Expired", "too old resource version"))
    async with running(bench):
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert [watch.streams for watch in bench.server.requests("watch")] == [True, True]


async def test_http_410_on_a_resumed_watch_leads_to_a_new_list(bench: Bench) -> None:
    script = Script().initial().initial_end().do(bench.server.expire_history)
    bench.server.next_watch(script)
    async with running(bench, synced=False):
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert [watch.streams for watch in bench.server.requests("watch")] == [True, False, True]
        await bench.in_sync()


async def test_an_expired_continue_token_starts_the_list_over(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client)
    server.next_watch(Script().refuse(422, "Invalid", "sendInitialEvents is forbidden"))

    async with running(bench):
        pages = len(server.requests("list"))
        assert pages == 2
        server.next_list(Script().live_list().do(server.expire_history))
        bench.feed.relist("the test wants it")
        server.put(pod("web-6"))
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        await bench.in_sync()
        continued = ["continue" in request.query for request in server.requests("list")[pages:]]
        assert continued == [False, True, False, True]
