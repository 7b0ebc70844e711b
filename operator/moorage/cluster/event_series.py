"""Which Kubernetes events are to be written: one for each thing that happens, however often it does.

No I/O and no clock. What happens again becomes a series of the first event, as client libraries do it, with a count
that is written from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FIRST_REWRITE_SECONDS = 2.0
"""How soon the count of a series is written for the first time."""

REWRITE_SECONDS = 30.0
"""How often it is written after that, at most."""

QUIET_SECONDS = 360.0
"""After so long without happening again a series is over: what comes then is a new event."""

MOST_SERIES = 2000
"""How many are followed at once; what comes beyond them is dropped."""


@dataclass(frozen=True, slots=True)
class Regarding:
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something to tell; what has the same object, reason and `alike` is the same thing happening again."""

    regarding: Regarding
    reason: str
    """A word in CamelCase that programs can compare."""
    action: str
    """What was being done, as such a word."""
    note: str
    """A sentence for people; the first one of a series is the one that is seen."""
    alike: str = ""
    warning: bool = True


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Write an event."""

    name: str
    happening: Happening
    at: float
    """When, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class SeriesUpdate:
    """Write how often the thing of an event has happened by now, the first time included."""

    namespace: str
    name: str
    count: int
    last: float
    """When it happened last, in seconds since the epoch."""


Write = NewEvent | SeriesUpdate
_Key = tuple[Regarding, str, str]


@dataclass(slots=True)
class _Series:
    name: str
    first: Happening
    began: float
    last: float
    count: int = 1
    written: int = 0
    """The count that was written last; 0 before the event is."""
    written_at: float = 0.0

    @property
    def pause(self) -> float:
        """How long after the last write the next one may come."""
        return FIRST_REWRITE_SECONDS if self.written == 1 else REWRITE_SECONDS


class EventSeries:
    """Takes in what happens and says what to write."""

    def __init__(self) -> None:
        self.dropped = 0
        """How much happened that is not told, since too much else did."""
        self._series: dict[_Key, _Series] = {}

    def add(self, happening: Happening, now: float) -> None:
        """Take in what happens at `now` (seconds since the epoch)."""
        key = (happening.regarding, happening.reason, happening.alike)
        known = self._series.get(key)
        if known is not None and now - known.last < QUIET_SECONDS:
            known.count, known.last = known.count + 1, now
        elif known is None and len(self._series) >= MOST_SERIES:
            self.dropped += 1
        else:
            name = f"{happening.regarding.name[:200]}.{round(now * 1e9):x}"
            self._series[key] = _Series(name, happening, began=now, last=now)

    def due(self, now: float) -> Iterator[Write]:
        """Yield what is to be written now, each as written; forget what is over."""
        for key, each in list(self._series.items()):
            is_over = now - each.last >= QUIET_SECONDS
            if each.written == 0:
                each.written, each.written_at = 1, now
                yield NewEvent(each.name, each.first, each.began)
            elif each.count > each.written and (is_over or now - each.written_at >= each.pause):
                each.written, each.written_at = each.count, now
                yield SeriesUpdate(each.first.regarding.namespace, each.name, each.count, each.last)
            if is_over:
                del self._series[key]

    def forget(self, name: str) -> None:
        """Begin anew with what an event of this name told, since it could not be written or is gone."""
        self._series = {key: each for key, each in self._series.items() if each.name != name}

    def __len__(self) -> int:
        return len(self._series)
