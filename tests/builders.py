"""Builders for tests: say what a test is about by keyword; all else is plain and the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from moorage.objects import (
    Affinity,
    Container,
    ContainerStatus,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceList,
    ResourceRequirements,
    WeightedPodAffinityTerm,
)
from moorage.quantity import parse_nano
from moorage.quota import counting
from moorage.quota.usage import ObjectUse, Shapes

_SHAPES = Shapes()


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
) -> PodStatus:
    """Return a pod status; `resize_pending` is the reason of a PodResizePending condition."""
    pending = [] if resize_pending is None else [PodCondition(type="PodResizePending", reason=resize_pending)]
    return PodStatus(
        phase=phase,
        qos_class=qos,
        conditions=[PodCondition(type="PodScheduled"), *pending],
        container_statuses=list(statuses),
        init_container_statuses=list(init),
    )


def pod(
    name: str = "web-0",
    *,
    namespace: str = "team-a",
    uid: str = "",
    version: int = 1,
    deleted_at: datetime | None = None,
    grace: int | None = None,
    spec: PodSpec | None = None,
    status: PodStatus | None = None,
    cpu: str | None = None,
    memory: str | None = None,
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
        ),
        spec=spec or pod_spec(cpu=cpu, memory=memory, limits=limits, priority_class=priority_class, deadline=deadline),
        status=status or pod_status(phase=phase),
    )


def pod_use(
    uid: str = "a",
    *,
    namespace: str = "team-a",
    version: int = 1,
    cpu: str | None = None,
    memory: str | None = None,
    limits: ResourceList | None = None,
    phase: str = "Running",
    priority_class: str | None = None,
    deadline: int | None = None,
    released_at: float | None = None,
) -> ObjectUse:
    """Return the ledger's record of a pod; `released_at` is when its deletion frees what it uses."""
    record = counting.pod_use(
        pod(
            uid,
            namespace=namespace,
            version=version,
            cpu=cpu,
            memory=memory,
            limits=limits,
            phase=phase,
            priority_class=priority_class,
            deadline=deadline,
        ),
        _SHAPES,
    )
    return msgspec.structs.replace(record, released_at=released_at)


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


def _requests(cpu: str | None, memory: str | None, more: ResourceList | None) -> ResourceList | None:
    named = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text is not None}
    return {**named, **more} if more is not None else named or None
