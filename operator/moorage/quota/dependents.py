"""Objects that belong to pods: who holds them, and what they count for beside their pod.

They are held by the pod's workload, for they come and go with its pods: volumes and devices that a pod template asks
for. And a claim that the scheduler made for a pod's extended resources must not count what its pod counts already: the
first such claim of a live pod (by age, then name) counts only what goes beyond the pod's own request, and only if the
pod's status names that claim or none (`resource_claims.go` of Kubernetes v1.36).

There are few of these objects, so those of a pod are simply taken back and counted anew when any of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from moorage.quota.counting.devices import MISSING_CLASS
from moorage.quota.usage import ObjectUse

_NEVER = datetime.max.replace(tzinfo=UTC)


class Dependents:
    """Knows which objects belong to which pod.

    `own_amounts` returns what an object counts for by itself, `pod` the record held for a pod's uid.
    """

    def __init__(
        self, own_amounts: Callable[[ObjectUse], Mapping[str, int]], pod: Callable[[str], ObjectUse | None]
    ) -> None:
        self._own_amounts = own_amounts
        self._pod = pod
        self._by_pod: dict[str, dict[str, ObjectUse]] = {}
        """By the uid of the pod, then that of the object."""

    def add(self, use: ObjectUse) -> None:
        """Note an object that belongs to a pod; others are of no interest."""
        if use.pod:
            self._by_pod.setdefault(use.pod, {})[use.uid] = use

    def remove(self, use: ObjectUse) -> None:
        """Forget an object."""
        if not use.pod:
            return
        dependents = self._by_pod[use.pod]
        del dependents[use.uid]
        if not dependents:
            del self._by_pod[use.pod]

    def of(self, *uses: ObjectUse | None) -> list[ObjectUse]:
        """Return the objects, other than these, that may count otherwise when these change."""
        if not self._by_pod:
            return []
        given = [use for use in uses if use is not None]
        own = {use.uid for use in given}
        return [
            dependent
            for pod in own.union(use.pod for use in given)
            for uid, dependent in self._by_pod.get(pod, {}).items()
            if uid not in own
        ]

    def holder(self, use: ObjectUse) -> str:
        """Return who holds an object: the workload of its pod, or else its own."""
        pod = self._pod_of(use)
        return use.holder if pod is None else pod.holder

    def amounts(self, use: ObjectUse) -> Mapping[str, int]:
        """Return what an object counts for beside its pod."""
        own, pod = self._own_amounts(use), self._pod_of(use)
        if pod is None or use.claim is None or self._first_claim(pod) != use.uid:
            return own
        asked = self._own_amounts(pod)
        beyond = {
            source: max(own[source] - asked.get(source.removeprefix(MISSING_CLASS), 0), 0)
            for source in use.claim.shared
        }
        return {**own, **beyond}

    def _pod_of(self, use: ObjectUse) -> ObjectUse | None:
        pod = self._pod(use.pod) if use.pod else None
        return pod if pod is not None and pod.namespace == use.namespace else None

    def _first_claim(self, pod: ObjectUse) -> str:
        """Return the uid of the claim that shares with its pod; empty when none does."""
        claims = [
            each
            for each in self._by_pod.get(pod.uid, {}).values()
            if each.claim is not None and each.namespace == pod.namespace
        ]
        if pod.claim is not None:
            claims = [each for each in claims if each.name == pod.claim.name]
        return min(claims, key=_age).uid if claims else ""


def _age(use: ObjectUse) -> tuple[datetime, str]:
    created = use.claim.created if use.claim is not None else None
    return (created or _NEVER, use.name)
