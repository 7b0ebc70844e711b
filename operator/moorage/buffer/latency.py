"""How long pods wait for capacity, from pods that waited and from those that still do.

A pod that still waits is not left out: it will have waited longer than it has (right-censored), and a quantile without
it would be too short. Kaplan and Meier's estimator takes both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from moorage.buffer.measured import Quantiles

AT_ONCE_SECONDS = 2
"""Pods that are scheduled so soon found room; timestamps are whole seconds, so each may be off by one."""

_KEPT = 500
"""Waits that are kept of each class: the latest."""


class Start(StrEnum):
    """How a pod came to its place."""

    AT_ONCE = "at once"
    RESUME = "resume"
    """On a node that was resumed while it waited."""
    COLD = "cold"
    """On a node that was made while it waited."""
    OTHER = "other"
    """Something else made room, such as a preemption or pods that ended."""


def start_of(created: float, scheduled: float, *, node_created: float | None, resumed: float | None) -> Start:
    """Return how a pod came to its place; times in seconds, `resumed` is when its node was resumed last, if ever.

    A node that is about as old as the pod may have been made for it or just before; a resume tells which.
    """
    if scheduled - created <= AT_ONCE_SECONDS:
        return Start.AT_ONCE
    if resumed is not None and created - 1 <= resumed <= scheduled + 1 and (node_created or 0) < created:
        return Start.RESUME
    if node_created is not None and node_created >= created - 1:
        return Start.COLD
    return Start.OTHER


def quantile(done: Iterable[float], waiting: Iterable[float], level: float) -> float | None:
    """Return the wait that so large a part of pods does not exceed (Kaplan-Meier); None when too many still wait.

    `waiting` are the waits so far of pods that still wait.
    """
    events = sorted([(wait, False) for wait in done] + [(wait, True) for wait in waiting])
    left, surviving = len(events), 1.0
    for wait, still_waits in events:
        if not still_waits:
            surviving *= (left - 1) / left
            if surviving <= 1 - level + 1e-12:
                return wait
        left -= 1
    return None


def quantiles(done: Sequence[float], waiting: Sequence[float] = ()) -> Quantiles:
    """Return the usual quantiles."""
    return Quantiles(
        samples=len(done) + len(waiting),
        p50=quantile(done, waiting, 0.50),
        p90=quantile(done, waiting, 0.90),
        p95=quantile(done, waiting, 0.95),
        p99=quantile(done, waiting, 0.99),
        waiting=len(waiting),
    )


def _log() -> deque[int]:
    return deque(maxlen=_KEPT)


@dataclass(slots=True)
class Waits:
    """The latest waits, in seconds; bounded."""

    resume: deque[int] = field(default_factory=_log)
    cold: deque[int] = field(default_factory=_log)
    after: deque[int] = field(default_factory=_log)
    """From scheduled to ready."""

    def stored(self) -> dict[str, list[int]]:
        """Return them as JSON."""
        return {"resume": [*self.resume], "cold": [*self.cold], "after": [*self.after]}

    @classmethod
    def restored(cls, stored: dict[str, list[int]]) -> Waits:
        """Return what was stored."""
        return cls(*(deque(map(int, stored.get(name, ())), maxlen=_KEPT) for name in ("resume", "cold", "after")))
