"""The names that `hard` may carry: what each counts, and of which objects.

Follows the evaluators of `pkg/quota/v1/evaluator/core` and `pkg/quota/v1/install/registry.go` of Kubernetes v1.36.
Several names can count the same thing (`cpu` is `requests.cpu`); the *source* is the one under which usage is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

PODS = "pods"
"""Pods that have not finished; also the resource that pods are."""
COUNT_PODS = "count/pods"
"""All stored pods, finished ones too."""
SERVICES = "services"
VOLUME_CLAIMS = "persistentvolumeclaims"
DEVICE_CLAIMS = "resourceclaims.resource.k8s.io"

STORAGE = "requests.storage"
LOAD_BALANCERS = "services.loadbalancers"
NODE_PORTS = "services.nodeports"
COUNT = "count/"

STORAGE_CLASS_SUFFIXES = (
    ".storageclass.storage.k8s.io/persistentvolumeclaims",
    ".storageclass.storage.k8s.io/requests.storage",
)
DEVICE_CLASS_SUFFIX = ".deviceclass.resource.k8s.io/devices"
IMPLICIT_DEVICE_PREFIX = "requests.deviceclass.resource.kubernetes.io/"
"""Followed by the name of a DeviceClass: its devices asked for by claims, and by pods as an extended resource."""

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_LEGACY_COUNTS = ("configmaps", "secrets", "replicationcontrollers", "resourcequotas", SERVICES, VOLUME_CLAIMS)
_NEVER_COUNTED = (
    "events",
    "events.events.k8s.io",
    "bindings",
    "componentstatuses",
    "tokenreviews.authentication.k8s.io",
    "selfsubjectreviews.authentication.k8s.io",
    "subjectaccessreviews.authorization.k8s.io",
    "selfsubjectaccessreviews.authorization.k8s.io",
    "localsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectrulesreviews.authorization.k8s.io",
)
_GROUPS = {
    "apps": ("deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("jobs", "cronjobs"),
    "coordination.k8s.io": ("leases",),
    "discovery.k8s.io": ("endpointslices",),
    "networking.k8s.io": ("ingresses", "networkpolicies"),
    "policy": ("poddisruptionbudgets",),
    "rbac.authorization.k8s.io": ("roles", "rolebindings"),
    "resource.k8s.io": ("resourceclaims", "resourceclaimtemplates"),
    "storage.k8s.io": ("csistoragecapacities",),
}
_GROUP_OF = {resource: group for group, resources in _GROUPS.items() for resource in resources}
"""Built-in resources that people think have no group; the core group will never have others of these names."""
_DISPLAY_ORDER = (
    "requests.cpu",
    "cpu",
    "limits.cpu",
    "requests.memory",
    "memory",
    "limits.memory",
    PODS,
    COUNT_PODS,
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a name counts."""

    source: str
    """The one spelling under which usage is kept."""
    resources: tuple[str, ...]
    """The resources whose objects it counts, as `kubectl` names them: `pods`, `deployments.apps`."""


def counted(name: str) -> Counted | None:
    """Return what a name counts, or None when no controller ever counts it (see `why_not_counted`)."""
    if name in (PODS, COUNT_PODS):
        return Counted(name, (PODS,))
    if name in _LEGACY_COUNTS:
        return Counted(f"{COUNT}{name}", (name,))
    if name.startswith(COUNT):
        resource = name.removeprefix(COUNT)
        return Counted(name, (resource,)) if why_not_counted(name) is None else None
    if name == STORAGE or name.endswith(STORAGE_CLASS_SUFFIXES):
        return Counted(name, (VOLUME_CLAIMS,))
    if name in (LOAD_BALANCERS, NODE_PORTS):
        return Counted(name, (SERVICES,))
    if name.endswith(DEVICE_CLASS_SUFFIX):
        return Counted(name, (DEVICE_CLAIMS,))
    return _compute(name)


def _compute(name: str) -> Counted | None:
    if name in _COMPUTE or name.startswith("hugepages-"):
        return Counted(f"requests.{name}", (PODS,))
    side, _, resource = name.partition(".")
    if side == "limits":
        return Counted(name, (PODS,)) if resource in _COMPUTE else None
    if side != "requests":
        return None
    if resource in _COMPUTE or resource.startswith("hugepages-"):
        return Counted(name, (PODS,))
    if is_extended(resource) or name.startswith(IMPLICIT_DEVICE_PREFIX):
        return Counted(name, (PODS, DEVICE_CLAIMS))
    return None


def why_not_counted(name: str) -> str | None:
    """Return why no controller ever counts this name and which one to write instead; None when one does."""
    resource = name.removeprefix(COUNT)
    if name.startswith(COUNT):
        if resource in (LOAD_BALANCERS, NODE_PORTS):
            return f"{name} would be a resource in API group {resource.partition('.')[2]}; write {resource}"
        if group := _GROUP_OF.get(resource):
            return f"{name} counts nothing, since {resource} belong to an API group; write {name}.{group}"
        return f"{name} is never counted by Kubernetes" if resource in _NEVER_COUNTED else None
    if counted(name) is not None:
        return None
    bare = name.removeprefix("limits.")
    if is_extended(bare):
        return f"{name} is never counted; write requests.{bare}"
    return f"{name} is never counted"


def counts_objects(name: str) -> bool:
    """Whether this name limits a number of objects, not an amount that they ask for."""
    what = counted(name)
    return what is not None and (
        what.source.startswith(COUNT)
        or what.source in (PODS, LOAD_BALANCERS, NODE_PORTS)
        or what.source.endswith(STORAGE_CLASS_SUFFIXES[0])
    )


def compute(name: str) -> tuple[str, str] | None:
    """Return `requests` or `limits`, and the resource, of a name that every container has to specify.

    None for all other names: those of hugepages and extended resources too, of which what asks for none has none.
    """
    side, dot, resource = name.partition(".")
    side, resource = (side, resource) if dot else ("requests", side)
    return (side, resource) if side in ("requests", "limits") and resource in _COMPUTE else None


def is_extended(resource: str) -> bool:
    """Whether this is an extended resource such as `nvidia.com/gpu` (a domain, and not Kubernetes' own)."""
    return "/" in resource and "kubernetes.io/" not in resource


def is_binary(name: str) -> bool:
    """Whether amounts under this name are bytes, spelled in powers of 1024."""
    resource = name.removeprefix("requests.").removeprefix("limits.")
    return (
        resource in ("memory", "ephemeral-storage", "storage")
        or resource.startswith("hugepages-")
        or name.endswith("/requests.storage")
    )


def display_order(name: str) -> tuple[int, str]:
    """Sort key: cpu, memory and pods first, then by name."""
    return (_DISPLAY_ORDER.index(name) if name in _DISPLAY_ORDER else len(_DISPLAY_ORDER), name)


def short_name(name: str) -> str:
    """Return the name without a leading `requests.`, as printer columns show it."""
    return name.removeprefix("requests.")
