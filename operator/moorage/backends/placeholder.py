"""Units as pods that do nothing: a Deployment whose pods any pod of a higher priority pushes out.

The pods carry none of the workload's labels, so that no Service sends requests to them, no PodDisruptionBudget protects
them and no autoscaler counts them. What the unit's own affinity and spread say about pods like itself is said about the
placeholders instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.api.labels import BUFFER_LABEL
from moorage.backends.plan import (
    MANAGED_BY_LABEL,
    MANAGER,
    PAUSE_IMAGE,
    Document,
    Owner,
    Plan,
    document,
)
from moorage.backends.self_reference import referring_to_placeholders
from moorage.backends.unit import (
    claim_names,
    host_ports,
    labels_of,
    resources_of,
    scheduling,
    spec_of,
    with_dedication,
    with_placement,
)
from moorage.objects import PodSpec
from moorage.quantity import canonical
from moorage.quota.names import is_binary
from moorage.quota.scopes import PLACEHOLDER_CLASS
from moorage.resources import pod_resources, with_defaults

PRIORITY_CLASS = PLACEHOLDER_CLASS
"""Shipped with the operator's manifests; see `priority_problem` for what it must be like."""
LOWEST_PRIORITY, HIGHEST_PRIORITY = -10, -1
"""Cluster Autoscaler adds no nodes for pods below -10 (its default cutoff); pods without a class have 0."""
GRACE_SECONDS = 1
"""The least a kubelet is told of. With 0 the API server itself removes the pod, while the scheduler still plans for the
pods that push it out: one of them may then find nothing left to push out, and nothing wakes it for five minutes
(kubernetes/kubernetes#141694)."""
_LOCAL_DISK = "ephemeral-storage"
_NO_DEADLINE = 2**31 - 1
"""Told to a Deployment, it never reports a lack of progress: placeholders may be pending for as long as they like."""


def placeholder_document(plan: Plan, *, replicas: int, pause_image: str = PAUSE_IMAGE) -> Document:
    """Return the Deployment of a buffer's placeholders.

    A changed shape replaces all of them at once: pods that wait for room would stop a gradual change for ever, and more
    pods than wanted would ask for more nodes.
    """
    labels = {MANAGED_BY_LABEL: MANAGER, BUFFER_LABEL: plan.owner.label}
    template = {
        "metadata": {"labels": labels, "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}},
        "spec": _pod(plan, labels, pause_image),
    }
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "100%"}},
        "progressDeadlineSeconds": _NO_DEADLINE,
        "revisionHistoryLimit": 1,
        "template": template,
    }
    return document(plan.owner, api_version="apps/v1", kind="Deployment", suffix="placeholder") | {"spec": spec}


def placeholder_name(owner: Owner) -> str:
    """Return the name of the Deployment."""
    return owner.named("placeholder")


