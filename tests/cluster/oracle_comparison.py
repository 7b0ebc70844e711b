"""What both quotas say is used, compared number by number, and how a difference is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.quantity import NANO, canonical
from tests.cluster.native import used
from tests.cluster.oracle_operations import API_VERSIONS, Operation
from tests.cluster.oracle_others import RESOURCES
from tests.cluster.rest import Object, Rest

Quotas = Mapping[str, Object]
"""Specs by name."""
Used = Mapping[str, Mapping[str, int]]
"""What each quota says is used, in nano-units."""

COUNTED = {
    **{kind: f"count/{resource}" for kind, resource in RESOURCES.items()},
    "Pod": "count/pods",
    "Service": "count/services",
    "PersistentVolumeClaim": "count/persistentvolumeclaims",
    "ResourceClaim": "count/resourceclaims.resource.k8s.io",
}
"""The name in `hard` that counts the objects of each kind, in a quota without scopes."""
_NOISE = {
    *("managedFields", "resourceVersion", "generation", "selfLink", "namespace", "creationTimestamp"),
    *("volumes", "volumeMounts", "tolerations", "schedulerName", "image", "imagePullPolicy", "dnsPolicy", "data"),
    *("terminationMessagePath", "terminationMessagePolicy", "securityContext", "serviceAccount", "serviceAccountName"),
    *("enableServiceLinks", "preemptionPolicy", "restartCount", "imageID", "ready", "lastTransitionTime", "template"),
}
"""Fields that no quota looks at."""


@dataclass
class Tally:
    """What was compared and agreed on."""

    settled: int = 0
    comparisons: int = 0
    held: set[tuple[str, str]] = field(default_factory=set)
    """Quotas with their resources that were not 0 at some settle point."""

    def add(self, quotas: Quotas, agreed: Used) -> None:
        self.settled += 1
        for quota, spec in quotas.items():
            self.comparisons += len(spec["hard"])
            self.held.update((quota, resource) for resource, amount in agreed[quota].items() if amount)


@dataclass(frozen=True)
class Mismatch:
    """A number of ours that is not right, in nano-units; None where there is none."""

    quota: str
    resource: str
    ours: int | None
    right: int | None
    said_by: str = "native"

    def __str__(self) -> str:
        ours, right = ("nothing" if each is None else canonical(each) for each in (self.ours, self.right))
        return f"quota {self.quota}, {self.resource}: ours {ours}, {self.said_by} {right}"


def all_used(rest: Rest, namespace: str, kind: str, version: str = "v1") -> Used:
    """Read what all quotas of a kind say."""
    found = rest.items(namespace, kind, version)
    return {each["metadata"]["name"]: used(each.get("status") or {}) for each in found}


def mismatches(quotas: Quotas, ours: Used, native: Used) -> list[Mismatch]:
    """Compare by number; a resource that one of them leaves out is a mismatch too."""
    return [
        Mismatch(quota, resource, ours[quota].get(resource), native[quota].get(resource))
        for quota, spec in quotas.items()
        for resource in spec["hard"]
        if ours[quota].get(resource) != native[quota].get(resource)
    ]


def miscounts(rest: Rest, namespace: str, quotas: Quotas, ours: Used) -> list[Mismatch]:
    """Compare with how many objects there are, lest both be as late as each other."""
    there = {name: len(items(rest, namespace, kind)) * NANO for kind, name in COUNTED.items()}
    return [
        Mismatch(quota, resource, amount, there[resource], "there are")
        for quota, spec in quotas.items()
        for resource, amount in ours[quota].items()
        if spec.keys() == {"hard"} and there.get(resource, amount) != amount
    ]


def items(rest: Rest, namespace: str, kind: str) -> list[Object]:
    return rest.items(namespace, kind, API_VERSIONS.get(kind, "v1"))


def report(
    rest: Rest, namespace: str, quotas: Quotas, found: Iterable[Mismatch], recent: Iterable[Operation]
) -> Iterator[str]:
    """Yield the lines that tell of a difference: the numbers, the quotas, what was done last, and what is there."""
    yield from map(str, found)
    for name in sorted({each.quota for each in found}):
        yield f"quota {name}: {json.dumps(quotas[name])}"
    yield "since they agreed last:"
    for operation in recent:
        yield f"  {operation}"
    yield f"the objects of namespace {namespace}:"
    for kind in COUNTED:
        for each in items(rest, namespace, kind):
            yield f"  {kind} {json.dumps(_without_noise(each))}"


def _without_noise(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_noise(each) for key, each in value.items() if key not in _NOISE}
    return [_without_noise(each) for each in value] if isinstance(value, list) else value
