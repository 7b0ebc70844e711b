"""What a buffer's reference leads to."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.buffer.measured import NOTHING_MEASURED, Measured
from moorage.objects import PodSpec


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether the API server admits a unit as a pod, and if not, what it is taken for meanwhile."""

    admitted: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Workload:
    """An object that tells what a unit looks like and, unless it is a PodTemplate, how large the workload is."""

    template: PodSpec | None
    """The shape of one unit; None when the object has no pod template."""
    replicas: int | None = None
    """The size of the workload; None for a PodTemplate."""
    encoded: bytes = b""
    """The unit as a pod template in JSON, `metadata` (labels, annotations) and `spec`; empty without a template."""
    admission: Admission | None = None
    """What came of trying the template; None when there was nothing to try, as for the shape of a pod that exists."""
    generation: int | None = None
    """The metadata.generation of a PodTemplate; None for a workload."""
    selector: str = ""
    """The labels of its pods, as a request takes them; empty when they are not told."""
    measured: Measured = NOTHING_MEASURED
    """What was measured of its pods and of the nodes that came for them."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why something that a buffer depends on is not known; `pending` while it is still being read."""

    reason: str
    message: str
    pending: bool = False


NO_REFERENCE = Unresolved(
    "NoReference",
    "nothing says what a unit looks like: set spec.scalableRef, spec.podTemplateRef or spec.selector",
)
SHAPE_UNKNOWN = Unresolved(
    "ShapeUnknown", "the workload has no pod template, so what a unit takes of the namespace's quotas is not known"
)