def _pod(plan: Plan, labels: Mapping[str, str], pause_image: str) -> dict[str, Any]:
    spec = spec_of(plan.template)
    selector = {"matchLabels": dict(labels)}
    pod = referring_to_placeholders(
        scheduling(spec), labels=labels_of(plan.template), namespace=plan.owner.namespace, placeholders=selector
    )
    if plan.dedicated:
        pod = with_dedication(pod, plan.owner)
    pod = with_placement(pod, plan.placement, selector)
    is_linux = (spec.get("os") or {}).get("name") != "windows"
    pod["containers"] = _containers(spec, pause_image, is_linux=is_linux, not_held=plan.not_held)
    if "resources" in pod:
        pod["resources"] = _yielding(pod["resources"], plan.not_held)
    pod |= {
        "priorityClassName": PRIORITY_CLASS,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if is_linux:
        pod["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if plan.preload_images:
        pod["volumes"] = [
            {"name": f"image-{at}", "image": {"reference": image, "pullPolicy": "IfNotPresent"}}
            for at, image in enumerate(images_of(spec))
        ]
        if secrets := spec.get("imagePullSecrets"):
            pod["imagePullSecrets"] = secrets
    return pod


def placeholder_pod(deployment: Mapping[str, Any], overhead: Mapping[str, str] | None = None) -> PodSpec:
    """Return a pod of a Deployment of placeholders as the API server stores it; `overhead` is what admission adds.

    Raises msgspec.ValidationError or QuantityError when it cannot be read.
    """
    spec = {**deployment["spec"]["template"]["spec"], "overhead": overhead}
    return with_defaults(msgspec.convert(spec, PodSpec))


def images_of(spec: Mapping[str, Any]) -> list[str]:
    """Return the images of a pod, each once."""
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return list(dict.fromkeys(each["image"] for each in every if each.get("image")))


def _containers(
    spec: Mapping[str, Any], image: str, *, is_linux: bool, not_held: frozenset[str]
) -> list[dict[str, Any]]:
    """Return containers that together request what the scheduler reserves for a pod of the workload.

    Those of the pod are kept apart, so that bounds of the namespace on single containers hold for both alike. Where
    init containers need more than what runs later, one more container makes up the difference.
    """
    running = [
        *(each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"),
        *(spec.get("containers") or ()),
    ]
    claims = claim_names(spec)
    containers = []
    for each in running:
        parts = {"resources": _yielding(resources_of(each, claims), not_held), "ports": host_ports(each)}
        containers.append({"name": each["name"], **{name: part for name, part in parts.items() if part}})
    if missing := _yielding(_missing(spec, containers), not_held):
        containers.append({"name": "moorage-init-share", "resources": missing})
    fixed: dict[str, Any] = {"image": image, "imagePullPolicy": "IfNotPresent"}
    if is_linux:
        fixed["securityContext"] = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
    return [{**each, **fixed} for each in containers]


def _yielding(resources: dict[str, Any], not_held: frozenset[str]) -> dict[str, Any]:
    """Return resources without what must not be held.

    Of ephemeral storage nothing is asked for by name, since a quota on it refuses pods that say nothing.
    """
    if not_held.isdisjoint(resources.get("requests") or {}):
        return resources
    kept = {
        kind: {name: amount for name, amount in amounts.items() if name not in not_held or name == _LOCAL_DISK}
        for kind, amounts in resources.items()
        if kind in ("requests", "limits")
    }
    if _LOCAL_DISK in not_held and _LOCAL_DISK in kept["requests"]:
        kept["requests"][_LOCAL_DISK] = "0"
    return {name: part for name, part in {**resources, **kept}.items() if part}


def _missing(spec: Mapping[str, Any], containers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the whole pod asks for beyond these containers; overhead aside, which admission adds to both."""
    whole = _effective({**spec, "overhead": None})
    parts = _effective({"containers": containers, "resources": spec.get("resources")})
    found = {
        kind: {
            name: canonical(amount - parts[kind].get(name, 0), binary=is_binary(name))
            for name, amount in whole[kind].items()
            if amount > parts[kind].get(name, 0)
        }
        for kind in ("requests", "limits")
    }
    # A limit below the request is refused; where the two differ by that much, the request is what reserves room.
    found["limits"] = {name: limit for name, limit in found["limits"].items() if found["requests"].get(name) == limit}
    return {kind: amounts for kind, amounts in found.items() if amounts}


def _effective(spec: Mapping[str, Any]) -> dict[str, Mapping[str, int]]:
    used = pod_resources(with_defaults(msgspec.convert(spec, PodSpec)))
    return {"requests": used.requests, "limits": used.limits}


def priority_problem(stored: Mapping[str, Any] | None) -> str:
    """Say what is wrong with the PriorityClass of the placeholders; None stands for one that is missing."""
    if stored is None:
        return (
            f"there is no PriorityClass {PRIORITY_CLASS}, so no placeholder can be made: apply the operator's manifests"
        )
    value = int(stored.get("value") or 0)
    if value < LOWEST_PRIORITY:
        return (
            f"PriorityClass {PRIORITY_CLASS} has the value {value}: below {LOWEST_PRIORITY} Cluster Autoscaler adds no "
            f"nodes for placeholders; make it anew with a value from {LOWEST_PRIORITY} to {HIGHEST_PRIORITY}"
        )
    if value > HIGHEST_PRIORITY:
        return (
            f"PriorityClass {PRIORITY_CLASS} has the value {value}, so pods without a class cannot push placeholders "
            f"out; make it anew with a value from {LOWEST_PRIORITY} to {HIGHEST_PRIORITY}"
        )
    return ""
