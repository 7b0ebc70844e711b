"""Where the units of all buffers are now: one look at nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from moorage.backends.word import Word
from moorage.buffer.presence import Found, TierRecord, Units, begin, most_wanted, observe, refill, share
from moorage.density.eks.nodes import TYPE_LABEL, PlannedNodes
from moorage.density.groups import UNREAD, Outlook, Prospects, addressable, group_name
from moorage.density.nodes import Node, State
from moorage.density.occupancy import Load
from moorage.density.packing import Packing, Room
from moorage.density.units import PODS, Refusals, Unit
from moorage.status.presence import Sighting, TierSighting

BufferKey = tuple[str, str]
"""Namespace and name of a buffer."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What of a buffer is looked for."""

    unit: Unit
    active: int
    standby: int
    shape: tuple[object, ...] = ()
    """All that the shape of the unit is made of."""
    standby_of: str = ""
    """The upstream object, as `namespace/name`, for which standby nodes are kept."""
    placeholders: str = ""
    """The workload whose pods hold the places of units, such as `Deployment/web-placeholder`; empty when none does."""
    word: Word = Word.NOBODY
    """What the autoscaler says of nodes for its units."""
    planned: PlannedNodes | None = None
    """What the spec says of nodes that may not be there yet."""
    consumed: tuple[int, int] = field(default=(0, 0), compare=False)
    """What status says was consumed, active and standby: it holds after a restart."""


@dataclass(slots=True)
class _Memory:
    """What is remembered of a buffer between two looks."""

    unit: Unit
    refusals: Refusals
    prospects: Prospects
    planned: PlannedNodes | None = None
    active: TierRecord | None = None
    standby: TierRecord | None = None
    outlook: Outlook | None = None
    outlook_of: tuple[int, int] = (-1, -1)
    places: dict[State, Units] = field(default_factory=dict)


