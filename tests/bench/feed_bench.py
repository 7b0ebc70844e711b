"""How fast pods come in and what they cost: `python -m tests.bench.feed_bench [pods]`.

Rates are per second of this process's CPU time, so that another process on the same cores does not change them; the
wall clock is printed beside where a server takes part.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import kopf
import msgspec
from tests.bench.pod_server import LISTED, pod_server
from tests.bench.synthetic_pods import NAMESPACES, event, pages

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.intake import Counters, Intake
from moorage.cluster.wire import decode_page
from moorage.handlers.counting import LedgerSink, decoder
from moorage.quantity import NANO
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.usage import ObjectUse, Shapes

PODS = 100_000
EVENTS = 50_000
PAGE = 250
RESOURCE = Resource("", "v1", "pods", "Pod")
SECRETS = 20_000
SECRET_BYTES = 10_000
KINDS = frozenset({"secrets", *(f"count/kind{number}.example.com" for number in range(39))})
NAMES = frozenset({"requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "pods"})


@dataclass
class Spent:
    """What a block took: seconds of our CPU and of the wall clock, and how far memory grew."""

    cpu: float = 0.0
    wall: float = 0.0
    grown_bytes: int = 0


@contextmanager
def spending() -> Iterator[Spent]:
    """Measure a block."""
    gc.collect()
    spent = Spent()
    memory, wall, cpu = resident_bytes(), time.perf_counter(), time.process_time()
    yield spent
    spent.cpu, spent.wall = time.process_time() - cpu, time.perf_counter() - wall
    gc.collect()
    spent.grown_bytes = resident_bytes() - memory


def resident_bytes() -> int:
    """Return the resident set of this process."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096


class Intaken:
    """A ledger with a quota in each namespace, and what leads to it."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        for number in range(NAMESPACES):
            self.ledger.set_quota(f"team-{number:03d}", "quota", Terms(NAMES))
        self.decode = decoder(RESOURCE, Shapes(), {})
        self.sink = LedgerSink(self.ledger, RESOURCE.label, namespace=None, changed=lambda: None)
        self.intake: Intake[ObjectUse] = Intake(self.decode, self.sink, Counters(), name="pods")

    def list(self, encoded_pages: Iterable[bytes]) -> None:
        """Take a list in, page by page."""
        self.intake.begin()
        for page in encoded_pages:
            for item in decode_page(page).items or ():
                self.intake.add(item)
        self.intake.finish(str(LISTED))


def decoded_per_second(pods: int) -> tuple[float, int]:
    """Return how many pods become records per CPU second, and their mean size in bytes."""
    sample = list(pages(pods, size=PAGE, version=LISTED))
    decode = decoder(RESOURCE, Shapes(), {})
    with spending() as spent:
        for page in sample:
            for item in decode_page(page).items or ():
                decode(bytes(item))
    return pods / spent.cpu, sum(map(len, sample)) // pods


def events_per_second(pods: int, events: int) -> float:
    """Return how many watch lines go into a ledger of so many pods per CPU second."""
    intaken = Intaken()
    intaken.list(pages(pods, size=PAGE, version=LISTED))
    lines = [event("MODIFIED" if n % 5 else "DELETED", n % pods, LISTED + 1 + n) for n in range(events)]
    with spending() as spent:
        for line in lines:
            intaken.intake.apply(line)
    return events / spent.cpu


def memory_per_pod(pods: int) -> float:
    """Return by how many resident bytes a pod makes this process grow, all in."""
    kept = Intaken()
    kept.list(pages(PAGE, size=PAGE, version=LISTED))  # what is there once, whatever the number of pods
    with spending() as spent:
        kept.list(pages(pods, size=PAGE, version=LISTED))
    assert len(kept.ledger) == pods
    return spent.grown_bytes / pods


def memory_per_secret(secrets: int) -> float:
    """Return how many bytes a secret takes that a quota with 40 kinds counts; not resident ones, which pods left."""
    ledger, decode = Ledger(), decoder(Resource("", "v1", "secrets", "Secret"), Shapes(), {})
    ledger.set_quota("team-000", "quota", Terms(KINDS))
    tracemalloc.start()
    for number in range(secrets):
        ledger.put(decode(_secret(number)))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ledger.usage("team-000", "quota").used["secrets"] == secrets * NANO
    return taken / secrets


def _secret(number: int) -> bytes:
    """Return a whole secret; from the API server only its metadata is asked for."""
    meta = {
        "name": f"secret-{number:06d}",
        "namespace": "team-000",
        "uid": f"00000000-0000-0000-0000-{number:012d}",
        "resourceVersion": str(LISTED),
    }
    return msgspec.json.encode({"metadata": meta, "data": {"password": "x" * SECRET_BYTES}})


@dataclass(frozen=True)
class _Here:
    """Credentials for a server that asks for none."""

    url: str

    async def connection(self) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=self.url)


@dataclass(frozen=True)
class Followed:
    """A feed over HTTP: its list, the events after it, and the longest stall of the loop while listing (seconds)."""

    listed: Spent
    events: Spent
    stall: float


async def follow(pods: int, events: int) -> Followed:
    """List and then watch so many synthetic pods through the feed into a ledger."""
    intaken = Intaken()
    with pod_server(pods=pods, events=events) as url:
        async with Client(_Here(url)) as client:
            feed = Feed(client, "/api/v1/pods", intaken.decode, intaken.sink, pace=Pace(verify=0))
            stalls = Stalls()
            tasks = [asyncio.create_task(stalls.measure()), asyncio.create_task(feed.run())]
            with spending() as listed:
                await feed.wait_synced()
            stall = stalls.longest  # before the collector walks over everything, for the memory figure
            with spending() as watched:
                while feed.counters.events < pods + events:  # noqa: ASYNC110 - a feed tells nobody how far it is
                    await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
    return Followed(listed, watched, stall)


class Stalls:
    """How long the event loop did not get round to others."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def measure(self) -> None:
        """Measure until cancelled."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            self.longest = max(self.longest, time.perf_counter() - began - 0.005)


def main(pods: int = PODS) -> None:
    """Print the figures."""
    memory = memory_per_pod(pods)  # first, while the process is small
    secret = memory_per_secret(SECRETS)
    decoded, size = decoded_per_second(min(pods, 20_000))
    events = events_per_second(min(pods, 20_000), min(pods, 20_000))
    followed = asyncio.run(follow(pods, EVENTS))
    print(f"{pods:,} synthetic pods of {size:,} bytes in {NAMESPACES} namespaces with a quota each")
    print(f"  decoded into records        {decoded:>9,.0f} pods/s of CPU")
    print(f"  watch lines into the ledger {events:>9,.0f} events/s of CPU")
    print(f"  memory                      {memory:>9,.0f} bytes per pod")
    what = f"{SECRETS:,} secrets of {SECRET_BYTES // 1000} kB"
    print(f"  {what:<27} {secret:>9,.0f} bytes each, in a quota of {len(KINDS)} kinds")
    for what, count, spent in (("list", pods, followed.listed), ("events", EVENTS, followed.events)):
        rate, clock = count / spent.cpu, count / spent.wall
        print(f"  {what + ' over HTTP':<27} {rate:>9,.0f} per s of CPU, {clock:,.0f} per s of the clock")
    print(f"  longest stall while listing {1000 * followed.stall:>9,.0f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PODS)
