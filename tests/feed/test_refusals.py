"""What the server refuses, and for how long the feed waits before it asks again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.feed.harness import QUICK, Bench, FixedCredentials, a_bench, running, until
from tests.feed.scripted_server import Script, ScriptedServer, pod

from moorage.cluster.backoff import Backoff
from moorage.cluster.client import Client, Timeouts
from moorage.cluster.credentials import Credentials


async def test_an_error_event_other_than_410_resumes_without_a_new_list(bench: Bench) -> None:
    bench.server.next_watch(Script().initial().initial_end().error(500, "InternalError", "etcdserver: leader changed"))
    async with running(bench):
        bench.server.put(pod("web-6"))
        await bench.in_sync()
        assert bench.feed.counters.relists == 1


async def test_503_on_a_watch_is_waited_out(bench: Bench) -> None:
    bench.server.next_watch(Script().refuse(503, "ServiceUnavailable"), Script().answer(b"<html>", code=502))
    async with running(bench):
        assert len(bench.server.requests("watch")) == 3


async def test_a_forbidden_feed_says_so_and_goes_on_asking(bench: Bench) -> None:
    refusal = Script().refuse(403, "Forbidden", 'pods is forbidden: User "x" cannot watch resource "pods"')
    bench.server.next_watch(*[refusal] * 3)
    async with running(bench, synced=False):
        await until(lambda: bench.feed.state.startswith("refused: pods is forbidden"), "the state says so")
        states = set()
        while not bench.feed.synced:
            states.add(bench.feed.state.partition(":")[0])
            await asyncio.sleep(0)
        assert states <= {"refused", "listing"}, "it does not flicker while it asks again"
        await bench.in_sync()
        assert bench.feed.state == "watching"


async def test_429_waits_at_least_as_long_as_the_server_asks(
    server: ScriptedServer, credentials: FixedCredentials
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    backoff = Backoff(first_seconds=0.01, random=lambda: 0.0, sleep=sleep)
    async with Client(credentials, backoff=backoff) as client:
        bench = a_bench(server, client)
        server.next_watch(Script().refuse(429, "TooManyRequests", headers={"Retry-After": "7"}))
        async with running(bench):
            assert slept == [7.0]


async def test_a_rotated_token_is_read_from_its_file_after_a_401(server: ScriptedServer, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    token = tmp_path / "token"
    token.write_text("old")
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\n")
    server.token = "old"
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}

    class PlainHttp:
        """The scripted server has no certificate; all else is as in a pod."""

        chosen = Credentials.load(service_account=tmp_path, environ=environ)

        async def connection(self) -> object:
            import dataclasses  # noqa: PLC0415

            return dataclasses.replace(await self.chosen.connection(), server=server.url)

    async with Client(PlainHttp(), backoff=QUICK, timeouts=Timeouts(watch_credentials_age=3600)) as client:  # type: ignore[arg-type]
        bench = a_bench(server, client)
        server.next_watch(Script().initial().initial_end())
        async with running(bench):
            token.write_text("new\n")
            server.token = "new"
            server.put(pod("web-6"))
            server.cut_watches()
            await bench.in_sync()
            tokens = [request.headers["Authorization"] for request in server.requests("watch")]
            assert tokens[-2:] == ["Bearer old", "Bearer new"]
            assert bench.feed.counters.relists == 1
