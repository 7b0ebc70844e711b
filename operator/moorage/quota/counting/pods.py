"""What a pod counts for.

Follows `pkg/quota/v1/evaluator/core/pods.go` of Kubernetes v1.36.
"""

from __future__ import annotations

from moorage.objects import Pod
from moorage.quantity import NANO
from moorage.quota.names import COUNT_PODS, PODS
from moorage.quota.scopes import scope_facts
from moorage.quota.usage import Claimed, ObjectUse, Shapes
from moorage.resources import pod_resources


def pod_use(pod: Pod, shapes: Shapes) -> ObjectUse:
    """Return the record of a stored pod.

    Raises QuantityError when an amount does not parse, ValueError when the resource version is no number.
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
    )


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
