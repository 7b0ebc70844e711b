"""Units as CapacityBuffers of autoscaling.x-k8s.io: nodes without pods, made by the cluster's autoscaler.

One object for each tier, since the strategy is a field of the object, and one PodTemplate for both. Sizes are computed
here, so that the object says `replicas` and nothing else: controllers differ in how they combine the other fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from moorage.api.labels import BUFFER_LABEL
from moorage.backends.plan import Document, Plan, document
from moorage.backends.unit import (
    claim_names,
    claimed_volumes,
    host_ports,
    labels_of,
    resources_of,
    scheduling,
    spec_of,
    with_dedication,
    with_placement,
)

GROUP, PLURAL, KIND = "autoscaling.x-k8s.io", "capacitybuffers", "CapacityBuffer"
VERSIONS = ("v1beta1", "v1alpha1")
"""Those that can be written, best first. Their fields are the same."""

ACTIVE_STRATEGY, STANDBY_STRATEGY = "buffer.x-k8s.io/active-capacity", "buffer.gke.io/standby-capacity"
PASSED_ON = ("buffer.gke.io/standby-capacity-init-time", "buffer.gke.io/standby-capacity-refresh-frequency")
"""Annotations of GKE on standby capacity: how long a node runs before it is suspended, and how often it is renewed."""


class Tier(StrEnum):
    """The part of a buffer that an object is for; also the end of its name."""

    ACTIVE = "active"
    STANDBY = "standby"


def unit_template(plan: Plan) -> Document:
    """Return the PodTemplate of a unit.

    It has what decides where a pod fits, and no more, so that it changes when that does. The labels stay, since the
    unit's own spread and anti-affinity count by them; there are no pods that a Service could find. The priority goes:
    Cluster Autoscaler drops units of a priority below -10, and no unit shall push out a pod.
    """
    spec = spec_of(plan.template)
    claims = claim_names(spec)
    unit = scheduling(spec)
    sections = {"initContainers": spec.get("initContainers"), "containers": spec.get("containers")}
    for section, containers in sections.items():
        if containers:
            unit[section] = [_container(each, claims) for each in containers]
    if overhead := spec.get("overhead"):
        unit["overhead"] = overhead
    if volumes := claimed_volumes(spec):
        unit["volumes"] = volumes
    if plan.dedicated:
        unit = with_dedication(unit, plan.owner)
    unit = with_placement(unit, plan.placement, {"matchLabels": {BUFFER_LABEL: plan.owner.label}})
    metadata = {"labels": {**labels_of(plan.template), BUFFER_LABEL: plan.owner.label}}
    identity = document(plan.owner, api_version="v1", kind="PodTemplate", suffix="unit")
    return identity | {"template": {"metadata": metadata, "spec": unit}}


def buffer_document(plan: Plan, tier: Tier, *, replicas: int, version: str) -> Document:
    """Return the CapacityBuffer of a tier."""
    identity = document(plan.owner, api_version=f"{GROUP}/{version}", kind=KIND, suffix=tier.value)
    if tier is Tier.STANDBY and (
        passed_on := {key: plan.annotations[key] for key in PASSED_ON if key in plan.annotations}
    ):
        identity["metadata"]["annotations"] = passed_on
    spec = {
        "podTemplateRef": {"name": plan.owner.named("unit")},
        "replicas": replicas,
        "provisioningStrategy": ACTIVE_STRATEGY if tier is Tier.ACTIVE else STANDBY_STRATEGY,
    }
    return identity | {"spec": spec}


def _container(container: Mapping[str, Any], claims: list[str]) -> dict[str, Any]:
    kept = {name: container[name] for name in ("name", "image", "restartPolicy") if container.get(name)}
    parts = {"resources": resources_of(container, claims), "ports": host_ports(container)}
    return kept | {name: part for name, part in parts.items() if part}


# What comes back


@dataclass(frozen=True, slots=True)
class Answer:
    """What a controller wrote on one of our objects."""

    generation: int
    """Of the object's spec now."""
    controller: str = ""
    """Who wrote: Karpenter, Cluster Autoscaler or Other; empty while nobody has."""
    current: bool = False
    """Whether it was written for this generation."""
    ready: bool = False
    reason: str = ""
    message: str = ""
    strategy: str = ""
    """The strategy that the controller took in."""
    replicas: int | None = None
    """The size that the controller took in."""
    provisioning: Mapping[str, Any] | None = None
    """The condition Provisioning, as it is."""
    limited_by: Mapping[str, Any] | None = None
    """The condition LimitedByQuotas, as it is."""

    @property
    def answered(self) -> bool:
        """Whether anybody has taken notice of the object."""
        return bool(self.controller)


_KARPENTER = {"Resolved", "PodTemplateNotFound", "ScalableRefNotFound", "ResolutionFailed"}
_CLUSTER_AUTOSCALER = {"AttributesSetSuccessfully", "error"}


def answer_of(stored: Mapping[str, Any]) -> Answer:
    """Read an object as it is stored.

    Karpenter says for which generation a condition is; Cluster Autoscaler does not, so its size is compared.
    """
    generation = int((stored.get("metadata") or {}).get("generation") or 0)
    status = stored.get("status") or {}
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    ready = conditions.get("ReadyForProvisioning")
    if ready is None:
        return Answer(generation)
    reason = str(ready.get("reason"))
    limited = conditions.get("LimitedByQuotas")
    observed = ready.get("observedGeneration")
    if observed:
        current = int(observed) == generation
    else:
        is_limited = limited is not None and limited.get("status") == "True"
        current = is_limited or status.get("replicas") == (stored.get("spec") or {}).get("replicas")
    return Answer(
        generation,
        controller=_controller(reason),
        current=current or ready.get("status") != "True",
        ready=ready.get("status") == "True",
        reason=reason,
        message=str(ready.get("message") or ""),
        strategy=str(status.get("provisioningStrategy") or ""),
        replicas=status.get("replicas"),
        provisioning=conditions.get("Provisioning"),
        limited_by=limited,
    )


def _controller(reason: str) -> str:
    if reason in _KARPENTER:
        return "Karpenter"
    return "Cluster Autoscaler" if reason in _CLUSTER_AUTOSCALER else "Other"
