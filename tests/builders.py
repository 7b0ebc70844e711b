"""Builders for tests: say what a test is about by keyword; all else is plain and the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from moorage.objects import (
    Affinity,
    AnyObject,
    Container,
    ContainerStatus,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestChoice,
    ExtendedResourceClaimStatus,
    ModifyVolumeStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodCondition,
    PodSpec,
    PodStatus,
    QuantityText,
    ResourceClaim,
    ResourceClaimAnnotations,
    ResourceClaimMeta,
    ResourceClaimSpec,
    ResourceList,
    ResourceRequirements,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeClaim,
    VolumeClaimAnnotations,
    VolumeClaimMeta,
    VolumeClaimSpec,
    VolumeClaimStatus,
    WeightedPodAffinityTerm,
)
from moorage.quantity import parse_nano
from moorage.quota import counting
from moorage.quota.admission import QuotaState
from moorage.quota.bounds import Limits
from moorage.quota.names import counted
from moorage.quota.scopes import Requirement
from moorage.quota.usage import ObjectUse, Shapes

_SHAPES = Shapes()

DEVICE_CLASSES: counting.DeviceClasses = {"gpu.example.com": "example.com/gpu", "nic.example.com": None}
"""The DeviceClasses of the tests' cluster, each with its extended resource."""


def nano(**texts: str) -> dict[str, int]:
    """Return amounts in nano-units; `nano(cpu="1")` reads better than nine zeros."""
    return {name: parse_nano(text) for name, text in texts.items()}


def resources(requests: ResourceList | None = None, limits: ResourceList | None = None) -> ResourceRequirements | None:
    """Return the requirements of a container or pod, or None when nothing is given."""
    if requests is None and limits is None:
        return None
    return ResourceRequirements(requests=requests, limits=limits)


def container(
    name: str = "app",
    *,
    cpu: str | None = None,
    memory: str | None = None,
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
) -> Container:
    """Return a container; `cpu` and `memory` are requests."""
    return Container(name=name, resources=resources(_requests(cpu, memory, requests), limits))


def sidecar(
    name: str = "proxy",
    *,
    cpu: str | None = None,
    memory: str | None = None,
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
) -> Container:
    """Return an init container that keeps running."""
    return Container(name=name, restart_policy="Always", resources=resources(_requests(cpu, memory, requests), limits))


def pod_spec(
    *,
    cpu: str | None = None,
    memory: str | None = None,
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
    containers: Iterable[Container] | None = None,
    init: Iterable[Container] = (),
    overhead: ResourceList | None = None,
    pod_level: ResourceRequirements | None = None,
    priority_class: str | None = None,
    deadline: int | None = None,
    affinity: Affinity | None = None,
    node: str | None = None,
) -> PodSpec:
    """Return a pod spec: one container with these requests and limits, unless `containers` are given."""
    one = [container(cpu=cpu, memory=memory, requests=requests, limits=limits)]
    return PodSpec(
        containers=one if containers is None else list(containers),
        init_containers=list(init),
        overhead=overhead,
        resources=pod_level,
        priority_class_name=priority_class,
        active_deadline_seconds=deadline,
        affinity=affinity,
        node_name=node,
    )


def container_status(
    name: str = "app",
    *,
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
    allocated: ResourceList | None = None,
) -> ContainerStatus:
    """Return what a container was given; without `requests` and `limits` the status tells nothing of resources."""
    return ContainerStatus(name=name, resources=resources(requests, limits), allocated_resources=allocated)


def pod_status(
    *statuses: ContainerStatus,
    init: Iterable[ContainerStatus] = (),
    phase: str = "Running",
    qos: str | None = None,
    resize_pending: str | None = None,
    device_claim: str | None = None,
) -> PodStatus:
    """Return a pod status; `resize_pending` is the reason of a PodResizePending condition, `device_claim` the claim
    that the scheduler made for extended resources.
    """
    pending = [] if resize_pending is None else [PodCondition(type="PodResizePending", reason=resize_pending)]
    return PodStatus(
        phase=phase,
        qos_class=qos,
        conditions=[PodCondition(type="PodScheduled"), *pending],
        container_statuses=list(statuses),
        init_container_statuses=list(init),
        extended_resource_claim_status=None
        if device_claim is None
        else ExtendedResourceClaimStatus(resource_claim_name=device_claim),
    )


def owned_by(workload: str, uid: str = "", *, controller: bool | None = True) -> OwnerReference:
    """Return a reference to an owner, such as `ReplicaSet/web-abc`."""
    kind, _, name = workload.partition("/")
    return OwnerReference(kind=kind, name=name, uid=uid, controller=controller)


