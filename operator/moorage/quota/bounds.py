"""Defaults and bounds of single objects: what `spec.limits` fills in and what it refuses.

The words are those of a LimitRange, but nothing is implied: `max` alone fills in nothing and does not refuse what has
no limit, and a default limit is no maximum: it is raised to the request. Containers are all that run at some time: app
containers, init containers and sidecars. Specs are taken as the API server stores them (`resources.with_defaults`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from moorage.objects import Container, PodSpec, ResourceList, ResourceRequirements, VolumeClaim
from moorage.quantity import NANO, canonical
from moorage.quota.names import display_order, is_binary
from moorage.quota.verdict import Failure, Step
from moorage.resources import Amounts, amounts, given_for_pod, nano_of, pod_resources, with_defaults

CONTAINER, POD, VOLUME_CLAIM = "Container", "Pod", "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class Limits:
    """One entry of `spec.limits`: amounts in nano-units by resource; ratios in nano-units too (2 is 2 x 10^9)."""

    type: str
    default: Mapping[str, int] = field(default_factory=dict)
    default_request: Mapping[str, int] = field(default_factory=dict)
    min: Mapping[str, int] = field(default_factory=dict)
    max: Mapping[str, int] = field(default_factory=dict)
    max_limit_request_ratio: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the entry says nothing."""
        return not (self.default or self.default_request or self.min or self.max or self.max_limit_request_ratio)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is held against bounds: a container, a pod or a claim."""

    type: str
    words: str
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    shared: frozenset[str] = frozenset()
    """Resources that the pod gives as a whole: a container need not say a part of its own."""
    container: str = ""


# Defaults


def fill_in(spec: PodSpec, entries: Iterable[Limits]) -> PodSpec:
    """Return the spec as it is stored, with the defaults of these entries; the first that has a value gives it.

    A resource that the pod gives as a whole is left alone in its containers: what they were given could contradict it.
    Filling in twice changes nothing. Raises QuantityError.
    """
    stored = with_defaults(spec)
    ours = [each for each in entries if each.type == CONTAINER]
    if not ours:
        return stored
    requests = _first_of([each.default_request for each in ours])
    limits = _first_of([each.default for each in ours])
    for name in given_for_pod(stored):
        requests.pop(name, None)
        limits.pop(name, None)
    filled = msgspec.structs.replace(
        stored,
        containers=[_filled(each, requests, limits) for each in stored.containers or ()],
        init_containers=[_filled(each, requests, limits) for each in stored.init_containers or ()],
    )
    return with_defaults(filled)


def defaults_in_force(quotas: Mapping[str, Iterable[Limits]]) -> dict[str, Limits]:
    """Return the entry for containers whose defaults each quota of a namespace fills in, by name of the quota.

    Quotas that have none are left out. The first in alphabetical order has those of all, and the others none: only
    together can it be told which of them comes first, and whether a limit becomes the request.
    """
    having = {
        name: [each for each in entries if each.type == CONTAINER and (each.default or each.default_request)]
        for name, entries in sorted(quotas.items())
    }
    names = [name for name, entries in having.items() if entries]
    everything = [entry for name in names for entry in having[name]]
    merged = Limits(
        CONTAINER,
        default=_first_of([each.default for each in everything]),
        default_request=_first_of([each.default_request for each in everything]),
    )
    return {name: merged if name == names[0] else Limits(CONTAINER) for name in names}


def defaulted(spec: PodSpec, filled: PodSpec) -> dict[str, ResourceRequirements]:
    """Return what containers have in a filled-in spec that they would not have without, by container name.

    Raises QuantityError.
    """
    before = {each.name: each for each in with_defaults(spec).all_containers}
    found = {}
    for container in filled.all_containers:
        requests, limits = (
            _added(before[container.name].given(side), container.given(side)) for side in ("requests", "limits")
        )
        if requests or limits:
            found[container.name] = ResourceRequirements(requests=requests, limits=limits)
    return found


def _first_of(maps: Iterable[Mapping[str, int]]) -> Amounts:
    merged: Amounts = {}
    for each in maps:
        merged = {**each, **merged}
    return merged


def _filled(container: Container, requests: Mapping[str, int], limits: Mapping[str, int]) -> Container:
    own_requests, own_limits = container.given("requests"), container.given("limits")
    new_requests = {**resource_texts(requests), **own_requests}
    raised = {
        name: max(amount, nano_of(new_requests[name])) if name in new_requests else amount
        for name, amount in limits.items()
    }
    new_limits = {**resource_texts(raised), **own_limits}
    if len(new_requests) == len(own_requests) and len(new_limits) == len(own_limits):
        return container
    return msgspec.structs.replace(container, resources=ResourceRequirements(requests=new_requests, limits=new_limits))


def resource_texts(given: Mapping[str, int]) -> dict[str, str]:
    """Spell amounts of container resources exactly."""
    return {name: canonical(amount, binary=is_binary(name)) for name, amount in given.items()}


def _added(before: ResourceList, after: ResourceList) -> ResourceList:
    return {name: after[name] for name in sorted(after.keys() - before.keys(), key=display_order)}


# Bounds


def broken_by_pod(spec: PodSpec, quota: str, entries: Iterable[Limits], *, natively: bool = False) -> Iterator[Failure]:
    """Yield the bounds of a quota that a pod breaks, as it is stored with its defaults.

    Its totals are those of `resources.pod_resources` without overhead. `natively`: as the API server judges by a
    LimitRange, for which a maximum demands a limit, and what the pod gives as a whole is not given by its containers.
    Raises QuantityError.
    """
    for entry in entries:
        for subject in _subjects(spec, entry.type, natively=natively):
            yield from _broken(subject, quota, entry)
            if natively:
                yield from _unlimited(subject, quota, entry)


def _subjects(spec: PodSpec, of_type: str, *, natively: bool) -> Iterator[_Subject]:
    if of_type == CONTAINER:
        shared = frozenset() if natively else given_for_pod(spec)
        for container in spec.all_containers:
            requests, limits = (amounts(container.given(side)) for side in ("requests", "limits"))
            yield _Subject(CONTAINER, f"container {container.name}", requests, limits, shared, container.name)
    elif of_type == POD:
        total = pod_resources(_without_hugepages_of_the_pod(spec) if natively else spec, overhead=False)
        yield _Subject(POD, "the pod", total.requests, total.limits)


def _without_hugepages_of_the_pod(spec: PodSpec) -> PodSpec:
    """Return a spec as a LimitRange sees it: of what is given for the pod as a whole, cpu and memory alone."""
    if spec.resources is None:
        return spec
    seen = {
        side: {name: text for name, text in spec.resources.given(side).items() if name in ("cpu", "memory")}
        for side in ("requests", "limits")
    }
    return msgspec.structs.replace(spec, resources=ResourceRequirements(**seen))


def _unlimited(subject: _Subject, quota: str, entry: Limits) -> Iterator[Failure]:
    for name, most in entry.max.items():
        if name not in subject.limits and subject.requests.get(name, 0) <= most:
            rule = f"maximum {name} per {subject.type} is {_text(name, most)}, but {subject.words} has no limit"
            yield _failure(subject, quota, name=name, bound=most, requested=None, message=rule)


def broken_by_claim(claim: VolumeClaim, quota: str, entries: Iterable[Limits]) -> Iterator[Failure]:
    """Yield the bounds of a quota that a claim for a volume breaks.

    Raises QuantityError.
    """
    for entry in entries:
        if entry.type == VOLUME_CLAIM:
            requests = amounts(claim.spec.resources.requests if claim.spec.resources is not None else None)
            yield from _broken(_Subject(VOLUME_CLAIM, "the claim", requests, {}), quota, entry)


def _broken(subject: _Subject, quota: str, entry: Limits) -> Iterator[Failure]:
    for name, least in entry.min.items():
        yield from _below(subject, quota, name, least)
    for name, most in entry.max.items():
        yield from _above(subject, quota, name, most)
    for name, ratio in entry.max_limit_request_ratio.items():
        yield from _beyond_ratio(subject, quota, name, ratio)


def _below(subject: _Subject, quota: str, name: str, least: int) -> Iterator[Failure]:
    request, limit = subject.requests.get(name), subject.limits.get(name)
    rule = f"minimum {name} per {subject.type} is {_text(name, least)}, but {subject.words}"
    if request is None:
        if name not in subject.shared:
            yield _failure(subject, quota, name=name, bound=least, requested=None, message=f"{rule} requests none")
    elif request < least:
        yield _failure(
            subject, quota, name=name, bound=least, requested=request, message=f"{rule} requests {_text(name, request)}"
        )
    elif limit is not None and limit < least:
        yield _failure(
            subject,
            quota,
            name=name,
            bound=least,
            requested=limit,
            message=f"{rule} has a limit of {_text(name, limit)}",
        )


def _above(subject: _Subject, quota: str, name: str, most: int) -> Iterator[Failure]:
    request, limit = subject.requests.get(name), subject.limits.get(name)
    asks = [
        f"{words} {_text(name, amount)}"
        for words, amount in (("requests", request), ("has a limit of", limit))
        if amount is not None and amount > most
    ]
    if asks:
        rule = f"maximum {name} per {subject.type} is {_text(name, most)}, but {subject.words}"
        asked = max(amount for amount in (request, limit) if amount is not None)
        yield _failure(subject, quota, name=name, bound=most, requested=asked, message=f"{rule} {' and '.join(asks)}")


def _beyond_ratio(subject: _Subject, quota: str, name: str, ratio: int) -> Iterator[Failure]:
    request, limit = subject.requests.get(name), subject.limits.get(name)
    rule = f"maximum ratio of limit to request of {name} per {subject.type} is {canonical(ratio)}, but {subject.words}"
    if request is None or limit is None:
        if name not in subject.shared:
            missing = "request" if request is None else "limit"
            yield _failure(subject, quota, name=name, bound=ratio, requested=None, message=f"{rule} has no {missing}")
    elif request == 0 or limit == 0:
        yield _failure(
            subject,
            quota,
            name=name,
            bound=ratio,
            requested=None,
            message=f"{rule} has a {'limit' if request else 'request'} of 0",
        )
    elif limit * NANO > ratio * request:
        asked = -(-limit * NANO // request)
        what = f"has {asked / NANO:.3g} (a limit of {_text(name, limit)}, a request of {_text(name, request)})"
        yield _failure(subject, quota, name=name, bound=ratio, requested=asked, message=f"{rule} {what}")


def _failure(subject: _Subject, quota: str, *, name: str, bound: int, requested: int | None, message: str) -> Failure:
    return Failure(Step.BOUNDS, quota, name, message, bound, requested=requested, where=subject.container)


def _text(name: str, amount: int) -> str:
    return canonical(amount, binary=is_binary(name))
