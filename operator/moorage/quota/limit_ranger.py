"""What the API server makes of pods by the LimitRanges of their namespace, before it comes to quotas.

Other than by `spec.limits`, a maximum is a default limit too, and a default limit is not raised to a larger request.
After `plugin/pkg/admission/limitranger/admission.go` and `SetDefaults_LimitRangeItem` of Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from moorage.objects import Container, PodSpec, ResourceRequirements
from moorage.quota.bounds import CONTAINER, Limits, resource_texts
from moorage.quota.verdict import Failure, Step
from moorage.resources import nano_of, with_defaults


def as_stored(entry: Limits) -> Limits:
    """Return an entry of a LimitRange with what the API server adds to it."""
    if entry.type != CONTAINER:
        return entry
    default = {**entry.max, **entry.default}
    return Limits(
        entry.type,
        default=default,
        default_request={**entry.min, **default, **entry.default_request},
        min=entry.min,
        max=entry.max,
        max_limit_request_ratio=entry.max_limit_request_ratio,
    )


def fill_in_natively(spec: PodSpec, ranges: Iterable[Iterable[Limits]]) -> PodSpec:
    """Return the spec with the defaults of LimitRanges, each with its entries; the first that has a value gives it.

    Within one the last entry does. Raises QuantityError.
    """
    filled = with_defaults(spec)
    for entries in ranges:
        requests: dict[str, int] = {}
        limits: dict[str, int] = {}
        for entry in map(as_stored, entries):
            if entry.type == CONTAINER:
                requests |= entry.default_request
                limits |= entry.default
        filled = msgspec.structs.replace(
            filled,
            containers=[_filled(each, requests, limits) for each in filled.containers or ()],
            init_containers=[_filled(each, requests, limits) for each in filled.init_containers or ()],
        )
    return filled


def _filled(container: Container, requests: Mapping[str, int], limits: Mapping[str, int]) -> Container:
    merged = ResourceRequirements(
        requests={**resource_texts(requests), **container.given("requests")},
        limits={**resource_texts(limits), **container.given("limits")},
    )
    return msgspec.structs.replace(container, resources=merged)


def invalidated(before: PodSpec, filled: PodSpec, limit_range: str) -> Iterator[Failure]:
    """Yield the default limits that are below what containers request, for which the API server refuses the pod.

    Raises QuantityError.
    """
    own = {each.name: each.given("limits") for each in before.all_containers}
    for container in filled.all_containers:
        requests = container.given("requests")
        for name, text in container.given("limits").items():
            limit, request = nano_of(text), nano_of(requests.get(name, 0))
            if name not in own.get(container.name, {}) and request > limit:
                message = (
                    f"container {container.name} requests {requests[name]} of {name}, and is given a limit of {text}, "
                    "which is less"
                )
                yield Failure(Step.BOUNDS, limit_range, name, message, limit, requested=request, where=container.name)
