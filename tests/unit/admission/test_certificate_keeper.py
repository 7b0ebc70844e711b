"""The keeper: every loss heals at the next look, and replicas agree on one certificate that is always trusted."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from moorage.admission.certificates import LIFE, Certificate, flaw, issue
from moorage.admission.keeper import CertificateKeeper, Stored
from moorage.admission.tls import server_context
from moorage.cluster.errors import ApiError, ClusterError
from tests.unit.small_server import until

NAMES = ("moorage.moorage-system.svc",)
GARBAGE = Certificate(authorities=b"garbage", certificate=b"", key=b"\xff")


@dataclass
class Clock:
    now: datetime = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class MemoryStore:
    """A store in memory. Each call gives way to others first, so that replicas get in each other's way."""

    stored: Stored | None = None
    trusted: bytes = b""
    called_by: Collection[str] = NAMES
    fails: set[str] = field(default_factory=set)
    writes: int = 0

    async def names(self) -> Collection[str]:
        await self._call("names")
        return self.called_by

    async def read(self) -> Stored | None:
        await self._call("read")
        return self.stored

    async def write(self, certificate: Certificate, *, over: Stored | None) -> bool:
        await self._call("write")
        if self.stored != over:
            return False
        self.put(certificate)
        return True

    async def trust(self, authorities: bytes) -> None:
        await self._call("trust")
        self.trusted = authorities

    def put(self, certificate: Certificate) -> None:
        self.writes += 1
        self.stored = Stored(certificate, str(self.writes))

    async def _call(self, name: str) -> None:
        await asyncio.sleep(0)
        if name in self.fails:
            raise ApiError(403, "Forbidden", f"{name} is forbidden")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def keeper(store: MemoryStore, clock: Clock) -> CertificateKeeper:
    return CertificateKeeper(store, server_context(), now=clock, interval_seconds=0.001)


def is_well(keeper: CertificateKeeper, store: MemoryStore, clock: Clock) -> bool:
    """Whether callers trust what is served now."""
    assert keeper.served is not None
    seen = dataclasses.replace(keeper.served, authorities=store.trusted)
    return flaw(seen, store.called_by, clock()) == ""


async def test_the_first_look_makes_a_certificate(store: MemoryStore, clock: Clock) -> None:
    ours = keeper(store, clock)
    await ours.look()
    assert is_well(ours, store, clock)
    assert store.stored is not None
    assert store.stored.certificate == ours.served


async def test_nothing_is_written_while_all_is_well(store: MemoryStore, clock: Clock) -> None:
    ours = keeper(store, clock)
    for _ in range(3):
        await ours.look()
    assert store.writes == 1


async def test_a_restart_takes_what_is_there(store: MemoryStore, clock: Clock) -> None:
    await keeper(store, clock).look()
    again = keeper(store, clock)
    await again.look()
    assert store.writes == 1
    assert is_well(again, store, clock)


@pytest.mark.parametrize("after", [LIFE * 0.7, LIFE, LIFE * 10], ids=["soon to expire", "expired", "long expired"])
async def test_an_old_certificate_is_replaced_with_a_new_authority(
    store: MemoryStore, clock: Clock, after: timedelta
) -> None:
    ours = keeper(store, clock)
    await ours.look()
    before = ours.served
    clock.now += after
    await ours.look()
    assert ours.served != before
    assert is_well(ours, store, clock)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda store: setattr(store, "stored", None), id="the secret is deleted"),
        pytest.param(lambda store: store.put(GARBAGE), id="the secret holds garbage"),
        pytest.param(lambda store: setattr(store, "trusted", b""), id="the bundle is taken away"),
        pytest.param(lambda store: setattr(store, "trusted", b"garbage"), id="the bundle is garbage"),
        pytest.param(lambda store: setattr(store, "called_by", ("other.ns.svc",)), id="it gets another name"),
        pytest.param(
            lambda store: store.put(issue(NAMES, datetime(2020, 1, 1, tzinfo=UTC))), id="an expired one is put there"
        ),
    ],
)
async def test_what_is_lost_heals_at_the_next_look(store: MemoryStore, clock: Clock, damage: object) -> None:
    ours = keeper(store, clock)
    await ours.look()
    assert callable(damage)
    damage(store)
    await ours.look()
    assert is_well(ours, store, clock)


async def test_what_is_served_stays_trusted_while_another_replica_rotates(store: MemoryStore, clock: Clock) -> None:
    one, two = keeper(store, clock), keeper(store, clock)
    await one.look()
    await two.look()
    clock.now += LIFE * 0.7
    await one.look()
    assert one.served != two.served
    assert is_well(one, store, clock)
    assert is_well(two, store, clock)
    await two.look()
    assert one.served == two.served
    assert is_well(two, store, clock)


async def test_what_others_serve_stays_trusted_when_the_secret_is_deleted(store: MemoryStore, clock: Clock) -> None:
    one, two = keeper(store, clock), keeper(store, clock)
    await one.look()
    await two.look()
    store.stored = None
    await one.look()
    assert one.served != two.served
    assert is_well(two, store, clock)


@pytest.mark.parametrize("replicas", [2, 5])
async def test_replicas_that_race_agree(store: MemoryStore, clock: Clock, replicas: int) -> None:
    ours = [keeper(store, clock) for _ in range(replicas)]
    for after in (timedelta(0), LIFE * 0.7, LIFE * 2):
        clock.now += after
        await asyncio.gather(*(each.look() for each in ours))
        await asyncio.gather(*(each.look() for each in ours))
        assert len({each.served for each in ours}) == 1
        assert all(is_well(each, store, clock) for each in ours)
    assert store.writes == 3


async def test_one_who_is_never_first_gives_up_until_the_next_look(store: MemoryStore, clock: Clock) -> None:
    class Busy(MemoryStore):
        async def write(self, certificate: Certificate, *, over: Stored | None) -> bool:
            return False

    with pytest.raises(ClusterError, match="5 times in a row"):
        await keeper(Busy(), clock).look()


async def test_a_new_certificate_is_not_served_before_it_is_trusted(store: MemoryStore, clock: Clock) -> None:
    ours = keeper(store, clock)
    await ours.look()
    before = ours.served
    clock.now += LIFE * 0.7
    store.fails = {"trust"}
    with pytest.raises(ClusterError):
        await ours.look()
    assert ours.served == before
    store.fails = set()
    await ours.look()
    assert ours.served != before
    assert is_well(ours, store, clock)


async def test_trouble_is_told_and_ends(store: MemoryStore, clock: Clock) -> None:
    ours = keeper(store, clock)
    store.fails = {"read"}
    task = asyncio.create_task(ours.run())
    try:
        await until(lambda: "read is forbidden" in ours.problem, "word of it")
        store.fails = set()
        await until(lambda: ours.problem == "", "the end of it")
        assert is_well(ours, store, clock)
        store.fails = {"names"}
        await until(lambda: "names is forbidden" in ours.problem, "word of it")
        assert is_well(ours, store, clock)
    finally:
        task.cancel()
        await asyncio.wait([task])
