"""What the pods on each node take of it, kept up to date by one small step per pod that comes, changes or goes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from moorage.density.units import PODS
from moorage.quantity import NANO

Labels = tuple[tuple[str, str], ...]
"""The labels of a pod that matter to somebody, sorted."""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True, eq=False)
class Resident:
    """A pod on a node."""

    node: str
    namespace: str
    requests: Mapping[str, int]
    """Effective requests in nano-units; without the pod itself."""
    labels: Labels | None = None
    """None while nobody minds which pods run where."""
    daemon: bool = False
    """Whether every node of its kind has such a pod: of a DaemonSet, or static."""
    yields: bool = False
    """Whether it holds a place for others, so that its coming takes no room from anybody."""


@dataclass(slots=True)
class Load:
    """What the pods on one node take, in nano-units."""

    used: dict[str, int] = field(default_factory=dict)
    daemons: dict[str, int] = field(default_factory=dict)
    """The part of `used` that a new node of this kind would have too."""
    kinds: dict[tuple[str, Labels], int] = field(default_factory=dict)
    """How many pods of a namespace have which labels."""
    arrivals: int = 0
    """How many pods have ever come to take room, daemons not counted. It only grows."""
    daemons_changed: int = 0
    """How often `daemons` has changed. It only grows."""


class Occupancy:
    """The loads of all nodes."""

    def __init__(self) -> None:
        self.loads: dict[str, Load] = {}
        self.daemons_changed = 0
        """How often the daemons of a node changed."""

    def add(self, pod: Resident, *, arrives: bool = True) -> None:
        """Take in a pod; `arrives` False for one that was there already, and only changed."""
        load = self.loads.get(pod.node)
        if load is None:
            load = self.loads[pod.node] = Load()
        self._change(load, pod, +1)
        if arrives and not pod.daemon and not pod.yields:
            load.arrivals += 1

    def remove(self, pod: Resident) -> None:
        """Take out a pod, as it was added."""
        self._change(self.loads[pod.node], pod, -1)

    def prune(self, nodes: Container[str]) -> None:
        """Forget all nodes but these, once they have no pods any more."""
        for name in [name for name, load in self.loads.items() if not load.used and name not in nodes]:
            del self.loads[name]

    def _change(self, load: Load, pod: Resident, sign: int) -> None:
        sums = (load.used, load.daemons) if pod.daemon else (load.used,)
        for total in sums:
            for name, amount in pod.requests.items():
                _shift(total, name, sign * amount)
            _shift(total, PODS, sign * NANO)
        if pod.labels is not None:
            _shift(load.kinds, (pod.namespace, pod.labels), sign)
        if pod.daemon:
            load.daemons_changed += 1
            self.daemons_changed += 1


def _shift(total: dict[_Key, int], key: _Key, amount: int) -> None:
    value = total.get(key, 0) + amount
    if value:
        total[key] = value
    else:
        total.pop(key, None)
