"""What a pod counts for.

Follows `pkg/quota/v1/evaluator/core/pods.go` of Kubernetes v1.36.
"""

from __future__ import annotations

from functools import lru_cache

from moorage.objects import Pod
from moorage.quantity import NANO
from moorage.quota.names import COUNT_PODS, PODS, counted
from moorage.quota.scopes import scope_facts
from moorage.quota.usage import Claimed, ObjectUse, Shapes
from moorage.resources import pod_resources


def pod_use(pod: Pod, shapes: Shapes) -> ObjectUse:
    """Return the record of a stored pod.

    Raises QuantityError when an amount does not parse.
    """
    claim = pod.status.extended_resource_claim_status
    return shapes.use(
        PODS,
        pod.metadata,
        pod_amounts(pod),
        kind="Pod",
        facts=scope_facts(pod.spec, pod.status),
        claim=Claimed(name=claim.resource_claim_name) if claim is not None else None,
        released_at=released_at(pod),
        node=pod.spec.node_name or "",
        labels=shapes.kept_labels(pod.metadata.labels),
    )


def pod_amounts(pod: Pod) -> dict[str, int]:
    """Return what a pod counts for, by source name, in nano-units; a finished one is only an object.

    Raises QuantityError.
    """
    amounts = {COUNT_PODS: NANO}
    if is_finished(pod):
        return amounts
    amounts[PODS] = NANO
    resources = pod_resources(pod.spec, pod.status)
    for side, given in (("requests", resources.requests), ("limits", resources.limits)):
        for name, amount in given.items():
            if source := _source(side, name):
                amounts[source] = amount
    return amounts


@lru_cache(maxsize=1024)
def _source(side: str, name: str) -> str | None:
    """Return what a pod's requests or limits of a resource count under, or None: not all that it states counts."""
    source = f"{side}.{name}"
    what = counted(source)
    return source if what is not None and PODS in what.resources else None


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
