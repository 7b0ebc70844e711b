"""What one pod counts for: a small record per pod, shared shapes for the many pods that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

import msgspec

from moorage.objects import Pod
from moorage.quantity import NANO
from moorage.quota.names import COUNT_PODS, PODS
from moorage.quota.scopes import ScopeFacts, scope_facts
from moorage.resources import pod_resources


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Shape:
    """What pods that are alike count for, by source name (see `names`), in nano-units."""

    amounts: Mapping[str, int]
    facts: ScopeFacts


class PodUse(msgspec.Struct, frozen=True, gc=False):
    """One stored pod, as far as quotas care: some 400 bytes, whatever the pod's own size."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    shape: Shape
    released_at: float | None = None
    """Seconds since the epoch after which a pod that is being deleted counts as an object only."""


class PodReader:
    """Turns pods into records. Equal shapes are one object in memory, for as long as a pod has that shape."""

    def __init__(self) -> None:
        self._shapes: WeakValueDictionary[object, Shape] = WeakValueDictionary()

    def read(self, pod: Pod) -> PodUse:
        """Return the record of a stored pod.

        Raises QuantityError when an amount does not parse, ValueError when the resource version is no number.
        """
        meta = pod.metadata
        return PodUse(
            uid=meta.uid,
            namespace=meta.namespace,
            name=meta.name,
            resource_version=int(meta.resource_version or "0"),
            shape=self._shape(pod),
            released_at=released_at(pod),
        )

    def _shape(self, pod: Pod) -> Shape:
        facts = scope_facts(pod.spec, pod.status)
        amounts = pod_amounts(pod)
        key = (facts, tuple(sorted(amounts.items())))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(amounts, facts)
        return shape


def pod_amounts(pod: Pod) -> dict[str, int]:
    """Return what a pod counts for, by source name, in nano-units; a finished one is only an object.

    Raises QuantityError.
    """
    counted = {COUNT_PODS: NANO}
    if is_finished(pod):
        return counted
    counted[PODS] = NANO
    resources = pod_resources(pod.spec, pod.status)
    for name, amount in resources.requests.items():
        counted[f"requests.{name}"] = amount
    for name, amount in resources.limits.items():
        counted[f"limits.{name}"] = amount
    return counted


def is_finished(pod: Pod) -> bool:
    """Whether all containers ended for good."""
    return pod.status.phase in ("Succeeded", "Failed")


def released_at(pod: Pod) -> float | None:
    """Return when a pod that is being deleted stops counting, in seconds since the epoch.

    The native controller waits for `deletionTimestamp + deletionGracePeriodSeconds` although the former already
    contains the grace period; so the pod counts for twice its grace at most.
    """
    meta = pod.metadata
    if meta.deletion_timestamp is None or meta.deletion_grace_period_seconds is None:
        return None
    return meta.deletion_timestamp.timestamp() + meta.deletion_grace_period_seconds
