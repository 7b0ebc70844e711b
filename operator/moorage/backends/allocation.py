"""How many units each object of a backend is to hold, and which objects there are."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.backends.autoscaler import Tier, buffer_document, unit_template
from moorage.backends.choice import STRATEGY_IGNORED, Backend, Choice, Standby
from moorage.backends.placeholder import placeholder_document
from moorage.backends.plan import PAUSE_IMAGE, Document, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Where a buffer's units go."""

    active: int
    standby: int
    folded: int = 0
    """Standby units among the active ones, since there is no standby capacity (standbyFallback: Active)."""
    withheld: int = 0
    """Standby units that are not made, for the same reason."""
    refused: int = 0
    """Placeholders beyond the limit that the operator was given."""


def allocate(
    choice: Choice,
    *,
    active: int,
    standby: int,
    fold: bool,
    folded: bool = False,
    most_placeholders: int | None = None,
) -> Allocation:
    """Return where units go.

    Without standby capacity, standby units are folded into active ones when asked for (`fold`), else withheld. While it
    is not known, none are made, but those that are `folded` stay.
    """
    if choice.backend is Backend.NONE:
        return Allocation(active=active, standby=standby)
    folds = choice.standby is Standby.UNSUPPORTED or (choice.standby is Standby.ASKED and folded)
    among_active = standby if fold and folds else 0
    withheld = standby - among_active if choice.standby is not Standby.SUPPORTED else 0
    whole, refused = active + among_active, 0
    if choice.backend is Backend.PLACEHOLDER and most_placeholders is not None:
        refused = max(whole - most_placeholders, 0)
    return Allocation(
        active=whole - refused,
        standby=0 if choice.standby is not Standby.SUPPORTED else standby,
        folded=among_active,
        withheld=withheld,
        refused=refused,
    )


def documents(
    plan: Plan, choice: Choice, allocation: Allocation, *, version: str | None, pause_image: str = PAUSE_IMAGE
) -> list[Document]:
    """Return the objects that should exist. `version` is that of the autoscalers' API, None when it is not served."""
    if choice.backend is Backend.NONE:
        return []
    found: list[Document] = []
    if choice.backend is Backend.PLACEHOLDER:
        found.append(placeholder_document(plan, replicas=allocation.active, pause_image=pause_image))
    if version is None or (choice.backend is Backend.PLACEHOLDER and not choice.probes):
        return found
    is_probe = choice.backend is Backend.PLACEHOLDER
    found.append(unit_template(plan))
    found.append(buffer_document(plan, Tier.ACTIVE, replicas=0 if is_probe else allocation.active, version=version))
    asks = choice.standby is not Standby.UNSUPPORTED or choice.standby_reason == STRATEGY_IGNORED
    if not is_probe and asks and (allocation.standby or allocation.withheld or allocation.folded):
        found.append(buffer_document(plan, Tier.STANDBY, replicas=allocation.standby, version=version))
    return found
