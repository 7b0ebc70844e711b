"""A size that grows at once and shrinks only when less has been wanted for a while.

As in a HorizontalPodAutoscaler, the size is the largest that was wanted at any time of a window that ends now. The
total and its active part are looked at each for itself, since each is the answer to a question of its own: how many
pods arrive while a new node comes, and how many while a node resumes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Units that should exist: all of them, and how many of these are active."""

    replicas: int
    active: int

    @property
    def standby(self) -> int:
        """The units that are not active."""
        return self.replicas - self.active

    def within(self, other: Target) -> bool:
        """Whether this asks for no more than another, in total and of active ones."""
        return self.replicas <= other.replicas and self.active <= other.active


NOTHING = Target(0, 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A size and when it was last wanted, in seconds."""

    target: Target
    at: float


@dataclass(frozen=True, slots=True)
class Stabilized:
    """The size for now, and what to remember."""

    target: Target
    history: tuple[Wanted, ...]
    """What was wanted, oldest first; to be given to the next call."""
    until: float | None
    """When the size may shrink if nothing else changes; None when it is what is wanted."""


def stabilize(history: tuple[Wanted, ...], wanted: Target, window_seconds: float, *, now: float) -> Stabilized:
    """Return the size for now, given what was wanted before.

    What the last call wanted was wanted until now. A window of 0 forgets everything.
    """
    past = [*history[:-1], *(Wanted(each.target, now) for each in history[-1:])]
    kept: list[Wanted] = []
    size = wanted
    for each in reversed(past):
        if each.at + window_seconds > now and not each.target.within(size):
            kept.append(each)
            size = Target(max(size.replicas, each.target.replicas), max(size.active, each.target.active))
    until = min((each.at + window_seconds for each in kept), default=None)
    return Stabilized(size, (*reversed(kept), Wanted(wanted, now)), until)
