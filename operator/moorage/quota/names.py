"""The names that `hard` may carry and what each counts.

Follows `pkg/quota/v1/evaluator/core/pods.go` of Kubernetes v1.36. Several names can count the same thing (`cpu` is
`requests.cpu`); the *source* is the one spelling under which usage is kept.
"""

from __future__ import annotations

PODS = "pods"
"""Pods that have not finished."""
COUNT_PODS = "count/pods"
"""All stored pods, finished ones too."""

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
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


def pod_source(name: str) -> str | None:
    """Return the source that this name counts of pods, or None when it counts nothing of pods."""
    if name in (PODS, COUNT_PODS):
        return name
    if name in _COMPUTE or name.startswith("hugepages-"):
        return f"requests.{name}"
    side, _, resource = name.partition(".")
    if side == "limits":
        return name if resource in _COMPUTE else None
    if side != "requests":
        return None
    if resource in _COMPUTE or resource.startswith("hugepages-") or is_extended(resource):
        return name
    return None


def is_extended(resource: str) -> bool:
    """Whether this is an extended resource such as `nvidia.com/gpu` (a domain, and not Kubernetes' own)."""
    return "/" in resource and "kubernetes.io/" not in resource


def is_binary(name: str) -> bool:
    """Whether amounts under this name are bytes, spelled in powers of 1024."""
    resource = name.removeprefix("requests.").removeprefix("limits.")
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def display_order(name: str) -> tuple[int, str]:
    """Sort key: cpu, memory and pods first, then by name."""
    return (_DISPLAY_ORDER.index(name) if name in _DISPLAY_ORDER else len(_DISPLAY_ORDER), name)


def short_name(name: str) -> str:
    """Return the name without a leading `requests.`, as printer columns show it."""
    return name.removeprefix("requests.")