def pod(
    name: str = "web-0",
    *,
    namespace: str = "team-a",
    uid: str = "",
    version: int | str = 1,
    deleted_at: datetime | None = None,
    grace: int | None = None,
    owner: OwnerReference | None = None,
    template_hash: str | None = None,
    labels: Mapping[str, str] | None = None,
    node: str | None = None,
    spec: PodSpec | None = None,
    status: PodStatus | None = None,
    cpu: str | None = None,
    memory: str | None = None,
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
    phase: str = "Running",
    priority_class: str | None = None,
    deadline: int | None = None,
) -> Pod:
    """Return a stored pod; its uid is its name when none is given.

    `spec` and `status` take the place of the keywords that would make them.
    """
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or name,
            resource_version=str(version),
            deletion_timestamp=deleted_at,
            deletion_grace_period_seconds=grace,
            labels=_labels(template_hash, labels),
            owner_references=None if owner is None else [owner],
        ),
        spec=spec
        or pod_spec(
            cpu=cpu,
            memory=memory,
            requests=requests,
            limits=limits,
            priority_class=priority_class,
            deadline=deadline,
            node=node,
        ),
        status=status or pod_status(phase=phase),
    )


def pod_use(
    name: str = "a", *, released_at: float | None = None, shapes: Shapes = _SHAPES, **keywords: Any
) -> ObjectUse:
    """Return the ledger's record of a pod (see `pod`); `released_at` is when its deletion frees what it uses."""
    record = counting.pod_use(pod(name, **keywords), shapes)
    return msgspec.structs.replace(record, released_at=released_at)


def volume_claim(
    name: str = "data-0",
    *,
    namespace: str = "team-a",
    uid: str = "",
    version: int = 1,
    owner: OwnerReference | None = None,
    storage: QuantityText | None = "1Gi",
    allocated: str | None = None,
    storage_class: str | None = None,
    old_storage_class: str | None = None,
    attributes_class: str | None = None,
    current_attributes_class: str | None = None,
    target_attributes_class: str | None = None,
) -> VolumeClaim:
    """Return a stored PersistentVolumeClaim; `old_storage_class` is the annotation that was before the field."""
    return VolumeClaim(
        metadata=VolumeClaimMeta(
            name=name,
            namespace=namespace,
            uid=uid or name,
            resource_version=str(version),
            owner_references=None if owner is None else [owner],
            annotations=None if old_storage_class is None else VolumeClaimAnnotations(storage_class=old_storage_class),
        ),
        spec=VolumeClaimSpec(
            storage_class_name=storage_class,
            volume_attributes_class_name=attributes_class,
            resources=resources(None if storage is None else {"storage": storage}),
        ),
        status=VolumeClaimStatus(
            allocated_resources=None if allocated is None else {"storage": allocated},
            current_volume_attributes_class_name=current_attributes_class,
            modify_volume_status=None
            if target_attributes_class is None
            else ModifyVolumeStatus(target_volume_attributes_class_name=target_attributes_class),
        ),
    )


def volume_claim_use(name: str = "data-0", **keywords: Any) -> ObjectUse:
    """Return the ledger's record of a claim for a volume (see `volume_claim`)."""
    return counting.volume_claim_use(volume_claim(name, **keywords), _SHAPES)


def service(
    name: str = "web",
    *,
    namespace: str = "team-a",
    uid: str = "",
    version: int = 1,
    type: str | None = "ClusterIP",
    ports: int = 1,
    node_ports: Iterable[int] = (),
    allocates: bool | None = None,
) -> Service:
    """Return a stored Service with so many ports; `node_ports` are the numbers that the first of them have."""
    numbers = [*node_ports]
    return Service(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=uid or name, resource_version=str(version)),
        spec=ServiceSpec(
            type=type,
            ports=[ServicePort(node_port=numbers[at] if at < len(numbers) else None) for at in range(ports)],
            allocate_load_balancer_node_ports=allocates,
        ),
    )


def service_use(name: str = "web", **keywords: Any) -> ObjectUse:
    """Return the ledger's record of a Service (see `service`)."""
    return counting.service_use(service(name, **keywords), _SHAPES)


def devices(
    device_class: str = "gpu.example.com", count: int | None = None, *, mode: str | None = "ExactCount"
) -> DeviceRequest:
    """Return a request for devices of a class."""
    return DeviceRequest(device_class_name=device_class, allocation_mode=mode, count=count)


