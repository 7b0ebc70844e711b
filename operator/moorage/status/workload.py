"""What a buffer's reference leads to."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.objects import PodSpec


@dataclass(frozen=True, slots=True)
class Workload:
    """An object that tells what a unit looks like and, unless it is a PodTemplate, how large the workload is."""

    template: PodSpec | None
    """The shape of one unit; None when the object has no pod template."""
    replicas: int | None = None
    """The size of the workload; None for a PodTemplate."""
    encoded: bytes = b""
    """The unit as a pod template in JSON, `metadata` (labels, annotations) and `spec`; empty without a template."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why something that a buffer depends on is not known; `pending` while it is still being read."""

    reason: str
    message: str
    pending: bool = False


NO_REFERENCE = Unresolved(
    "NoReference", "nothing says what a unit looks like: set spec.scalableRef or spec.podTemplateRef"
)

SHAPE_UNKNOWN = Unresolved(
    "ShapeUnknown", "the workload has no pod template, so what a unit takes of the namespace's quotas is not known"
)
