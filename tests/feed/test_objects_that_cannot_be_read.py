"""One bad object never hides the others, however bad it is; and a large one is no bad one."""

from __future__ import annotations

import logging

import pytest
from tests.feed.harness import Bench, Held, running, until
from tests.feed.scripted_server import Script, pod


async def test_a_bad_version_of_an_object_keeps_the_last_good_record(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    server = bench.server
    async with running(bench):
        with caplog.at_level(logging.WARNING):
            server.put(pod("web-1", cpu="lots"))
            server.put(pod("web-1", cpu="even more"))
            server.put(pod("web-6"))
            await until(lambda: "web-6" in bench.store.records, "the next object")
        assert bench.store.records["web-1"].cpu == "100m"
        assert bench.feed.undecodable == {"web-1": "ValueError: 'even more' is not a quantity"}
        assert bench.feed.counters.decode_errors == 2
        assert bench.feed.resource_version == str(server.revision)
        told = [record.getMessage() for record in caplog.records if "cannot be read" in record.getMessage()]
        assert len(told) == 1, "said once per object"
        assert "team-a/web-1 (uid web-1)" in told[0]

        server.put(pod("web-1", cpu="200m"))
        await bench.in_sync()
        assert bench.feed.undecodable == {}


async def test_a_list_keeps_the_last_good_record_too(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.put(pod("web-1", cpu="lots"))
        server.put(pod("web-6", cpu="lots"))
        bench.feed.relist("the test wants it")
        await until(lambda: bench.feed.counters.relists == 2, "a second list")
        assert bench.store.names == ["web-1", "web-2", "web-3", "web-4", "web-5"]
        assert sorted(bench.feed.undecodable) == ["web-1", "web-6"]
        assert not await bench.feed.verify(), "what is known to be old is no drift"


async def test_the_deletion_of_a_bad_object_drops_its_last_good_record(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.put(pod("web-1", cpu="lots"))
        server.delete("web-1")
        await bench.in_sync()
        assert bench.feed.undecodable == {}


async def test_an_object_of_another_shape_altogether_is_only_counted(bench: Bench) -> None:
    bench.server.next_watch(
        Script()
        .initial()
        .send(b'{"type":"ADDED","object":{"metadata":[1]}}\n{"type":"ADDED","object":7}\n')
        .initial_end()
        .live()
    )
    async with running(bench):
        assert bench.feed.counters.decode_errors == 2


async def test_a_line_that_is_no_event_leads_to_a_new_list(bench: Bench) -> None:
    bench.server.next_watch(Script().initial().initial_end().send(b"<html>proxy error</html>\n"))
    async with running(bench):
        await until(lambda: bench.feed.counters.relists == 2, "a second list")


async def test_a_line_of_three_megabytes_is_read(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.put(pod("large", cpu="7", note="x" * 3_000_000))
        server.put(pod("web-6"))
        await bench.in_sync()
        assert bench.store.records["large"].cpu == "7"


async def test_a_bug_in_the_sink_is_counted_and_healed_by_a_new_list(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def trap(record: Held) -> None:
        bench.store.trap = None
        raise KeyError(record.uid)

    async with running(bench):
        bench.store.trap = trap
        bench.server.put(pod("web-6"))
        await bench.in_sync()
        assert bench.feed.counters.faults == 1
        assert bench.feed.counters.relists == 2
        assert "KeyError: 'web-6'" in caplog.text, "with its traceback"
