"""A connection may break at any byte, fall silent, or find nobody at home."""

from __future__ import annotations

import asyncio

import pytest
from tests.feed.harness import Bench, a_bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer, pod

from moorage.cluster.client import Client
from moorage.cluster.feed import Pace


@pytest.mark.parametrize("sent", [0, 1, 4, 5])
async def test_a_drop_before_the_initial_bookmark_starts_over_and_keeps_nothing(bench: Bench, sent: int) -> None:
    bench.server.next_watch(Script().initial(sent).do(lambda: bench.server.vanish("web-1")).drop())
    async with running(bench, synced=False):
        await until(lambda: bench.feed.synced, "the list")
        assert bench.store.calls == ["replace 4"]
        assert [watch.streams for watch in bench.server.requests("watch")] == [True, True]


async def test_a_clean_end_before_the_initial_bookmark_starts_over(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.server.next_watch(Script().initial(2))
    async with running(bench):
        assert bench.store.calls == ["replace 5"]
        assert "backing off: the watch ended before the list was complete" in caplog.text


async def test_a_connection_that_drops_in_mid_line_loses_nothing(bench: Bench) -> None:
    server = bench.server
    server.next_watch(Script().initial().initial_end().hang())
    async with running(bench):
        server.put(pod("web-6", cpu="3"))
        line = server.line("ADDED", "web-6")
        server.next_watch(Script().send(line[: len(line) // 2]).drop())
        server.cut_watches()
        await bench.in_sync()
        assert bench.feed.counters.relists == 1
        assert bench.feed.counters.decode_errors == 0


async def test_a_response_that_ends_in_mid_line_counts_as_broken(bench: Bench) -> None:
    server = bench.server
    server.next_watch(
        Script().initial().initial_end().send(b'{"type":"ADDED","object":{"met'),
        Script().bookmark(),
    )
    async with running(bench):
        await until(lambda: len(server.requests("watch")) >= 3, "reconnects")
        assert bench.feed.counters.relists == 1


async def test_a_silent_connection_is_given_up_and_resumed(server: ScriptedServer, client: Client) -> None:
    bench = a_bench(server, client, pace=Pace(silence=0.1, initial_silence=5.0, verify=0))
    server.next_watch(Script().initial().initial_end().hang())
    async with running(bench):
        server.put(pod("web-6"))
        await bench.in_sync()
        resumed = server.requests("watch")[1]
        assert not resumed.streams
        assert bench.feed.counters.relists == 1


async def test_a_quiet_cluster_is_no_trouble(server: ScriptedServer, client: Client) -> None:
    """It may send nothing for minutes, not even bookmarks: watches are opened anew, and nothing else happens."""
    bench = a_bench(server, client, pace=Pace(silence=0.05, initial_silence=5.0, verify=0))
    states = set()
    server.next_watch(Script().initial().initial_end().hang(), *[Script().hang()] * 3)
    async with running(bench):
        heard = bench.feed.last_byte_at
        await until(lambda: bench.feed.last_byte_at != heard, "that a watch can be opened is a sign of life")
        assert not server.requests("list")
        while len(server.requests("watch")) < 4:
            states.add(bench.feed.state)
            await asyncio.sleep(0.001)
        assert states == {"watching"}
        assert bench.feed.counters.relists == 1


async def test_a_server_that_stays_mute_since_its_history_went_back_is_listed_anew(
    server: ScriptedServer, client: Client
) -> None:
    """An etcd restored from a backup does this: it does not reach the version that we resume from."""

    def restore_backup() -> None:
        server.revision = 50
        server.vanish("web-1")

    bench = a_bench(server, client, pace=Pace(silence=0.05, initial_silence=5.0, verify=0))
    server.next_watch(Script().initial().initial_end().do(restore_backup), Script().hang())
    async with running(bench, synced=False):
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert [watch.streams for watch in server.requests("watch")[:3]] == [True, False, True]
        assert bench.store.names == ["web-2", "web-3", "web-4", "web-5"]


async def test_a_bookmark_from_the_past_leads_to_a_new_list(bench: Bench) -> None:
    def restore_backup() -> None:
        bench.server.revision = 50
        bench.server.vanish("web-1")

    bench.server.next_watch(Script().initial().initial_end().do(restore_backup).bookmark().hang())
    async with running(bench, synced=False):
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert bench.feed.resource_version == "51"
        assert bench.store.names == ["web-2", "web-3", "web-4", "web-5"]


async def test_an_api_server_that_restarts_is_found_again(bench: Bench) -> None:
    async with running(bench):
        await bench.server.stop()
        await until(lambda: "cannot be reached" in bench.feed.state, "the feed notices and says so")
        assert bench.matches(), "what was held stays readable meanwhile"
        bench.server.put(pod("web-6"))
        bench.server.delete("web-1")
        await bench.server.start()
        await bench.in_sync()
        assert bench.feed.state == "watching"
        assert bench.feed.counters.relists == 1


async def test_a_watch_that_ends_at_once_is_not_reopened_in_a_tight_loop(bench: Bench) -> None:
    bench.server.next_watch(Script().initial().initial_end(), *[Script().send(b"")] * 5)
    async with running(bench):
        await until(lambda: len(bench.server.requests("watch")) == 7, "reconnects")
        assert bench.feed.counters.reconnects == 6
