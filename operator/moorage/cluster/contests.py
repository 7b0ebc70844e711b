"""Objects that somebody else keeps changing after us: how soon each is put back again, and when to say so.

Two controllers that undo each other's work would write without end. Each object that had to be put back is put back
more and more slowly, by the one retry policy; what is left alone for a while is forgotten.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from moorage.cluster.backoff import Backoff

K = TypeVar("K", bound=Hashable)

CEILING_SECONDS = 5.0
"""The slowest pace. Not that of retries: what limits a team shall not be open for half a minute at a time."""
QUIET_SECONDS = 60.0
"""An object that nobody has changed for so long is at peace."""
TELLING = 3
"""So many times in a row are no accident."""


@dataclass(slots=True)
class _Contest:
    times: int
    last: float
    not_before: float


class Contests(Generic[K]):
    """Counts how often each object was put back. `now` is monotonic, in seconds."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = replace(backoff, ceiling_seconds=min(backoff.ceiling_seconds, CEILING_SECONDS))
        self._contests: dict[K, _Contest] = {}

    def pause(self, key: K, now: float) -> float:
        """Return for how many seconds an object that somebody changed is to be left as it is; 0: put it back."""
        found = self._current(key, now)
        return max(found.not_before - now, 0.0) if found is not None else 0.0

    def put_back(self, key: K, now: float) -> int:
        """Note that an object is put back; return how many times in a row that makes."""
        found = self._current(key, now)
        times = found.times + 1 if found is not None else 1
        self._contests[key] = _Contest(times, now, now + self._backoff.delay_seconds(times))
        return times

    def is_contested(self, key: K, now: float) -> bool:
        """Whether somebody keeps changing an object."""
        found = self._current(key, now)
        return found is not None and found.times >= TELLING

    def peace_in(self, key: K, now: float) -> float | None:
        """Return in how many seconds an object is at peace if nobody changes it any more; None: it is."""
        found = self._current(key, now)
        return found.last + QUIET_SECONDS - now if found is not None else None

    def forget(self, key: K) -> None:
        """Forget an object that is gone, or not wanted any more."""
        self._contests.pop(key, None)

    def _current(self, key: K, now: float) -> _Contest | None:
        found = self._contests.get(key)
        if found is not None and now >= found.last + QUIET_SECONDS:
            del self._contests[key]
            return None
        return found


def contested(what: str, namespace: str, *, group: str = "") -> str:
    """Say that somebody keeps changing an object, and how to find out who; `group` is its API group.

    With a group kubectl finds the right kind: two of them may be called CapacityBuffer.
    """
    kind, _, name = what.partition(" ")
    resource = f"{kind.lower()}.{group}" if group else kind.lower()
    command = f"kubectl get {resource} {name} -n {namespace} -o yaml --show-managed-fields"
    pace = f"every {CEILING_SECONDS / 2:g} to {CEILING_SECONDS:g} s"
    return f"somebody keeps changing {what}, which is put back {pace} only; {command} tells who"
