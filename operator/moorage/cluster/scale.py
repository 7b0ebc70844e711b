"""The size of a workload, from its scale subresource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource
from moorage.cluster.errors import ApiError
from moorage.cluster.reference import Reference
from moorage.status.workload import Unresolved


@dataclass(frozen=True, slots=True)
class Scale:
    """How many pods are wanted, and the labels by which they are found; an empty text when that is not told."""

    replicas: int
    selector: str


async def read_scale(client: Client, resource: Resource, reference: Reference) -> Scale | Unresolved:
    """Read the size of a workload, or why it has none.

    It is the wanted one: it changes at once, while the number of pods follows. Raises ClusterError.
    """
    if not resource.has_scale:
        return Unresolved(
            "ScaleUnsupported",
            f"{resource.label} have no /scale, so the size of {reference} is not known; select its pods by "
            f"spec.selector, or refer to a kind with a scale subresource, to a Job, or to a PodTemplate "
            f"(spec.podTemplateRef)",
        )
    try:
        scale: dict[str, Any] = await client.get(f"{resource.path(reference.namespace)}/{reference.name}/scale")
    except ApiError as error:
        if error.forbidden:
            rule = resource.rule("get", subresource="/scale")
            return Unresolved("Forbidden", f"the scale of {reference} cannot be read: {error}; {rule}")
        if error.not_found:
            return Unresolved("WorkloadNotFound", f"{reference} has no scale: {error}")
        raise
    spec, status = scale.get("spec") or {}, scale.get("status") or {}
    return Scale(int(spec.get("replicas") or 0), str(status.get("selector") or ""))
