"""Whatever happens in whatever order, the sink ends up equal to the server's objects."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.feed.harness import Store, decode
from tests.feed.scripted_server import ScriptedServer, bookmark, pod

from moorage.cluster.errors import ApiError
from moorage.cluster.intake import Counters, Intake

UIDS = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), UIDS, st.integers(1, 9)),
        st.tuples(st.just("delete"), UIDS),
        st.tuples(st.just("vanish"), UIDS),
        st.tuples(st.just("repeat"), st.integers(1, 5)),
        st.tuples(st.just("bookmark")),
        st.tuples(st.just("break the list off"), st.integers(0, 3)),
        st.tuples(st.just("relist")),
    ),
    max_size=40,
)


class World:
    """A server, and an intake that is told of it the way a feed tells it: every event, in order, perhaps again."""

    def __init__(self) -> None:
        self.server = ScriptedServer()
        self.store = Store()
        self.counters = Counters()
        self.intake = Intake(decode, self.store, self.counters, name="pods")
        self.told = 0
        self.relist()

    def relist(self, count: int | None = None) -> None:
        """List all objects, or break off after so many."""
        self.intake.begin()
        for body in list(self.server.objects.values())[:count]:
            self.intake.add(msgspec.Raw(json.dumps(body).encode()))
        if count is None:
            self.intake.finish(str(self.server.revision))
            self.told = len(self.server.history)

    def tell(self) -> None:
        for _, line in self.server.history[self.told :]:
            self.intake.apply(line)
        self.told = len(self.server.history)

    def step(self, kind: str, *args: Any) -> None:
        server = self.server
        match kind, args:
            case "put", (uid, cpu):
                server.put(pod(uid, cpu=str(cpu)))
            case "delete", (uid,) if uid in server.objects:
                server.delete(uid)
            case "vanish", (uid,) if uid in server.objects:
                server.vanish(uid)
                self.relist()
            case "repeat", (count,):
                self.tell()
                for _, line in server.history[-count:]:
                    self.intake.apply(line)
            case "bookmark", ():
                self.tell()
                self.intake.apply(bookmark(server.revision))
            case "break the list off", (count,):
                self.relist(count)
            case "relist", ():
                self.relist()


@given(STEPS)
def test_the_sink_ends_equal_to_the_server(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for step in steps:
        world.step(*step)
    world.tell()
    assert world.store.records == {uid: decode(json.dumps(body).encode()) for uid, body in world.server.objects.items()}
    assert int(world.intake.resource_version) <= world.server.revision


@given(STEPS, st.randoms())
def test_a_shuffled_repetition_of_all_that_was_told_changes_nothing(steps: list[tuple[Any, ...]], random: Any) -> None:
    world = World()
    for step in steps:
        world.step(*step)
    world.tell()
    before = dict(world.store.records)
    repeated = [line for _, line in world.server.history]
    random.shuffle(repeated)
    for line in repeated:
        world.intake.apply(line)
    assert world.store.records == before


def test_a_bookmark_below_what_was_seen_says_that_history_went_back() -> None:
    world = World()
    world.server.put(pod("a"))
    world.tell()
    with pytest.raises(ApiError) as caught:
        world.intake.apply(bookmark(1))
    assert caught.value.gone
