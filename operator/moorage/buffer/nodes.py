"""A buffer whose standby nodes have a life of their own: they run for a while, take time to suspend, and are remade.

The rules of `simulate.py` with these changes. A new standby node runs for `init` first, and a pod that comes then takes
it at once; suspending takes `suspend`, and a node that is wanted meanwhile is resumed after that. Every `refresh` each
standby unit is made anew, one after the other, and is missing until its node is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from moorage.buffer.simulate import Path, Setup


@dataclass(frozen=True, slots=True)
class StandbyLife:
    """How standby nodes live, in nanoseconds; 0 for what does not happen."""

    init: int = 0
    suspend: int = 0
    refresh: int = 0


def suspend_seconds(seconds: float, per_gib: float, memory_gib: float) -> float:
    """Return how long a node takes to suspend: its memory is written to disk."""
    return seconds + per_gib * memory_gib


@dataclass(slots=True)
class _Standby:
    """The standby units that are there, oldest first in each state."""

    life: StandbyLife
    suspended: int
    running: deque[int] = field(default_factory=deque)
    """When these came."""
    suspending: deque[int] = field(default_factory=deque)
    """When these will be suspended."""

    def add(self, now: int) -> None:
        self.running.append(now)

    def take(self, now: int, resume: int) -> int | None:
        """Take a unit, the quickest first, and return when it is active; None when there is none."""
        self._settle(now)
        if self.running:
            self.running.popleft()
            return now
        if self.suspended:
            self.suspended -= 1
            return now + resume
        return self.suspending.popleft() + resume if self.suspending else None

    def drop(self, now: int) -> bool:
        """Take a suspended unit away to be made anew; False when there is none."""
        self._settle(now)
        if not self.suspended:
            return False
        self.suspended -= 1
        return True

    def _settle(self, now: int) -> None:
        while self.running and self.running[0] + self.life.init <= now:
            self.suspending.append(self.running.popleft() + self.life.init + self.life.suspend)
        while self.suspending and self.suspending[0] <= now:
            self.suspending.popleft()
            self.suspended += 1


def simulate_nodes(
    times: Sequence[int], setup: Setup, resumes: Iterator[int], colds: Iterator[int], life: StandbyLife
) -> Path:
    """Return what happens to pods that come at these times, sorted, when all standby units are suspended at the start.

    Latencies are taken as nodes are resumed and made. Raises ValueError where pods go cold.
    """
    if setup.misses_go_cold:
        raise ValueError("pods that go cold are simulated without the life of standby nodes")
    return _Run(setup.in_nodes(), resumes, colds, life).through(times)


class _Run:
    """One run: events are new nodes, the end of a wait for the creation limit, and the refresh of a unit."""

    def __init__(self, setup: Setup, resumes: Iterator[int], colds: Iterator[int], life: StandbyLife) -> None:
        self._setup, self._resumes, self._colds, self._life = setup, resumes, colds, life
        self._standby = _Standby(life, setup.standby)
        self._coming: list[int] = []
        """When new nodes come, a heap; as many entries as units."""
        self._unmade = self._pending = 0
        """Units that wait for the creation limit; and active units that wait for a new node."""
        self._available: list[int] = []
        self._fresh: list[int] = []
        self._left: list[int] = []

    def through(self, times: Sequence[int]) -> Path:
        refreshes = self._refreshes(times)
        refresh = next(refreshes, None)
        for at, time in enumerate(times):
            while refresh is not None and refresh <= time:
                self._arrive(refresh)
                if self._standby.drop(refresh):
                    self._left.append(refresh)
                    self._order(refresh, 1)
                refresh = next(refreshes, None)
            self._arrive(time)
            if at % self._setup.units_per_node == 0:
                self._replace(time)
        self._arrive(None)
        self._available.sort()
        waits = [0] * min(self._setup.active, len(times))
        waits += [
            unit - time if unit - 1 > time else 0
            for time, unit in zip(times[self._setup.active :], self._available, strict=False)
        ]
        return Path(times, waits, self._available, self._fresh, sorted(self._left), self._setup)

    def _refreshes(self, times: Sequence[int]) -> Iterator[int]:
        if not self._life.refresh or not self._setup.standby or not times:
            return
        gap, moment = self._life.refresh // self._setup.standby, times[0]
        while (moment := moment + gap) <= times[-1]:
            yield moment

    def _replace(self, now: int) -> None:
        """Have a node of units resumed, and one made for standby."""
        resume = next(self._resumes)
        for _ in range(self._setup.units_per_node):
            active_at = self._standby.take(now, resume)
            if active_at is None:
                self._pending += 1
            else:
                self._left.append(now)
                self._available.append(active_at)
        self._order(now, self._setup.units_per_node)

    def _order(self, now: int, units: int) -> None:
        cold = next(self._colds)
        for _ in range(units):
            if self._setup.creation_limit is None or len(self._coming) < self._setup.creation_limit:
                heappush(self._coming, now + cold)
            else:
                self._unmade += 1

    def _arrive(self, now: int | None) -> None:
        """Take in the nodes that came until now; None: all that were ordered."""
        while self._coming and (now is None or self._coming[0] <= now):
            came = heappop(self._coming)
            self._fresh.append(came)
            if self._pending:
                self._pending -= 1
                self._left.append(came)
                self._available.append(came + 1)
            else:
                self._standby.add(came)
            if self._unmade:
                self._unmade -= 1
                heappush(self._coming, came + next(self._colds))