class Sight:
    """Looks for units and remembers what it saw, so that what is taken between two looks is known."""

    def __init__(self) -> None:
        self._memory: dict[BufferKey, _Memory] = {}
        self._by_state: dict[State, list[Node]] = {}
        self._nodes_version = -1
        self._planned: dict[str, PlannedNodes] = {}
        self._places: dict[str, Node] = {}
        """The nodes as places for units, which need an address each."""

    def look(
        self,
        wishes: Mapping[BufferKey, Wish],
        nodes: Mapping[str, Node],
        loads: Mapping[str, Load],
        *,
        places: Mapping[BufferKey, Mapping[str, int]],
        nodes_version: int,
        daemons_version: int,
    ) -> Iterator[tuple[BufferKey, Sighting]]:
        """Return what is there of one buffer after another; those that come first in `wishes` have the first choice.

        `places` are the placeholders of a buffer by node. The versions tell when nodes and their daemons changed.
        """
        planned = {wish.planned.instance_type: wish.planned for wish in wishes.values() if wish.planned is not None}
        if nodes_version != self._nodes_version or planned != self._planned:
            self._nodes_version, self._planned = nodes_version, planned
            self._sort(nodes)
        for key in self._memory.keys() - wishes.keys():
            del self._memory[key]
        room = Room(loads)
        for key, wish in wishes.items():
            memory = self._remembered(key, wish)
            if memory.outlook is None or memory.outlook_of != (nodes_version, daemons_version):
                memory.outlook_of = (nodes_version, daemons_version)
                memory.outlook = memory.prospects.outlook(nodes.values(), loads)
            if wish.placeholders:
                memory.places = {State.RUNNING: _usable(places.get(key, {}), nodes)}
            else:
                memory.places = self._find(wish, memory, room, self._places, loads)
            yield key, self._record(wish, memory, nodes, loads)

    def count(self, key: BufferKey, wish: Wish, places: Mapping[str, int], loads: Mapping[str, Load]) -> Sighting:
        """Return what is there of a buffer of placeholders when nothing is known of nodes: those that have one."""
        memory = self._remembered(key, wish)
        memory.places, memory.outlook = {State.RUNNING: dict(places)}, UNREAD
        nodes = {name: Node(name, State.RUNNING, {}, {}) for name in {*places, *_names(memory.active)}}
        return self._record(wish, memory, nodes, loads)

    def _sort(self, nodes: Mapping[str, Node]) -> None:
        self._places = {
            name: addressable(node, self._planned.get(node.labels.get(TYPE_LABEL, ""))) for name, node in nodes.items()
        }
        self._by_state = {state: [] for state in State}
        for name in sorted(nodes):
            self._by_state[nodes[name].state].append(self._places[name])
        for memory in self._memory.values():
            memory.refusals.keep(self._places)

    def _remembered(self, key: BufferKey, wish: Wish) -> _Memory:
        memory = self._memory.get(key)
        if memory is None:
            memory = self._memory[key] = _Memory(wish.unit, Refusals(wish.unit), Prospects(wish.unit, wish.planned))
            memory.planned = wish.planned
        elif memory.unit is not wish.unit:
            memory.unit, memory.outlook, memory.active, memory.standby = wish.unit, None, None, None
            memory.refusals, memory.prospects = Refusals(wish.unit), Prospects(wish.unit, wish.planned)
            memory.planned = wish.planned
        elif memory.planned != wish.planned:
            memory.planned, memory.outlook = wish.planned, None
            memory.prospects = Prospects(wish.unit, wish.planned)
        return memory

    def _find(
        self, wish: Wish, memory: _Memory, room: Room, nodes: Mapping[str, Node], loads: Mapping[str, Load]
    ) -> dict[State, Units]:
        packing = Packing(memory.refusals, room, nodes=nodes.values(), loads=loads)

        def place(state: State, wanted: int) -> Units:
            known = memory.places.get(state, {})
            return packing.place(wanted, _stayed(known, nodes, state, self._by_state.get(state, []), wish.standby_of))

        running = place(State.RUNNING, wish.active)
        found = sum(running.values())
        waiting = place(State.STANDBY, most_wanted(wish.active, wish.standby, running=found))
        left = min(most_wanted(wish.active, wish.standby, running=found, waiting=sum(waiting.values())), wish.standby)
        return {
            State.RUNNING: running,
            State.STANDBY: waiting,
            State.SUSPENDED: place(State.SUSPENDED, left),
        }

    def _record(self, wish: Wish, memory: _Memory, nodes: Mapping[str, Node], loads: Mapping[str, Load]) -> Sighting:
        places = memory.places
        found = Found(*(places.get(state, {}) for state in (State.RUNNING, State.STANDBY, State.SUSPENDED)))
        present = share(found, wish.active)
        arrivals = {
            name: loads[name].arrivals if name in loads else 0
            for name in _names(memory.active, memory.standby, present.active, present.standby)
            if name in nodes and nodes[name].state is not State.UNUSABLE
        }
        pods = bool(wish.placeholders)
        if memory.active is None or memory.standby is None:
            memory.active = begin(wish.active, present.active, arrivals, consumed=wish.consumed[0])
            memory.standby = begin(wish.standby, present.standby, arrivals, consumed=wish.consumed[1])
        else:
            memory.active = observe(memory.active, wish.active, present.active, arrivals, placeholders=pods)
            memory.standby = observe(memory.standby, wish.standby, present.standby, arrivals, placeholders=pods)
        assert memory.outlook is not None
        return Sighting(
            active=TierSighting(wish.active, memory.active.ready, memory.active.consumed),
            standby=TierSighting(wish.standby, memory.standby.ready, memory.standby.consumed),
            refill=refill(present, wish.active, wish.standby),
            outlook=memory.outlook,
            requests=tuple((name, amount) for name, amount in wish.unit.requests.items() if name != PODS),
            group=_main_group(places, nodes) if memory.outlook.feasible else "",
            word=wish.word,
            taken=memory.active.taken + memory.standby.taken,
            shape=wish.shape,
        )


def _stayed(
    known: Units, nodes: Mapping[str, Node], state: State, all_of_state: Iterable[Node], standby_of: str
) -> Iterable[Node]:
    """Return the nodes to try: first those that hold units already, so that units stay where they are."""
    for name in known:
        node = nodes.get(name)
        if node is not None and node.state is state and node.standby_of in ("", standby_of):
            yield node
    for node in all_of_state:
        if node.name not in known and node.standby_of in ("", standby_of):
            yield node


def _usable(places: Mapping[str, int], nodes: Mapping[str, Node]) -> Units:
    """Return the placeholders on nodes where pods could take their places."""
    usable = (State.RUNNING, State.STANDBY)
    return {name: count for name, count in places.items() if name in nodes and nodes[name].state in usable}


def _names(*units: TierRecord | Units | None) -> set[str]:
    names: set[str] = set()
    for each in units:
        if each is not None:
            names.update(each.arrivals if isinstance(each, TierRecord) else each)
    return names


def _main_group(places: Mapping[State, Units], nodes: Mapping[str, Node]) -> str:
    """Return the name of the group of nodes that holds most units."""
    counts: dict[str, int] = {}
    for units in places.values():
        for name, count in units.items():
            group = group_name(nodes[name])
            counts[group] = counts.get(group, 0) + count
    return max(counts, key=lambda group: (counts[group], group), default="")
