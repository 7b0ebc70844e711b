"""What one object counts for: a small record each, with shared shapes for the many objects that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

import msgspec

from moorage.objects import ObjectMeta
from moorage.quota.scopes import ClaimFacts, ScopeFacts

Labels = tuple[tuple[str, str], ...]

Facts = ScopeFacts | ClaimFacts | None
"""What scopes can ask about an object; None when no scope ever selects its kind."""


_SHARED_TEXTS = 50_000
"""How many names of owners and namespaces are remembered to make equal ones one string in memory."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Shape:
    """What objects that are alike count for, by source name (see `names`), in nano-units."""

    resource: str
    """What they are, such as `pods` or `deployments.apps`."""
    kind: str
    """The same as a kind, such as `Pod`."""
    amounts: Mapping[str, int]
    facts: Facts = None


class ObjectUse(msgspec.Struct, frozen=True, gc=False):
    """One stored object, as far as quotas care: some 300 bytes, whatever the object's own size."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    shape: Shape
    released_at: float | None = None
    """Seconds since the epoch after which a pod that is being deleted counts as an object only."""
    owner: str = ""
    """The workload it belongs to, such as `Deployment/web`; empty for an object of its own."""
    pod: str = ""
    """The uid of the pod that it belongs to, if it does to one, as volumes and devices for one pod do."""
    claim: Claimed | None = None
    """How a claim for devices and its pod share what they ask for."""
    node: str = ""
    """The node that a pod runs on; empty until it has one, and for everything else."""
    labels: Labels | None = None
    """Those of a pod's labels that somebody looks at, sorted; None while nobody does."""

    @property
    def holder(self) -> str:
        """Who holds what it counts for: its workload, or the object itself, such as `Secret/web`."""
        return self.owner or f"{self.shape.kind}/{self.name}"


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """Ties a claim that the scheduler made for a pod's extended resources to that pod.

    Of a claim: `shared` are the sources that its pod counts too, and `created` is its age.
    Of a pod: `name` is the one claim that its status names.
    """

    name: str = ""
    shared: tuple[str, ...] = ()
    created: datetime | None = None


class Shapes:
    """Makes records; equal shapes are one object in memory, for as long as any record has that shape."""

    def __init__(self) -> None:
        self.label_keys: frozenset[str] | None = None
        """Which labels of pods are kept, so that few pods differ in them; None for nobody looks at any."""
        self._shapes: WeakValueDictionary[object, Shape] = WeakValueDictionary()
        self._texts: dict[str, str] = {}
        self._labels: dict[Labels, Labels] = {}

    def use(
        self,
        resource: str,
        meta: ObjectMeta,
        amounts: Mapping[str, int],
        *,
        kind: str,
        facts: Facts = None,
        claim: Claimed | None = None,
        released_at: float | None = None,
        node: str = "",
        labels: Labels | None = None,
    ) -> ObjectUse:
        """Return the record of a stored object."""
        controller = meta.controller
        return ObjectUse(
            uid=meta.uid,
            namespace=self._shared(meta.namespace),
            name=meta.name,
            resource_version=meta.version,
            shape=self._shape(resource, kind, amounts, facts),
            released_at=released_at,
            owner=self._shared(owner_of(meta)),
            pod=controller.uid if controller is not None and controller.kind == "Pod" else "",
            claim=claim,
            node=self._shared(node),
            labels=labels,
        )

    def kept_labels(self, labels: Mapping[str, str] | None) -> Labels | None:
        """Return what is kept of a pod's labels; equal ones are one object."""
        if self.label_keys is None:
            return None
        found = tuple(sorted((key, value) for key, value in (labels or {}).items() if key in self.label_keys))
        if len(self._labels) >= _SHARED_TEXTS:
            self._labels.clear()
        return self._labels.setdefault(found, found)

    def _shape(self, resource: str, kind: str, amounts: Mapping[str, int], facts: Facts) -> Shape:
        key = (resource, kind, facts, tuple(sorted(amounts.items())))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(resource, kind, amounts, facts)
        return shape

    def _shared(self, text: str) -> str:
        """Make equal texts one string. Not by `sys.intern`: Python 3.12 never forgets those, and Jobs come and go."""
        if len(self._texts) >= _SHARED_TEXTS:
            self._texts.clear()
        return self._texts.setdefault(text, text)


def owner_of(meta: ObjectMeta) -> str:
    """Return the workload that an object belongs to, which is its controller; an empty text when it has none.

    A Deployment's pods belong to a ReplicaSet whose name is the Deployment's and the pods' template hash.
    """
    owner = meta.controller
    if owner is None:
        return ""
    if owner.kind == "ReplicaSet" and meta.labels is not None and (own := meta.labels.get("pod-template-hash")):
        deployment = owner.name.removesuffix(f"-{own}")
        if deployment != owner.name:
            return f"Deployment/{deployment}"
    return f"{owner.kind}/{owner.name}"
