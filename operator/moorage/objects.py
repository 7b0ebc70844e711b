"""The parts of Kubernetes objects that decide what they use, as typed values.

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

    def given(self, side: str) -> ResourceList:
        """Return the `requests` or the `limits`, as written; empty when there are none."""
        return (self.requests if side == "requests" else self.limits) or {}


class Container(_Object, frozen=True):
    """A container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None

    def given(self, side: str) -> ResourceList:
        """Return its `requests` or its `limits`, as written; empty when it has none."""
        return {} if self.resources is None else self.resources.given(side)

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
    node_name: str | None = None

    @property
    def all_containers(self) -> list[Container]:
        """Its app containers, then its init containers and sidecars."""
        return [*(self.containers or ()), *(self.init_containers or ())]


class ContainerStatus(_Object, frozen=True):
    """What a running container was given."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodCondition(_Object, frozen=True):
    """One condition of a pod."""

    type: str = ""
    reason: str | None = None


class ExtendedResourceClaimStatus(_Object, frozen=True):
    """The claim that the scheduler made for a pod's extended resources."""

    resource_claim_name: str = ""


class PodStatus(_Object, frozen=True):
    """How a pod is doing."""

    phase: str | None = None
    qos_class: str | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None


class OwnerReference(_Object, frozen=True):
    """An object that this one belongs to."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(_Object, frozen=True):
    """Identity and life of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    creation_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None

    @property
    def version(self) -> int:
        """The resource version as a number that can be compared; 0 when it is not one, as aggregated APIs may have."""
        text = self.resource_version
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references or () if owner.controller), None)


class Pod(_Object, frozen=True):
    """A pod as stored."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplate(_Object, frozen=True):
    """The pod template of a workload, or the `template` of a PodTemplate object."""

    spec: PodSpec = PodSpec()


class AnyObject(_Object, frozen=True):
    """As much of any object as counting it takes; also what the API server sends as metadata only."""

    metadata: ObjectMeta = ObjectMeta()


class VolumeClaimAnnotations(msgspec.Struct, frozen=True, gc=False):
    """The annotation that named the storage class before there was a field."""

    storage_class: str | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")


class VolumeClaimMeta(ObjectMeta, frozen=True):
    """Metadata of a claim."""

    annotations: VolumeClaimAnnotations | None = None


class VolumeClaimSpec(_Object, frozen=True):
    """What a claim asks for."""

    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    resources: ResourceRequirements | None = None


class ModifyVolumeStatus(_Object, frozen=True):
    """A change of the volume attributes class that is under way."""

    target_volume_attributes_class_name: str | None = None


class VolumeClaimStatus(_Object, frozen=True):
    """What a claim was given."""

    allocated_resources: ResourceList | None = None
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None


class VolumeClaim(_Object, frozen=True):
    """A PersistentVolumeClaim as stored."""

    metadata: VolumeClaimMeta = VolumeClaimMeta()
    spec: VolumeClaimSpec = VolumeClaimSpec()
    status: VolumeClaimStatus = VolumeClaimStatus()


class ServicePort(_Object, frozen=True):
    """A port of a service."""

    node_port: int | None = None


class ServiceSpec(_Object, frozen=True):
    """How a service is reached."""

    type: str | None = None
    ports: list[ServicePort] | None = None
    allocate_load_balancer_node_ports: bool | None = None


class Service(_Object, frozen=True):
    """A Service as stored."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class DeviceRequest(_Object, frozen=True):
    """Devices of one class; `allocation_mode` All asks for as many as there are."""

    device_class_name: str = ""
    allocation_mode: str | None = None
    count: int | None = None


class DeviceRequestChoice(DeviceRequest, frozen=True):
    """One request of a claim: exactly these devices, or the first alternative that can be had.

    Before v1beta2 exact devices were named in the request itself.
    """

    exactly: DeviceRequest | None = None
    first_available: list[DeviceRequest] | None = None


class DeviceClaim(_Object, frozen=True):
    """The devices of a ResourceClaim."""

    requests: list[DeviceRequestChoice] | None = None


class ResourceClaimSpec(_Object, frozen=True):
    """What a ResourceClaim asks for."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaimAnnotations(msgspec.Struct, frozen=True, gc=False):
    """The annotation of claims that the scheduler makes for pods with extended resources."""

    extended_resource_claim: str | None = msgspec.field(
        default=None, name="resource.kubernetes.io/extended-resource-claim"
    )


class ResourceClaimMeta(ObjectMeta, frozen=True):
    """Metadata of a ResourceClaim."""

    annotations: ResourceClaimAnnotations | None = None


class ResourceClaim(_Object, frozen=True):
    """A ResourceClaim as stored."""

    metadata: ResourceClaimMeta = ResourceClaimMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class DeviceClassSpec(_Object, frozen=True):
    """How pods may ask for a class's devices."""

    extended_resource_name: str | None = None


class DeviceClass(_Object, frozen=True):
    """A DeviceClass."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()
