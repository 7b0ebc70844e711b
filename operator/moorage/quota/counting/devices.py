"""What a claim for devices counts for.

Follows `pkg/quota/v1/evaluator/core/resource_claims.go` of Kubernetes v1.36 with DRAExtendedResource on, its default.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from moorage.objects import DeviceRequest, DeviceRequestChoice, ResourceClaim
from moorage.quantity import NANO
from moorage.quota.names import COUNT, DEVICE_CLAIMS, DEVICE_CLASS_SUFFIX, IMPLICIT_DEVICE_PREFIX
from moorage.quota.usage import Claimed, ObjectUse, Shapes

DEVICES_OF_ALL = 32
"""What a request for all devices counts for: the most that a claim can get (AllocationResultsMaxSize)."""

MISSING_CLASS = "missing-class:"
"""Before the implicit name of a class that does not exist: such devices count only in quotas that count claims anyway,
which is a quirk of the native controller. See `counts_claims_anyway`.
"""

DeviceClasses = Mapping[str, str | None] | None
"""The DeviceClasses that exist, each with the extended resource name under which pods may ask for its devices.

None when they cannot be known: then every class is taken to exist, and to have no such name.
"""


def names_of_classes(classes: DeviceClasses) -> frozenset[str]:
    """Return the names in `hard` under which devices of these classes count beside what pods ask for."""
    known = classes or {}
    extended = {f"requests.{name}" for name in known.values() if name}
    return frozenset(f"{IMPLICIT_DEVICE_PREFIX}{name}" for name in known) | extended


def counts_claims_anyway(names: Set[str], of_classes: Set[str]) -> bool:
    """Whether a quota with these names counts claims, whatever it says of classes that do not exist.

    `of_classes` are the names of the classes that do (see `names_of_classes`).
    """
    always = any(name == f"{COUNT}{DEVICE_CLAIMS}" or name.endswith(DEVICE_CLASS_SUFFIX) for name in names)
    return always or not names.isdisjoint(of_classes)


def device_claim_use(claim: ResourceClaim, classes: DeviceClasses, shapes: Shapes) -> ObjectUse:
    """Return the record of a stored claim; whether it is allocated makes no difference."""
    counted = {f"{COUNT}{DEVICE_CLAIMS}": NANO}
    shared = []
    for name, devices in _devices(claim).items():
        amount = devices * NANO
        counted[f"{name}{DEVICE_CLASS_SUFFIX}"] = amount
        implicit = f"{'' if classes is None or name in classes else MISSING_CLASS}{IMPLICIT_DEVICE_PREFIX}{name}"
        shared.append(implicit)
        counted[implicit] = amount
        if extended := (classes or {}).get(name):
            shared.append(f"requests.{extended}")
            counted[f"requests.{extended}"] = counted.get(f"requests.{extended}", 0) + amount
    return shapes.use(
        DEVICE_CLAIMS, claim.metadata, counted, kind="ResourceClaim", claim=_claimed(claim, tuple(shared))
    )


def _devices(claim: ResourceClaim) -> dict[str, int]:
    """Return how many devices are asked for, by class."""
    total: dict[str, int] = {}
    for choice in claim.spec.devices.requests or ():
        for name, devices in _largest(choice).items():
            total[name] = total.get(name, 0) + devices
    return total


def _largest(choice: DeviceRequestChoice) -> dict[str, int]:
    """Return one request's devices by class; of alternatives the largest of each class."""
    largest: dict[str, int] = {}
    exactly = choice.exactly or (choice if choice.device_class_name else None)
    for request in choice.first_available or ([exactly] if exactly is not None else []):
        name = request.device_class_name
        largest[name] = max(largest.get(name, 0), _count(request))
    return largest


def _count(request: DeviceRequest) -> int:
    """Return how many devices are asked for at most; nobody knows for a mode that is newer than this code."""
    match request.allocation_mode:
        case "All":
            return DEVICES_OF_ALL
        case "ExactCount" | "" | None:
            return request.count or 1
    return 0


def _claimed(claim: ResourceClaim, shared: tuple[str, ...]) -> Claimed | None:
    """Tie a claim that the scheduler made for a pod's extended resources to that pod, which counts them already."""
    annotations, owner = claim.metadata.annotations, claim.metadata.controller
    made_for_pod = annotations is not None and annotations.extended_resource_claim == "true"
    if not made_for_pod or owner is None or owner.kind != "Pod":
        return None
    return Claimed(shared=shared, created=claim.metadata.creation_timestamp)
