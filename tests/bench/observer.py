"""Watches the NamespaceQuotas from a process of its own and notes when each status came, so that nothing delays it."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
import msgspec

from moorage.cluster.credentials import Credentials
from moorage.quantity import NANO, parse_nano

PATH = "/apis/moorage.dev/v1alpha1/namespacequotas"
RESOURCE = "requests.memory"
LINE_BYTES = 2**20


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """A status: when it came by the machine's monotonic clock, and what it said was used, in bytes."""

    at: float
    namespace: str
    used: int


class _Meta(msgspec.Struct, frozen=True):
    namespace: str = ""


class _Status(msgspec.Struct, frozen=True):
    used: dict[str, str] = {}


class _Quota(msgspec.Struct, frozen=True):
    metadata: _Meta
    status: _Status = _Status()


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: _Quota


_decode = msgspec.json.Decoder(_Event).decode


@contextmanager
def observing(kubeconfig: Path) -> Iterator[Connection]:
    """Observe in the background; `recv` on the connection returns the next Seen."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(str(kubeconfig), theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()


def _run(kubeconfig: str, seen: Connection) -> None:
    asyncio.run(_observe(kubeconfig, seen))


async def _observe(kubeconfig: str, seen: Connection) -> None:
    access = await Credentials.load(kubeconfig).connection()
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(ssl=access.as_ssl_context())
    async with (
        aiohttp.ClientSession(access.server, connector=connector, timeout=timeout, read_bufsize=LINE_BYTES) as session,
        session.get(PATH, params={"watch": "1"}) as answer,
    ):
        async for line in answer.content:
            at = time.monotonic()
            event = _decode(line)
            if used := event.object.status.used.get(RESOURCE):
                seen.send(Seen(at, event.object.metadata.namespace, parse_nano(used) // NANO))
