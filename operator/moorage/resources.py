"""What a pod uses: its effective requests and limits, resource by resource.

Follows `PodRequests` and `PodLimits` of k8s.io/component-helpers `resource/helpers.go` v0.36 with the options that the
native quota controller sets: container statuses are folded in during an in-place resize, pod-level status is not.
All amounts are integers in nano-units (see `quantity`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from moorage.objects import (
    Container,
    ContainerStatus,
    PodSpec,
    PodStatus,
    QuantityText,
    ResourceList,
    ResourceRequirements,
)
from moorage.quantity import NANO, canonical, number_text, parse_nano

Amounts = dict[str, int]
"""Resource name to amount in nano-units."""

_MILLI = NANO // 1000


@dataclass(frozen=True, slots=True)
class PodResources:
    """Effective requests and limits of a pod."""

    requests: Mapping[str, int]
    limits: Mapping[str, int]


def pod_resources(spec: PodSpec, status: PodStatus | None = None, *, overhead: bool = True) -> PodResources:
    """Return what a pod with this spec (and, while it is resized, this status) counts for.

    Without `overhead` only what its own author asks for. Raises QuantityError when an amount does not parse.
    """
    statuses = _resized(status)
    infeasible = bool(statuses) and status is not None and _resize_is_infeasible(status)
    requests = _aggregate(spec, "requests", statuses, infeasible)
    limits = _aggregate(spec, "limits", statuses, infeasible)
    if spec.resources is not None:
        requests.update(_pod_level(spec.resources.requests))
        limits.update(_pod_level(spec.resources.limits))
    for name, amount in amounts(spec.overhead).items() if overhead else ():
        requests[name] = requests.get(name, 0) + amount
        if limits.get(name):
            limits[name] += amount
    return PodResources(requests, limits)


def amounts(resources: Mapping[str, QuantityText] | None) -> Amounts:
    """Parse a resource list.

    Raises QuantityError.
    """
    if not resources:
        return {}
    return {name: nano_of(text) for name, text in resources.items()}


def nano_of(value: QuantityText) -> int:
    """Parse a quantity as written in a manifest, to nano-units.

    Raises QuantityError.
    """
    return parse_nano(value if isinstance(value, str) else number_text(value))


def is_pod_level(name: str) -> bool:
    """Whether this resource may be given for a pod as a whole."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def can_be_overcommitted(name: str) -> bool:
    """Whether a limit of this resource may be above the request: not for hugepages and extended resources."""
    return ("/" not in name or "kubernetes.io/" in name) and not name.startswith("hugepages-")


def given_for_pod(spec: PodSpec) -> frozenset[str]:
    """Return the resources of which the pod as a whole, not its containers, says a request or limit."""
    if spec.resources is None:
        return frozenset()
    given = {**spec.resources.given("requests"), **spec.resources.given("limits")}
    return frozenset(name for name in given if is_pod_level(name))


def is_best_effort(spec: PodSpec) -> bool:
    """Whether the QoS class is BestEffort: nothing asks for more than 0 of cpu or memory.

    With pod-level resources only those are looked at.
    """
    if spec.resources is not None:
        requirements: Iterable[ResourceRequirements | None] = [spec.resources]
    else:
        requirements = (each.resources for each in spec.all_containers)
    return not any(
        resources.get(name) and nano_of(resources[name]) > 0
        for each in requirements
        if each is not None
        for resources in (each.given("requests"), each.given("limits"))
        for name in ("cpu", "memory")
    )


def with_defaults(spec: PodSpec) -> PodSpec:
    """Return the spec as the API server stores it: limits become missing requests, amounts are whole milli-units.

    Follows `SetDefaults_Pod`, `defaultHugePagePodLimits` and `defaultPodRequests` of pkg/apis/core/v1/defaults.go
    v1.36. LimitRanges, RuntimeClasses and webhooks are not applied. Raises QuantityError.
    """
    filled = msgspec.structs.replace(
        spec,
        containers=[_with_limits_as_requests(each) for each in spec.containers or ()],
        init_containers=[_with_limits_as_requests(each) for each in spec.init_containers or ()],
    )
    return msgspec.structs.replace(
        filled,
        containers=[_container_in_whole_milli(each) for each in filled.containers or ()],
        init_containers=[_container_in_whole_milli(each) for each in filled.init_containers or ()],
        overhead=_whole_milli(spec.overhead),
        resources=_requirements_in_whole_milli(_pod_level_with_defaults(filled)),
    )


