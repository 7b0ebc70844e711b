"""What the test autoscaler does next: a pure rule from what there is to what should happen.

It follows GKE's autoscaler: pods find room on nodes that were consumed, then on chilling ones, then on suspended ones,
and only then on new nodes. Units of the active tier are treated like pods that wait. Standby units have nodes of their
own, made anew, never taken from nodes that were in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.standby.nodes import Room, State


@dataclass
class Place:
    """A node, or one that is on its way, while a plan is made."""

    name: str
    state: State
    free: Room
    buffer: str = ""
    """The buffer that a standby node is kept for."""
    used: bool = False
    """Whether a pod runs on it that is no daemon."""
    arriving: bool = False
    """Whether it is being made."""
    resuming: bool = False


@dataclass(frozen=True)
class Buffer:
    """Units that are asked for."""

    name: str
    unit: Room
    units: int
    standby: bool


@dataclass
class Steps:
    """What should happen; nodes by name."""

    consume: list[str] = field(default_factory=list)
    """Chilling nodes that are in use now."""
    resume: list[str] = field(default_factory=list)
    make: int = 0
    """New nodes that run."""
    make_standby: dict[str, int] = field(default_factory=dict)
    """New standby nodes, by buffer."""
    not_needed: list[str] = field(default_factory=list)
    """Running nodes that hold neither pods nor active units, and that no pod waits for."""
    remove: list[str] = field(default_factory=list)
    """Standby nodes that no buffer asks for."""


class Plan:
    """One pass of the autoscaler."""

    def __init__(self, places: Iterable[Place], size: Room) -> None:
        self._places = list(places)
        self._size = size
        self.steps = Steps()

    def make(self, pending: Sequence[Room], buffers: Iterable[Buffer]) -> Steps:
        """Return what to do for pods that wait and for units."""
        buffers = list(buffers)
        for place in self._places:
            if place.state is State.CHILLING and place.used:
                self._consume(place)
        held = {self._put(pod) for pod in pending}
        for buffer in buffers:
            if not buffer.standby:
                held |= {self._put(buffer.unit) for _ in range(buffer.units)}
        self._stand_by([each for each in buffers if each.standby])
        self.steps.not_needed = [
            each.name
            for each in self._places
            if each.state is State.RUNNING and not each.used and not each.arriving and each.name not in held
        ]
        return self.steps

    def _put(self, wanted: Room) -> str:
        """Find room for a pod or an active unit: running, chilling, suspended, new; return the node."""
        for state in State:
            for place in self._places:
                if place.state is state and place.free.holds(wanted):
                    place.free -= wanted
                    if state is State.CHILLING:
                        self._consume(place)
                    elif state is State.SUSPENDED:
                        self._resume(place)
                    return place.name
        made = Place(f"new-{self.steps.make}", State.RUNNING, self._size - wanted, arriving=True)
        if not self._size.holds(wanted):
            return ""  # it never fits
        self.steps.make += 1
        self._places.append(made)
        return made.name

    def _consume(self, place: Place) -> None:
        if not place.arriving:
            self.steps.consume.append(place.name)
        place.state, place.buffer = State.RUNNING, ""

    def _resume(self, place: Place) -> None:
        self.steps.resume.append(place.name)
        place.state, place.buffer, place.resuming = State.RUNNING, "", True

    def _stand_by(self, buffers: Sequence[Buffer]) -> None:
        """Count each buffer's standby nodes; make those that are missing and remove those that are too many."""
        for place in self._places:
            if place.state is not State.RUNNING and place.buffer not in {each.name for each in buffers}:
                self.steps.remove.append(place.name)
        for buffer in buffers:
            missing = buffer.units
            for place in self._places:
                if place.state is State.RUNNING or place.buffer != buffer.name:
                    continue
                if missing <= 0 and not place.arriving:
                    self.steps.remove.append(place.name)
                missing -= _count(place.free, buffer.unit)
            per_node = _count(self._size, buffer.unit)
            if missing > 0 and per_node:
                self.steps.make_standby[buffer.name] = -(-missing // per_node)


def _count(room: Room, unit: Room) -> int:
    """Return how many units fit."""
    parts = [(room.cpu, unit.cpu), (room.memory, unit.memory), (room.pods, unit.pods)]
    return min(free // asked for free, asked in parts if asked)
