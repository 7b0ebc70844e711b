from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.feed.harness import QUICK, Bench, FixedCredentials, a_bench
from tests.feed.scripted_server import ScriptedServer, pod

from moorage.cluster.client import Client, Timeouts


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """A server with five pods."""
    server = ScriptedServer()
    for number in range(1, 6):
        server.put(pod(f"web-{number}"))
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def credentials(server: ScriptedServer) -> FixedCredentials:
    return FixedCredentials(server)


@pytest.fixture
async def client(credentials: FixedCredentials) -> AsyncIterator[Client]:
    async with Client(credentials, backoff=QUICK, timeouts=Timeouts(watch_credentials_age=0.0)) as client:
        yield client


@pytest.fixture
def bench(server: ScriptedServer, client: Client) -> Bench:
    return a_bench(server, client)
