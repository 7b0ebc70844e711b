"""What every test of the feed needs: a record, a sink, a client with short delays, and waiting with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import kopf
import msgspec
from tests.feed.scripted_server import PATH, ScriptedServer

from moorage.cluster.backoff import Backoff
from moorage.cluster.client import Client
from moorage.cluster.feed import Feed, Pace

QUICK = Backoff(first_seconds=0.01, ceiling_seconds=0.05)
CALM = Pace(page_size=3, silence=5.0, initial_silence=5.0, verify=0)
"""Small pages, no proof unless asked for, and no silence that a slow machine could take for one."""


class Held(msgspec.Struct, frozen=True):
    """A record: what a pod asks for."""

    uid: str
    resource_version: int
    name: str
    cpu: str


class _Resources(msgspec.Struct):
    requests: dict[str, str] = {}


class _Container(msgspec.Struct):
    resources: _Resources


class _Spec(msgspec.Struct):
    containers: list[_Container]


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


_decode_pod = msgspec.json.Decoder(_Pod).decode


def decode(encoded: bytes) -> Held:
    body = _decode_pod(encoded)
    version = int(body.metadata.resource_version) if body.metadata.resource_version.isdigit() else 0
    cpu = body.spec.containers[0].resources.requests["cpu"]
    if not cpu[:1].isdigit():
        raise ValueError(f"{cpu!r} is not a quantity")
    return Held(body.metadata.uid, version, body.metadata.name, cpu)


@dataclass
class Store:
    """A sink that remembers what was done to it."""

    records: dict[str, Held] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    trap: Callable[[Held], None] | None = None
    """Called before a put, to raise."""
    on_replace: Callable[[], None] = lambda: None

    def replace(self, records: Mapping[str, Held]) -> None:
        self.calls.append(f"replace {len(records)}")
        self.records = dict(records)
        self.on_replace()

    def put(self, record: Held) -> None:
        if self.trap is not None:
            self.trap(record)
        self.calls.append(f"put {record.uid}")
        self.records[record.uid] = record

    def delete(self, record: Held) -> None:
        self.calls.append(f"delete {record.uid}")
        del self.records[record.uid]

    def get(self, uid: str) -> Held | None:
        return self.records.get(uid)

    def snapshot(self) -> Mapping[str, Held]:
        return self.records

    @property
    def names(self) -> list[str]:
        return sorted(record.name for record in self.records.values())


@dataclass
class FixedCredentials:
    """Credentials of the scripted server."""

    server: ScriptedServer
    token: str | None = None
    reads: int = 0

    async def connection(self) -> kopf.ConnectionInfo:
        self.reads += 1
        return kopf.ConnectionInfo(server=self.server.url, token=self.token)


@dataclass
class Bench:
    """A server, a client of it, a feed and its sink."""

    server: ScriptedServer
    client: Client
    store: Store
    feed: Feed[Held]

    def matches(self) -> bool:
        """Tell whether the sink holds exactly what the server has."""
        return self.store.records == {
            uid: decode(msgspec.json.encode(body)) for uid, body in self.server.objects.items()
        }

    async def in_sync(self) -> None:
        await until(lambda: self.feed.synced and self.matches(), "the sink equals the server")


def a_bench(server: ScriptedServer, client: Client, *, pace: Pace = CALM, **options: Any) -> Bench:
    store = Store()
    return Bench(server, client, store, Feed(client, PATH, decode, store, pace=pace, **options))


@asynccontextmanager
async def running(bench: Bench, *, synced: bool = True) -> AsyncIterator[Bench]:
    """Run a bench's feed for the length of a block, by default from its first complete list on."""
    task = asyncio.create_task(bench.feed.run())
    try:
        if synced:
            await bench.in_sync()
        yield bench
        assert not task.done(), "the feed ended by itself"
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


async def until(condition: Callable[[], bool], what: str, *, seconds: float = 5.0) -> None:
    """Wait for a condition, at most so long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.002)
