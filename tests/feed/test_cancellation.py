"""Cancelling a feed ends it at once, wherever it is, and leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest
from tests.feed.harness import a_bench, until
from tests.feed.scripted_server import Script, ScriptedServer

from moorage.cluster.client import Client
from moorage.cluster.errors import UnreachableError
from moorage.cluster.feed import Pace

FAULTS = {
    "while watching": (Script().initial().initial_end().live(), "watching"),
    "while listing": (Script().initial(2).hang(), "listing"),
    "while backing off": (Script().refuse(503, headers={"Retry-After": "3600"}), "backing off"),
    "while refused": (Script().refuse(403, headers={"Retry-After": "3600"}), "refused"),
}


@pytest.mark.parametrize("moment", FAULTS)
async def test_a_feed_ends_at_once(server: ScriptedServer, client: Client, moment: str) -> None:
    script, state = FAULTS[moment]
    bench = a_bench(server, client, pace=Pace(verify=0.01))
    before = asyncio.all_tasks()
    server.next_watch(script)
    task = asyncio.create_task(bench.feed.run())
    await until(lambda: bench.feed.state.startswith(state) and len(server.seen) > 0, state)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, timeout=1.0)
    await client.close()
    await server.stop()
    await until(lambda: asyncio.all_tasks() <= before, "no task is left")


async def test_what_still_runs_when_the_client_is_closed_opens_no_connection(client: Client) -> None:
    await client.get("/api")
    await client.close()
    with pytest.raises(UnreachableError, match="ending"):
        await client.get("/api")
    assert client._session is None
