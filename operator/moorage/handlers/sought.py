"""The units of a buffer that should be there, and what placeholders for them count for in quotas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.backends.allocation import Allocation
from moorage.backends.choice import Backend
from moorage.backends.placeholder import placeholder_document, placeholder_pod
from moorage.backends.plan import Owner, Plan
from moorage.backends.word import Word
from moorage.buffer.holdings import Holding
from moorage.objects import Pod
from moorage.quota.counting.pods import pod_amounts
from moorage.quota.scopes import ScopeFacts, scope_facts


@dataclass(frozen=True, slots=True)
class Sought:
    """The units that should be there, as they were last asked for."""

    plan: Plan
    """Without its sizes."""
    encoded: bytes
    """The pod template of a unit before anything is added to it, as JSON."""
    backend: Backend
    allocation: Allocation
    word: Word
    """What the autoscaler says of nodes for them."""

    @property
    def shape(self) -> tuple[object, ...]:
        """All that the shape of a unit is made of."""
        return self.encoded, self.plan.dedicated, self.plan.placement


def placeholders_of(sought: Sought) -> Holding | None:
    """Return what the placeholders count for that are sought; other backends seek none."""
    owner, units = sought.plan.owner, sought.allocation.active
    if sought.backend is not Backend.PLACEHOLDER:
        return Holding(owner.name, 0, {}, ScopeFacts())
    overhead = (sought.plan.template.get("spec") or {}).get("overhead")
    return placeholders_in(placeholder_document(sought.plan, replicas=units), owner, units, overhead)


def placeholders_in(
    deployment: Mapping[str, Any], owner: Owner, units: int, overhead: Mapping[str, str] | None = None
) -> Holding | None:
    """Return what so many placeholders of a Deployment count for; None when a pod of it cannot be read."""
    try:
        spec = placeholder_pod(deployment, overhead)
        return Holding(owner.name, units, pod_amounts(Pod(spec=spec)), scope_facts(spec))
    except (msgspec.ValidationError, ValueError):
        return None  # the API server takes no such pod either
