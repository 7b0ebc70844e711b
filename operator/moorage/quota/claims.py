"""Claims that the scheduler made for a pod's extended resources: pod and claim must not count the same devices twice.

The first such claim of a live pod (by age, then name) counts only what goes beyond the pod's own request, and only if
the pod's status names that claim or none: `resource_claims.go` of Kubernetes v1.36. There are few of these claims, so
what belongs together is simply taken back and counted anew when any part of it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from moorage.quota.counting.devices import MISSING_CLASS
from moorage.quota.usage import ObjectUse

_NEVER = datetime.max.replace(tzinfo=UTC)


class SharedClaims:
    """Knows which claims belong to which pod.

    `own_amounts` returns what an object counts for by itself, `pod` the record held for a pod's uid.
    """

    def __init__(
        self, own_amounts: Callable[[ObjectUse], Mapping[str, int]], pod: Callable[[str], ObjectUse | None]
    ) -> None:
        self._own_amounts = own_amounts
        self._pod = pod
        self._claims: dict[str, dict[str, ObjectUse]] = {}
        """By the uid of the pod, then that of the claim."""

    def add(self, use: ObjectUse) -> None:
        """Note a claim that belongs to a pod; other objects are of no interest."""
        if use.claim is not None and use.claim.pod:
            self._claims.setdefault(use.claim.pod, {})[use.uid] = use

    def remove(self, use: ObjectUse) -> None:
        """Forget a claim."""
        if use.claim is None or not use.claim.pod:
            return
        claims = self._claims[use.claim.pod]
        del claims[use.uid]
        if not claims:
            del self._claims[use.claim.pod]

    def affected(self, *uses: ObjectUse | None) -> list[ObjectUse]:
        """Return the claims, other than these objects, whose amounts may change together with theirs."""
        if not self._claims:
            return []
        given = [use for use in uses if use is not None]
        pods = {use.claim.pod if use.claim is not None and use.claim.pod else use.uid for use in given}
        own = {use.uid for use in given}
        return [claim for pod in pods for uid, claim in self._claims.get(pod, {}).items() if uid not in own]

    def amounts(self, use: ObjectUse) -> Mapping[str, int]:
        """Return what an object counts for beside its pod."""
        own = self._own_amounts(use)
        if use.claim is None or not use.claim.pod:
            return own
        pod = self._pod(use.claim.pod)
        if pod is None or pod.namespace != use.namespace or self._first(pod) != use.uid:
            return own
        asked = self._own_amounts(pod)
        beyond = {
            source: max(own[source] - asked.get(source.removeprefix(MISSING_CLASS), 0), 0)
            for source in use.claim.shared
        }
        return {**own, **beyond}

    def _first(self, pod: ObjectUse) -> str:
        """Return the uid of the claim that shares with its pod; empty when none does."""
        claims = [claim for claim in self._claims.get(pod.uid, {}).values() if claim.namespace == pod.namespace]
        if pod.claim is not None:
            claims = [claim for claim in claims if claim.name == pod.claim.name]
        return min(claims, key=_age).uid if claims else ""


def _age(use: ObjectUse) -> tuple[datetime, str]:
    created = use.claim.created if use.claim is not None else None
    return (created or _NEVER, use.name)
