"""What one object counts for: a small record each, with shared shapes for the many objects that are alike."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

import msgspec

from moorage.objects import ObjectMeta
from moorage.quota.scopes import ClaimFacts, ScopeFacts

Facts = ScopeFacts | ClaimFacts | None
"""What scopes can ask about an object; None when no scope ever selects its kind."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Shape:
    """What objects that are alike count for, by source name (see `names`), in nano-units."""

    resource: str
    """What they are, such as `pods` or `deployments.apps`."""
    amounts: Mapping[str, int]
    facts: Facts = None


class ObjectUse(msgspec.Struct, frozen=True, gc=False):
    """One stored object, as far as quotas care: some 400 bytes, whatever the object's own size."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    shape: Shape
    released_at: float | None = None
    """Seconds since the epoch after which a pod that is being deleted counts as an object only."""
    holder: str = ""
    """The workload it belongs to, such as `Deployment/web`, or the object itself."""
    claim: Claimed | None = None
    """How a claim for devices and its pod share what they ask for."""


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """Ties a claim that the scheduler made for a pod's extended resources to that pod.

    Of a claim: `pod` is the pod's uid, `shared` the sources that the pod counts too, and `created` the claim's age.
    Of a pod: `name` is the one claim that its status names.
    """

    pod: str = ""
    name: str = ""
    shared: tuple[str, ...] = ()
    created: datetime | None = None


class Shapes:
    """Makes equal shapes one object in memory, for as long as any object has that shape."""

    def __init__(self) -> None:
        self._shapes: WeakValueDictionary[object, Shape] = WeakValueDictionary()

    def shape(self, resource: str, amounts: Mapping[str, int], facts: Facts = None) -> Shape:
        """Return the one shape with these values."""
        key = (resource, facts, tuple(sorted(amounts.items())))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(resource, amounts, facts)
        return shape

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
    ) -> ObjectUse:
        """Return the record of a stored object.

        Raises ValueError when the resource version is no number.
        """
        return ObjectUse(
            uid=meta.uid,
            namespace=sys.intern(meta.namespace),
            name=meta.name,
            resource_version=int(meta.resource_version or "0"),
            shape=self.shape(resource, amounts, facts),
            released_at=released_at,
            holder=sys.intern(holder(meta, kind)),
            claim=claim,
        )


def holder(meta: ObjectMeta, kind: str) -> str:
    """Return the workload that an object belongs to: its controller, or itself when it has none.

    A Deployment's pods belong to a ReplicaSet whose name is the Deployment's and the pods' template hash.
    """
    owner = meta.controller
    if owner is None:
        return f"{kind}/{meta.name}"
    if owner.kind == "ReplicaSet" and meta.labels is not None and meta.labels.pod_template_hash:
        deployment = owner.name.removesuffix(f"-{meta.labels.pod_template_hash}")
        if deployment != owner.name:
            return f"Deployment/{deployment}"
    return f"{owner.kind}/{owner.name}"
