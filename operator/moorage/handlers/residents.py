"""From the pods that the ledger holds to what they take of their nodes, for as long as somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from weakref import WeakKeyDictionary

from moorage.density.occupancy import Occupancy, Resident
from moorage.handlers.counting import LedgerSink
from moorage.quota.ledger import Ledger
from moorage.quota.names import PODS
from moorage.quota.usage import ObjectUse, Shape

_REQUESTS = "requests."
_EVERYWHERE = ("DaemonSet/", "Node/")
"""Owners whose pods every node of a kind has: DaemonSets, and of static pods the node itself."""

Workload = tuple[str, str]
"""A namespace and a workload in it, such as `Deployment/web`."""


class Residents:
    """Keeps an occupancy equal to the ledger's pods."""

    def __init__(self, ledger: Ledger) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called after each change; set by whoever looks."""
        self.occupancy = Occupancy()
        self.watched = False
        """Whether anybody looks; while nobody does, pods cost nothing here."""
        self._ledger = ledger
        self._yielding: dict[Workload, dict[str, int]] = {}
        self._requests: WeakKeyDictionary[Shape, Mapping[str, int]] = WeakKeyDictionary()

    def watch(self, yielding: Iterable[Workload]) -> None:
        """Start to look; `yielding` are the workloads whose pods hold places for others."""
        wanted = set(yielding)
        if self.watched and wanted == self._yielding.keys():
            return
        self._yielding = {each: {} for each in wanted}
        arrivals = {node: load.arrivals for node, load in self.occupancy.loads.items()}
        self.occupancy = Occupancy()
        self.watched = True
        for use in self._ledger.objects(PODS).values():
            self._add(use, arrives=False)
        for node, load in self.occupancy.loads.items():
            load.arrivals = arrivals.get(node, 0)
        self.changed()

    def stop(self) -> None:
        """Forget all: nobody looks any more."""
        self.watched = False
        self.occupancy = Occupancy()
        self._yielding = {}

    def places(self, workload: Workload) -> Mapping[str, int]:
        """Return how many pods of a workload that holds places for others are on each node."""
        return self._yielding.get(workload, {})

    def moved(self, old: ObjectUse | None, new: ObjectUse | None) -> None:
        """Take in that a pod came (`old` is None), changed, or went (`new` is None)."""
        if old is not None and new is not None and _takes_the_same(old, new):
            return
        if old is not None and _takes_room(old):
            self.occupancy.remove(self._resident(old))
            self._count(old, -1)
        if new is not None:
            self._add(new, arrives=old is None or old.node != new.node)
        self.changed()

    def _add(self, use: ObjectUse, *, arrives: bool) -> None:
        if _takes_room(use):
            self.occupancy.add(self._resident(use), arrives=arrives)
            self._count(use, +1)

    def _count(self, use: ObjectUse, step: int) -> None:
        places = self._yielding.get((use.namespace, use.owner))
        if places is None:
            return
        places[use.node] = places.get(use.node, 0) + step
        if not places[use.node]:
            del places[use.node]

    def _resident(self, use: ObjectUse) -> Resident:
        requests = self._requests.get(use.shape)
        if requests is None:
            requests = self._requests[use.shape] = {
                name.removeprefix(_REQUESTS): amount
                for name, amount in use.shape.amounts.items()
                if name.startswith(_REQUESTS)
            }
        return Resident(
            node=use.node,
            namespace=use.namespace,
            requests=requests,
            labels=use.labels,
            daemon=use.owner.startswith(_EVERYWHERE),
            yields=(use.namespace, use.owner) in self._yielding,
        )


class PodSink(LedgerSink):
    """Hands the pods of a feed to the ledger, and tells what they take of their nodes."""

    def __init__(
        self, ledger: Ledger, residents: Residents, *, namespace: str | None, changed: Callable[[], None]
    ) -> None:
        super().__init__(ledger, PODS, namespace=namespace, changed=changed)
        self._residents = residents

    def replace(self, records: Mapping[str, ObjectUse]) -> None:
        """Hold exactly these pods."""
        if self._residents.watched:
            held = dict(self.snapshot())
            for uid, record in records.items():
                self._residents.moved(held.get(uid), record)
            for uid in held.keys() - records.keys():
                self._residents.moved(held[uid], None)
        super().replace(records)

    def put(self, record: ObjectUse) -> None:
        """Hold a new or changed pod."""
        if self._residents.watched:
            self._residents.moved(self.get(record.uid), record)
        super().put(record)

    def delete(self, record: ObjectUse) -> None:
        """Drop a pod."""
        if self._residents.watched:
            self._residents.moved(self.get(record.uid), None)
        super().delete(record)


def _takes_room(use: ObjectUse) -> bool:
    """Whether a pod is on a node and has not ended."""
    return bool(use.node) and PODS in use.shape.amounts


def _takes_the_same(old: ObjectUse, new: ObjectUse) -> bool:
    return old.node == new.node and old.shape is new.shape and old.labels == new.labels and old.owner == new.owner
