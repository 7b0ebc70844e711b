"""Serves synthetic pods from a process of its own, as fast as they are read: a streamed list, then events."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from aiohttp import web
from tests.bench import synthetic_pods

LISTED = 1_000_000
"""The version of the list; events have the versions after it."""

_BATCH = 50
"""Lines per write."""


@contextmanager
def pod_server(*, pods: int, events: int) -> Iterator[str]:
    """Serve in another process; yields the server's address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, pods, events), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, pods: int, events: int) -> None:
    asyncio.run(_serve_forever(pipe, pods, events))


async def _serve_forever(pipe: Connection, pods: int, events: int) -> None:
    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for first in range(0, pods, _BATCH):
            lines = [synthetic_pods.event("ADDED", n, LISTED) for n in range(first, min(first + _BATCH, pods))]
            await response.write(b"\n".join(lines) + b"\n")
        await response.write(synthetic_pods.initial_end(LISTED) + b"\n")
        for first in range(0, events, _BATCH):
            lines = [synthetic_pods.event("MODIFIED", n % pods, LISTED + 1 + n) for n in range(first, first + _BATCH)]
            await response.write(b"\n".join(lines) + b"\n")
        await asyncio.Event().wait()
        return response

    app = web.Application()
    app.router.add_get("/api/v1/pods", watch)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pipe.send(runner.addresses[0][1])
    await asyncio.Event().wait()