def _with_limits_as_requests(container: Container) -> Container:
    if container.resources is None:
        return container
    limits, requests = container.resources.limits or {}, container.resources.requests or {}
    return msgspec.structs.replace(
        container, resources=ResourceRequirements(requests={**limits, **requests}, limits=limits)
    )


def _pod_level_with_defaults(spec: PodSpec) -> ResourceRequirements | None:
    """Fill in what the pod as a whole asks for, once it asks for anything: hugepages limits, then all requests.

    A request follows the containers where it can be overcommitted (cpu, memory), else the pod's own limit.
    """
    given = spec.resources
    if given is None or not (given.requests or given.limits):
        return given
    requests, limits = dict(given.requests or {}), dict(given.limits or {})
    for name, amount in _aggregate(spec, "limits", {}, False).items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, canonical(amount))
    if limits:
        for name, amount in _aggregate(spec, "requests", {}, False).items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, canonical(amount))
        for name, text in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, text)
    return ResourceRequirements(requests=requests, limits=limits)


def _container_in_whole_milli(container: Container) -> Container:
    return msgspec.structs.replace(container, resources=_requirements_in_whole_milli(container.resources))


def _requirements_in_whole_milli(requirements: ResourceRequirements | None) -> ResourceRequirements | None:
    if requirements is None:
        return None
    return ResourceRequirements(requests=_whole_milli(requirements.requests), limits=_whole_milli(requirements.limits))


def _whole_milli(resources: ResourceList | None) -> ResourceList | None:
    """Round up what is finer than a milli-unit; all else keeps its spelling."""
    if resources is None:
        return None
    return {
        name: text if nano_of(text) % _MILLI == 0 else canonical(-(-nano_of(text) // _MILLI) * _MILLI)
        for name, text in resources.items()
    }


def _aggregate(spec: PodSpec, side: str, statuses: Mapping[str, ContainerStatus], infeasible: bool) -> Amounts:
    """Return the larger, per resource, of the running containers' sum and the peak while the pod starts.

    Init containers run one after another, each beside the sidecars that were started before it.
    """
    running: Amounts = {}
    for container in spec.containers or ():
        _add(running, _container(container, side, statuses.get(container.name), infeasible))
    if not spec.init_containers:
        return running
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        if container.is_sidecar:
            own = _container(container, side, statuses.get(container.name), infeasible)
            _add(running, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            step = _spec_side(container, side)
            _add(step, sidecars)
            _raise_to(peak, step)
    _raise_to(running, peak)
    return running


def _container(container: Container, side: str, status: ContainerStatus | None, infeasible: bool) -> Mapping[str, int]:
    """Return one container's amounts; during a resize the largest of what is asked, allocated and in force."""
    if status is None or status.resources is None:
        return _spec_side(container, side)
    result: Amounts = {} if infeasible else _spec_side(container, side)
    if side == "requests":
        _raise_to(result, amounts(status.resources.requests))
        _raise_to(result, amounts(status.allocated_resources))
    else:
        _raise_to(result, amounts(status.resources.limits))
    return result


def _spec_side(container: Container, side: str) -> Amounts:
    return amounts(container.given(side))


def _pod_level(resources: ResourceList | None) -> Amounts:
    return {name: amount for name, amount in amounts(resources).items() if is_pod_level(name)}


def _resized(status: PodStatus | None) -> Mapping[str, ContainerStatus]:
    """Return, by container name, the statuses that tell what a container was given."""
    if status is None:
        return {}
    return {
        each.name: each
        for each in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
        if each.resources is not None
    }


def _resize_is_infeasible(status: PodStatus) -> bool:
    """Whether the first PodResizePending condition says that the node can never grant the resize."""
    for condition in status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, floor: Mapping[str, int]) -> None:
    for name, amount in floor.items():
        if amount > total.get(name, -1):
            total[name] = amount
