"""What the oracle's workload does, as data: one request each, so that a seed can tell all of them beforehand."""

from __future__ import annotations

import copy
import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tests.cluster.case_objects import VERSIONS
from tests.cluster.rest import MERGE, Object

NAMESPACE = "$NS"
FINALIZER = "example.com/kept"
"""What it is on is kept after its deletion until it is let go."""

API_VERSIONS = VERSIONS | {
    "CronJob": "batch/v1",
    "Deployment": "apps/v1",
    "Ingress": "networking.k8s.io/v1",
    "Job": "batch/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "ResourceClaim": "resource.k8s.io/v1",
    "ResourceClaimTemplate": "resource.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "StatefulSet": "apps/v1",
    "Widget": "example.com/v1",
}
"""Of the kinds that are not in v1."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One request. Its texts may hold words for what only the cluster knows: `NAMESPACE` and those of `uid_of`."""

    verb: Literal["create", "patch", "delete"]
    kind: str
    name: str
    body: Any = None
    """The manifest, or the changes."""
    sub: str = ""
    how: str = MERGE
    grace: int | None = None
    refused: int | None = None
    """The code with which it has to be refused; None: it has to be done."""
    bound: bool = False
    """A claim that has to be bound to its volume before."""

    @property
    def version(self) -> str:
        return API_VERSIONS.get(self.kind, "v1")

    def __str__(self) -> str:
        what = f"{self.verb} {self.kind}/{self.name}" + (f"/{self.sub}" if self.sub else "")
        grace = "" if self.grace is None else f" with {self.grace} s of grace"
        refused = "" if self.refused is None else f", to be refused with {self.refused}"
        return f"{what}{grace}{refused}" + ("" if self.body is None else f": {self.body}")


Action = tuple[int, Callable[[], list[Operation]]]
"""Something to do and how often, compared with others; it may find that there is nothing to do it to."""


def uid_of(pod: str) -> str:
    """Return the word for the uid of a pod that was made before."""
    return f"$UID:{pod}$"


def create(kind: str, name: str, manifest: Object, *, keep: bool = False, refused: int | None = None) -> Operation:
    """Make an object, with a finalizer if it shall be kept after its deletion."""
    metadata = {**manifest.get("metadata", {}), "name": name} | ({"finalizers": [FINALIZER]} if keep else {})
    whole = {"apiVersion": API_VERSIONS.get(kind, "v1"), "kind": kind, **manifest, "metadata": metadata}
    return Operation(verb="create", kind=kind, name=name, body=copy.deepcopy(whole), refused=refused)


def patch(
    kind: str,
    name: str,
    changes: Any,
    *,
    sub: str = "",
    how: str = MERGE,
    refused: int | None = None,
    bound: bool = False,
) -> Operation:
    return Operation(verb="patch", kind=kind, name=name, body=changes, sub=sub, how=how, refused=refused, bound=bound)


def delete(kind: str, name: str, *, grace: int | None = None) -> Operation:
    return Operation(verb="delete", kind=kind, name=name, grace=grace)


def let_go(kind: str, name: str) -> Operation:
    """Take away the finalizer."""
    return patch(kind, name, {"metadata": {"finalizers": None}})


class Names:
    """Names of objects, each used once."""

    def __init__(self) -> None:
        self._numbers: dict[str, itertools.count[int]] = defaultdict(itertools.count)

    def new(self, kind: str) -> str:
        return f"{kind.lower()}-{next(self._numbers[kind])}"
