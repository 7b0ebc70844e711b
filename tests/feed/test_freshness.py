"""A feed is current only when that is proved, and only for some seconds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from tests.feed.harness import Bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer, pod

from moorage.cluster.client import METADATA_ONLY, Client
from moorage.cluster.errors import ClusterError
from moorage.cluster.freshness import Freshness, ProofPace

QUICK = ProofPace(interval=0.01, on_the_way=0.05)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def freshness(client: Client, bench: Bench) -> Freshness:
    return Freshness(client, lambda: [bench.feed], pace=QUICK)


async def test_nothing_is_fresh_before_it_is_proved(client: Client, bench: Bench) -> None:
    assert not freshness(client, bench).is_fresh(bench.feed)


async def test_a_feed_that_has_reached_the_newest_version_is_fresh(client: Client, bench: Bench) -> None:
    async with running(bench):
        proofs = freshness(client, bench)
        assert await proofs.prove(bench.feed)
        assert proofs.is_fresh(bench.feed)
        assert len(bench.server.requests("watch")) == 1, "the feed's own"


async def test_one_that_gets_there_in_a_moment_is_fresh(client: Client, bench: Bench) -> None:
    async with running(bench):
        bench.server.put(pod("web-6"))
        assert await freshness(client, bench).prove(bench.feed)
        assert len(bench.server.requests("watch")) == 1


async def test_changes_of_other_kinds_make_no_feed_old(client: Client, bench: Bench) -> None:
    async with running(bench):
        bench.server.advance()
        bench.server.next_watch(Script().short())
        assert await freshness(client, bench).prove(bench.feed)
        [_, seen] = bench.server.requests("watch")
        assert seen.query["resourceVersion"] == "105"
        assert seen.query["timeoutSeconds"] == "1"
        assert seen.headers["Accept"] == METADATA_ONLY


async def test_an_event_that_the_feed_does_not_get_is_seen(client: Client, bench: Bench) -> None:
    server = bench.server
    server.next_watch(Script().initial().initial_end().hang())  # its connection is dead, and it cannot know
    async with running(bench):
        proofs = freshness(client, bench)
        server.delete("web-1")
        server.next_watch(Script().short())
        assert not await proofs.prove(bench.feed)
        assert not proofs.is_fresh(bench.feed)


async def test_the_second_watch_selects_what_the_feed_selects(client: Client, bench: Bench) -> None:
    bench.feed.set_field_selector("status.phase!=Failed")
    async with running(bench):
        bench.server.advance()
        bench.server.next_watch(Script().short())
        assert await freshness(client, bench).prove(bench.feed)
        assert bench.server.requests("watch")[-1].query["fieldSelector"] == "status.phase!=Failed"


async def test_before_the_first_list_there_is_nothing_to_prove(client: Client, bench: Bench) -> None:
    assert not await freshness(client, bench).prove(bench.feed)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Script().error(410, "Expired"), id="the version is gone"),
        pytest.param(Script().refuse(403, "Forbidden"), id="refused"),
        pytest.param(Script().send(b"not json\n"), id="no event"),
        pytest.param(Script().send(b"{").drop(), id="cut off"),
    ],
)
async def test_a_second_watch_that_fails_proves_nothing(client: Client, bench: Bench, answer: Script) -> None:
    async with running(bench):
        proofs = freshness(client, bench)
        bench.server.advance()
        bench.server.next_watch(answer)
        with pytest.raises(ClusterError):
            await proofs.prove(bench.feed)
        assert not proofs.is_fresh(bench.feed)


async def test_a_proof_holds_for_five_seconds_from_its_beginning(client: Client, bench: Bench) -> None:
    clock = Clock()
    async with running(bench):
        proofs = Freshness(client, lambda: [bench.feed], clock=clock)
        await proofs.prove(bench.feed)
        clock.now += 5
        assert proofs.is_fresh(bench.feed)
        clock.now += 0.1
        assert not proofs.is_fresh(bench.feed)


async def test_a_server_that_does_not_answer_proves_nothing(client: Client, bench: Bench) -> None:
    async with running(bench):
        proofs = Freshness(client, lambda: [bench.feed], pace=ProofPace(bound=0.05))
        bench.server.next_list(Script().hang())
        with pytest.raises((TimeoutError, ClusterError)):
            await proofs.prove(bench.feed)
        assert not proofs.is_fresh(bench.feed)


async def test_it_goes_on_when_the_server_does_not(server: ScriptedServer, client: Client, bench: Bench) -> None:
    async with running(bench):
        proofs = freshness(client, bench)
        server.next_list(Script().refuse(403, "Forbidden"), Script().answer(b"not json"))
        task = asyncio.create_task(proofs.run())
        try:
            await until(lambda: proofs.is_fresh(bench.feed), "a proof")
        finally:
            task.cancel()
            await asyncio.wait([task])
