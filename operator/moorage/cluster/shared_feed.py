"""One feed of a collection for all who look at objects of it, and for as long as somebody does.

Without it a feed would run for each of them: hundreds of connections to the API server, and each object read by each.
While all ask for the same objects, only these are asked for; else all of the collection, and each gets its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.records import Decode, R, Record, Sink
from moorage.density.selectors import holds, parse_selector


@dataclass(frozen=True, slots=True)
class Wanted(Generic[R]):
    """What one of them asks for: by selectors, and how to tell these objects from others."""

    chooses: Callable[[R], bool]
    label_selector: str = ""
    field_selector: str = ""


class Labelled(Record, Protocol):
    """A record that has the labels of its object."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels."""
        ...


L = TypeVar("L", bound=Labelled)


def with_labels(selector: str) -> Wanted[L]:
    """Ask for the objects that a label selector chooses, as it stands in a request.

    Raises ValueError for what is none.
    """
    terms = parse_selector(selector)
    return Wanted(lambda found: all(holds(each, found.labels) for each in terms), label_selector=selector)


class SharedFeed(Generic[R]):
    """The sink of the feed of one collection; it passes on to each who joined what that one wants."""

    def __init__(self, client: Client, path: str, decode: Decode[R], tasks: asyncio.TaskGroup) -> None:
        self.path = path
        self._client = client
        self._decode = decode
        self._tasks = tasks
        self._joined: dict[int, tuple[Sink[R], Wanted[R]]] = {}
        self._held: dict[str, R] = {}
        self._asked: tuple[str, str] | None = None
        self._feed: Feed[R] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def refusal(self) -> ApiError | None:
        """Why the server lets us read nothing at the moment."""
        return self._feed.refusal if self._feed is not None else None

    @property
    def is_idle(self) -> bool:
        """Whether nobody looks any more."""
        return not self._joined

    def join(self, sink: Sink[R], wanted: Wanted[R]) -> None:
        """Keep a sink current from now on."""
        self._joined[id(sink)] = sink, wanted
        self._arrange()
        if self._feed is not None and self._feed.synced:
            self._fill(sink, wanted)

    def leave(self, sink: Sink[R]) -> None:
        """Leave a sink as it is."""
        self._joined.pop(id(sink), None)
        self._arrange()

    def _arrange(self) -> None:
        """Ask for as much as somebody wants, in a feed of its own each time: a feed asks for the same all its life."""
        asked = {(each.label_selector, each.field_selector) for _, each in self._joined.values()}
        now = next(iter(asked)) if len(asked) == 1 else ("", "") if asked else None
        if now == self._asked:
            return
        if self._task is not None:
            self._task.cancel()
        self._asked, self._feed, self._task = now, None, None
        if now is None:
            self._held = {}
            return
        labels, fields = now
        self._feed = Feed(
            self._client,
            self.path,
            self._decode,
            self,
            label_selector=labels,
            field_selector=fields,
            pace=Pace(verify=0),
        )
        self._task = self._tasks.create_task(self._feed.run(), name=f"shared feed {self.path}")

    def _fill(self, sink: Sink[R], wanted: Wanted[R]) -> None:
        sink.replace({uid: record for uid, record in self._held.items() if wanted.chooses(record)})

    # The sink of the feed

    def replace(self, records: Mapping[str, R]) -> None:
        """Hold exactly these objects."""
        self._held = dict(records)
        for sink, wanted in list(self._joined.values()):
            self._fill(sink, wanted)

    def put(self, record: R) -> None:
        """Hold a new or changed object; it may be chosen by others now."""
        self._held[record.uid] = record
        for sink, wanted in list(self._joined.values()):
            if wanted.chooses(record):
                sink.put(record)
            elif (held := sink.get(record.uid)) is not None:
                sink.delete(held)

    def delete(self, record: R) -> None:
        """Drop an object."""
        self._held.pop(record.uid, None)
        for sink, _ in list(self._joined.values()):
            if (held := sink.get(record.uid)) is not None:
                sink.delete(held)

    def get(self, uid: str) -> R | None:
        """Return the record held for an object."""
        return self._held.get(uid)

    def snapshot(self) -> Mapping[str, R]:
        """Return the records held, by uid."""
        return self._held


class SharedFeeds(Generic[R]):
    """The shared feeds of all collections of which somebody wants objects, each a task of `tasks`."""

    def __init__(self, client: Client, decode: Decode[R], tasks: asyncio.TaskGroup) -> None:
        self._client = client
        self._decode = decode
        self._tasks = tasks
        self._feeds: dict[str, SharedFeed[R]] = {}

    def join(self, path: str, sink: Sink[R], wanted: Wanted[R]) -> SharedFeed[R]:
        """Keep a sink current from now on; return the feed that does."""
        feed = self._feeds.get(path)
        if feed is None:
            feed = self._feeds[path] = SharedFeed(self._client, path, self._decode, self._tasks)
        feed.join(sink, wanted)
        return feed

    def leave(self, path: str, sink: Sink[R]) -> None:
        """Leave a sink as it is, and end the feed that nobody needs any more."""
        if (feed := self._feeds.get(path)) is not None:
            feed.leave(sink)
            if feed.is_idle:
                del self._feeds[path]

    def __len__(self) -> int:
        return len(self._feeds)
