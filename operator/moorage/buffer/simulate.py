"""What pods wait with a buffer of a given size: one path through recorded or invented demand.

The policy is that of GKE's buffers: each pod takes a unit, and at once one standby unit is resumed to be active in its
place and one new node is ordered for standby. A new node that finds such a replacement waiting takes its part, running.
Pods are served in the order in which they come. Times are even numbers of nanoseconds: the last bit of when a unit is
available, and so of a wait, says that it is a new node and not a resumed one.

A pod that finds no unit waits for one, or goes cold: then it takes none, and gets a new node of its own.

Nothing is stepped through: the k-th pod gets the k-th unit that is available, and the m-th replacement the m-th standby
unit, so sorting both is the whole simulation; only which pods go cold is found one by one. What needs a memory of
single nodes is in `nodes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush, heapreplace
from itertools import repeat

Durations = int | Sequence[int]
"""One for all, or one for each node that is resumed or made."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A buffer. Units of a node come together; `creation_limit` is how many units can be on their way as new nodes."""

    active: int
    total: int
    units_per_node: int = 1
    creation_limit: int | None = None
    misses_go_cold: bool = False
    """Whether pods that find no unit take none; not together with whole nodes or a limit."""

    def __post_init__(self) -> None:
        if self.misses_go_cold and (self.units_per_node > 1 or self.creation_limit is not None):
            raise ValueError("pods that go cold are simulated unit by unit, and without a limit of creations")

    @property
    def standby(self) -> int:
        """Units that are not active."""
        return self.total - self.active

    def in_nodes(self) -> Setup:
        """Return the buffer rounded up to whole nodes: the active part, and all of it."""
        each = self.units_per_node
        active, total = -(-self.active // each) * each, -(-self.total // each) * each
        return replace(self, active=active, total=max(total, active))


@dataclass(frozen=True, slots=True)
class Path:
    """What happened. Lists are by pod in the order of their coming, and sorted where that says so."""

    times: Sequence[int]
    waits: Sequence[int]
    """Nanoseconds; odd for pods that got a new node."""
    available: Sequence[int]
    """When units became available, sorted; without those of the beginning."""
    fresh: Sequence[int]
    """When new nodes came, sorted, one time for each unit."""
    left: Sequence[int]
    """When units were taken from standby, or would have been if there had been one, sorted."""
    setup: Setup
    found: Sequence[int] | None = None
    """Which pods took a unit, by their place in the lists; None for all. The others went cold."""

    @property
    def taken(self) -> list[int]:
        """When units were taken by pods."""
        if self.found is None:
            return [time + (wait & ~1) for time, wait in zip(self.times, self.waits, strict=True)]
        return [self.times[at] + (self.waits[at] & ~1) for at in self.found]

    @property
    def waited(self) -> int:
        """How many pods waited."""
        return len(self.waits) - self.waits.count(0)

    @property
    def cold(self) -> int:
        """How many pods waited and got a new node; the others that waited got one that was resumed."""
        return sum([wait & 1 for wait in self.waits if wait])


def simulate(times: Sequence[int], setup: Setup, resume: Durations, cold: Durations) -> Path:
    """Return what happens to pods that come at these times, sorted, when all units are there at the start."""
    if setup.misses_go_cold:
        return _with_misses(times, setup, resume, cold)
    setup = setup.in_nodes()
    each = setup.units_per_node
    ordered = times if each == 1 else [times[at - at % each] for at in range(len(times))]
    fresh = _fresh(ordered, cold, setup)
    resumes = repeat(resume) if isinstance(resume, int) else _per_unit(resume, each)
    units = [time + wait for time, wait in zip(ordered[: setup.standby], resumes, strict=False)]
    later = repeat(resume) if isinstance(resume, int) else _per_unit(resume, each)[setup.standby :]
    units += [
        came + 1 if came > time else time + wait
        for time, came, wait in zip(ordered[setup.standby :], fresh, later, strict=False)
    ]
    units.sort()
    waits = [0] * min(setup.active, len(times))
    waits += [unit - time if unit - 1 > time else 0 for time, unit in zip(times[setup.active :], units, strict=False)]
    return Path(times, waits, units, fresh, ordered, setup)


def _with_misses(times: Sequence[int], setup: Setup, resume: Durations, cold: Durations) -> Path:
    """Return the path of the pods that find a unit, and between them the others, which wait for a node of their own."""
    resumes, colds = ([each] * len(times) if isinstance(each, int) else each for each in (resume, cold))
    found = _that_find_a_unit(times, setup, resumes, colds)
    own = [[each[at] for at in found] for each in (times, resumes, colds)]
    path = simulate(own[0], replace(setup, misses_go_cold=False), *own[1:])
    waits = [wait + 1 for wait in colds[: len(times)]]
    for at, wait in zip(found, path.waits, strict=True):
        waits[at] = wait
    return replace(path, times=times, waits=waits, setup=setup, found=found)


def _that_find_a_unit(
    times: Sequence[int], setup: Setup, resumes: Sequence[int], colds: Sequence[int]
) -> Sequence[int]:
    """Return which pods do, by their place in the order of coming."""
    active, standby, unfilled = setup.active, setup.standby, 0
    resuming: list[int] = []
    making: list[int] = []
    found = []
    for at, time in enumerate(times):
        while making and making[0] <= time:
            heappop(making)
            if unfilled:
                unfilled, active = unfilled - 1, active + 1
            else:
                standby += 1
        while resuming and resuming[0] <= time:
            heappop(resuming)
            active += 1
        if not active:
            continue
        active -= 1
        found.append(at)
        heappush(making, time + colds[at])
        if standby:
            standby -= 1
            heappush(resuming, time + resumes[at])
        else:
            unfilled += 1
    return found


def _per_unit(durations: Sequence[int], each: int) -> Sequence[int]:
    """Return the durations by unit: those of a node are the same."""
    return durations if each == 1 else [durations[at // each] for at in range(len(durations))]


def _fresh(ordered: Sequence[int], cold: Durations, setup: Setup) -> list[int]:
    """Return when new nodes come, sorted; those beyond the limit begin when an earlier one is there."""
    if setup.creation_limit is None:
        if isinstance(cold, int):
            return [time + cold for time in ordered]
        return sorted(map(int.__add__, ordered, _per_unit(cold, setup.units_per_node)))
    under_way = [-(10**20)] * setup.creation_limit
    come = []
    each = repeat(cold) if isinstance(cold, int) else _per_unit(cold, setup.units_per_node)
    for time, duration in zip(ordered, each, strict=False):
        end = max(time, under_way[0]) + duration
        heapreplace(under_way, end)
        come.append(end)
    return sorted(come)
