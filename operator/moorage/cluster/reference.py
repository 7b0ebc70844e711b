"""What a buffer refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from moorage.status.findings import RESOLVING
from moorage.status.workload import Unresolved

PENDING = Unresolved(RESOLVING, "the referenced object is being read", pending=True)


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a buffer names; `group` None or empty: see `discovery`."""

    namespace: str
    group: str | None
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class PodsReference:
    """The pods of a workload, by a label selector as the API server takes it in a request."""

    namespace: str
    selector: str

    def __str__(self) -> str:
        return f"pods with {self.selector}"


AnyReference: TypeAlias = Reference | PodsReference