def device_claim(
    name: str = "gpus",
    *asked: DeviceRequest | list[DeviceRequest],
    namespace: str = "team-a",
    uid: str = "",
    version: int = 1,
    created: datetime | None = None,
    made_for_pod: str | None = None,
    owner: OwnerReference | None = None,
) -> ResourceClaim:
    """Return a stored ResourceClaim; a list among `asked` are alternatives.

    `made_for_pod` is the uid of the pod for whose extended resources the scheduler made it.
    """
    if made_for_pod is not None:
        owner = owned_by(f"Pod/{made_for_pod}", made_for_pod)
    return ResourceClaim(
        metadata=ResourceClaimMeta(
            name=name,
            namespace=namespace,
            uid=uid or name,
            resource_version=str(version),
            creation_timestamp=created,
            owner_references=None if owner is None else [owner],
            annotations=None if made_for_pod is None else ResourceClaimAnnotations(extended_resource_claim="true"),
        ),
        spec=ResourceClaimSpec(
            devices=DeviceClaim(
                requests=[
                    DeviceRequestChoice(first_available=each)
                    if isinstance(each, list)
                    else DeviceRequestChoice(exactly=each)
                    for each in asked
                ]
            )
        ),
    )


def device_claim_use(
    name: str = "gpus",
    *asked: DeviceRequest | list[DeviceRequest],
    classes: counting.DeviceClasses = DEVICE_CLASSES,
    **keywords: Any,
) -> ObjectUse:
    """Return the ledger's record of a claim for devices (see `device_claim`)."""
    return counting.device_claim_use(device_claim(name, *asked, **keywords), classes, _SHAPES)


def any_object(
    name: str = "it",
    *,
    namespace: str = "team-a",
    uid: str = "",
    version: int | str = 1,
    owner: OwnerReference | None = None,
    template_hash: str | None = None,
) -> AnyObject:
    """Return a stored object of any other kind."""
    return AnyObject(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or name,
            resource_version=str(version),
            labels=_labels(template_hash, None),
            owner_references=None if owner is None else [owner],
        )
    )


def object_use(name: str = "it", *, resource: str = "secrets", kind: str = "Secret", **keywords: Any) -> ObjectUse:
    """Return the ledger's record of an object of any other kind (see `any_object`)."""
    return counting.object_use(any_object(name, **keywords), resource, kind, _SHAPES)


def pod_affinity(
    *,
    namespaces: list[str] | None = None,
    namespace_selector: dict[str, object] | None = None,
    anti: bool = False,
    preferred: bool = False,
) -> Affinity:
    """Return an affinity to other pods, or anti-affinity, with one term."""
    term = PodAffinityTerm(namespaces=namespaces, namespace_selector=namespace_selector)
    terms = (
        PodAffinity(preferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm(pod_affinity_term=term)])
        if preferred
        else PodAffinity(requiredDuringSchedulingIgnoredDuringExecution=[term])
    )
    return Affinity(pod_anti_affinity=terms) if anti else Affinity(pod_affinity=terms)


def limits(
    type: str = "Container",
    *,
    default: Mapping[str, str] | None = None,
    default_request: Mapping[str, str] | None = None,
    min: Mapping[str, str] | None = None,
    max: Mapping[str, str] | None = None,
    ratio: Mapping[str, str] | None = None,
) -> Limits:
    """Return an entry of `spec.limits`."""
    return Limits(
        type,
        default=nano(**default or {}),
        default_request=nano(**default_request or {}),
        min=nano(**min or {}),
        max=nano(**max or {}),
        max_limit_request_ratio=nano(**ratio or {}),
    )


def quota_state(
    name: str = "team-a",
    *entries: Limits,
    hard: Mapping[str, str] | None = None,
    used: Mapping[str, str] | None = None,
    requirements: Iterable[Requirement] = (),
    audit: bool = False,
) -> QuotaState:
    """Return a quota as admission sees it; of what is counted and not given in `used`, nothing is used."""
    allowed = nano(**hard or {})
    nothing = {each: 0 for each in allowed if counted(each) is not None}
    return QuotaState(
        name,
        hard=allowed,
        used={**nothing, **nano(**used or {})},
        requirements=tuple(requirements),
        limits=entries,
        is_enforced=not audit,
    )


def _labels(template_hash: str | None, labels: Mapping[str, str] | None) -> dict[str, str] | None:
    own = {} if template_hash is None else {"pod-template-hash": template_hash}
    return {**own, **(labels or {})} or None


def _requests(cpu: str | None, memory: str | None, more: ResourceList | None) -> ResourceList | None:
    named = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text is not None}
    return {**named, **more} if more is not None else named or None
