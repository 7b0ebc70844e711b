"""How many units fit into the free room of nodes, where they go, and what keeps more from fitting.

It answers what the scheduler would do with so many pods now. Units of several buffers are packed one buffer after
another into the same room, so that no room is counted twice. Requests are what counts, as in the scheduler's fit
filter: an overcommitted resource that a unit does not request does not matter to it.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from moorage.density.nodes import Node
from moorage.density.occupancy import Load
from moorage.density.topology import Topology
from moorage.density.units import PODS, Refusals

_NO_LOAD = Load()


@dataclass(frozen=True, slots=True)
class Fit:
    """How many units a node has room for, and of what there is too little for one more."""

    units: int
    bound_by: str
    """A resource such as `cpu`, or `pods`."""


def fit(requests: Mapping[str, int], allocatable: Mapping[str, int], *taken: Mapping[str, int]) -> Fit:
    """Return how many times `requests` fit into what is allocatable less everything taken; all in nano-units.

    Of several resources that are equally scarce, the first of `requests` is named.
    """
    most, bound_by = -1, PODS
    for name, amount in requests.items():
        free = allocatable.get(name, 0)
        for each in taken:
            free -= each.get(name, 0)
        units = free // amount if free > 0 else 0
        if most < 0 or units < most:
            most, bound_by = units, name
            if units == 0:
                break
    return Fit(max(most, 0), bound_by)


class Room:
    """The free room of nodes; it shrinks as units are placed."""

    def __init__(self, loads: Mapping[str, Load]) -> None:
        self._loads = loads
        self._placed: dict[str, dict[str, int]] = {}

    def fit(self, requests: Mapping[str, int], node: Node) -> Fit:
        """Return how many units fit on a node now."""
        used = self._loads.get(node.name, _NO_LOAD).used
        placed = self._placed.get(node.name)
        return (
            fit(requests, node.allocatable, used) if placed is None else fit(requests, node.allocatable, used, placed)
        )

    def take(self, requests: Mapping[str, int], node: Node, units: int) -> None:
        """Take the room of so many units away from a node."""
        placed = self._placed.setdefault(node.name, {})
        for name, amount in requests.items():
            placed[name] = placed.get(name, 0) + units * amount


class Packing:
    """Places units of one shape, possibly on several groups of nodes one after another.

    `nodes` are all nodes of the cluster: those that take no pods now matter to the rules of spread.
    """

    def __init__(self, refusals: Refusals, room: Room, *, nodes: Iterable[Node], loads: Mapping[str, Load]) -> None:
        unit = refusals.unit
        self._refusals = refusals
        self._requests = unit.requests
        self._room = room
        self._topology = Topology(unit, nodes, loads) if unit.minds_other_pods else None

    def place(self, wanted: int, among: Iterable[Node]) -> dict[str, int]:
        """Place up to `wanted` units on these nodes, in their order unless the spread asks for another.

        Returns how many went to each node; nodes without any are left out.
        """
        if self._topology is not None:
            return self._place_one_by_one(wanted, self._topology, among)
        placed: dict[str, int] = {}
        for node in among:
            if wanted <= 0:
                break
            if self._refusals.of(node) is not None:
                continue
            units = min(self._room.fit(self._requests, node).units, wanted)
            if units:
                self._room.take(self._requests, node, units)
                placed[node.name] = units
                wanted -= units
        return placed

    def _place_one_by_one(self, wanted: int, topology: Topology, among: Iterable[Node]) -> dict[str, int]:
        """Place each unit where there are fewest of its peers, which leaves most places to those that follow."""
        placed: dict[str, int] = {}
        domains: dict[tuple[str | None, ...], deque[Node]] = {}
        for node in self._open(topology, among):
            domains.setdefault(topology.domain(node), deque()).append(node)
        waiting = [(topology.crowd(nodes[0]), place, nodes) for place, nodes in enumerate(domains.values())]
        heapq.heapify(waiting)
        refused: list[tuple[int, int, deque[Node]]] = []
        while waiting and wanted > 0:
            crowd, place, nodes = heapq.heappop(waiting)
            node = nodes[0]
            if (now := topology.crowd(node)) != crowd:
                heapq.heappush(waiting, (now, place, nodes))
            elif topology.obstacle(node) is not None:
                refused.append((crowd, place, nodes))
            else:
                self._room.take(self._requests, node, 1)
                placed[node.name] = placed.get(node.name, 0) + 1
                wanted -= 1
                opened = topology.place(node)
                if not self._room.fit(self._requests, node).units:
                    nodes.popleft()
                if nodes:
                    heapq.heappush(waiting, (topology.crowd(nodes[0]), place, nodes))
                if opened:
                    for each in refused:
                        heapq.heappush(waiting, each)
                    refused.clear()
        return placed

    def _open(self, topology: Topology, among: Iterable[Node]) -> list[Node]:
        """Return the nodes with room; where the first unit chooses for all, those of the roomiest domain first."""
        nodes = {node.name: node for node in among if self._refusals.of(node) is None}
        units = {name: self._room.fit(self._requests, node).units for name, node in nodes.items()}
        found = [node for name, node in nodes.items() if units[name]]
        if (key := topology.first_domain_key()) is not None:
            rooms = Counter[str | None]()
            for node in found:
                rooms[node.labels.get(key)] += units[node.name]
            found.sort(key=lambda node: -rooms[node.labels.get(key)])
        return found
