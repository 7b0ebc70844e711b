"""The normal course: a complete list is swapped in, then each event shows at once."""

from __future__ import annotations

from tests.feed.harness import Bench, running, until
from tests.feed.scripted_server import Script, pod


async def test_a_streamed_list_is_swapped_in_at_once_and_events_follow(bench: Bench) -> None:
    async with running(bench):
        assert bench.store.calls == ["replace 5"]
        bench.server.put(pod("web-6"))
        bench.server.put(pod("web-1", cpu="2"))
        bench.server.delete("web-2")
        await bench.in_sync()
        assert bench.store.names == ["web-1", "web-3", "web-4", "web-5", "web-6"]
        assert bench.store.records["web-1"].cpu == "2"
        assert bench.feed.resource_version == str(bench.server.revision)
        assert not bench.server.requests("list")


async def test_a_watch_that_the_server_ends_is_resumed_where_it_was(bench: Bench) -> None:
    bench.server.next_watch(Script().initial().initial_end())
    async with running(bench):
        bench.server.put(pod("web-6"))
        await bench.in_sync()
        resumed = bench.server.requests("watch")[-1]
        assert not resumed.streams
        assert resumed.query["resourceVersion"] == "105"
        assert bench.feed.counters.relists == 1


async def test_what_changes_while_a_list_is_streamed_is_in_it(bench: Bench) -> None:
    server = bench.server

    def change() -> None:
        server.delete("web-1")
        server.put(pod("web-2", cpu="2"))

    server.next_watch(Script().initial().do(change).events().initial_end().live())
    async with running(bench):
        assert bench.store.calls == ["replace 4"]
        assert bench.store.records["web-2"].cpu == "2"


async def test_state_says_what_the_feed_is_doing(bench: Bench) -> None:
    assert bench.feed.state == "starting"
    bench.server.next_watch(Script().initial().hang())
    async with running(bench, synced=False):
        await until(lambda: bench.feed.last_byte_at is not None, "something came")
        assert (bench.feed.state, bench.feed.synced) == ("listing", False)
    assert bench.feed.state == "stopped"
    async with running(bench):
        assert (bench.feed.state, bench.feed.synced) == ("watching", True)
