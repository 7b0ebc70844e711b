"""The parts of Kubernetes pods that decide what they use, as typed values.

Decoded straight from the API server's bytes (msgspec skips everything else without building it) or converted from YAML.
Field meanings are those of the Kubernetes API; lists may be null, as in hand-written manifests.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

QuantityText = str | int | float
ResourceList = dict[str, QuantityText]
"""Resource name to quantity, as written."""


class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    pass


class ResourceRequirements(_Object, frozen=True):
    """What a container, or a pod as a whole, asks for and may use at most."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class Container(_Object, frozen=True):
    """A container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None

    @property
    def is_sidecar(self) -> bool:
        """Whether this init container keeps running beside the app containers."""
        return self.restart_policy == "Always"


class PodAffinityTerm(_Object, frozen=True):
    """The fields of an affinity term that make it reach into other namespaces."""

    namespaces: list[str] | None = None
    namespace_selector: dict[str, object] | None = None


class WeightedPodAffinityTerm(_Object, frozen=True):
    """A preferred affinity term."""

    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(_Object, frozen=True, rename=None):
    """Pod affinity or anti-affinity: required and preferred terms."""

    requiredDuringSchedulingIgnoredDuringExecution: list[PodAffinityTerm] | None = None  # noqa: N815
    preferredDuringSchedulingIgnoredDuringExecution: list[WeightedPodAffinityTerm] | None = None  # noqa: N815


class Affinity(_Object, frozen=True):
    """Scheduling constraints between pods."""

    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class PodSpec(_Object, frozen=True):
    """What a pod asks for."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    priority_class_name: str | None = None
    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None


class ContainerStatus(_Object, frozen=True):
    """What a running container was given."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodCondition(_Object, frozen=True):
    """One condition of a pod."""

    type: str = ""
    reason: str | None = None


class PodStatus(_Object, frozen=True):
    """How a pod is doing."""

    phase: str | None = None
    qos_class: str | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class ObjectMeta(_Object, frozen=True):
    """Identity and life of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None


class Pod(_Object, frozen=True):
    """A pod as stored."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplate(_Object, frozen=True):
    """The pod template of a workload, or the `template` of a PodTemplate object."""

    spec: PodSpec = PodSpec()
