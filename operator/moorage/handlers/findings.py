"""What a buffer's owner should know of how its units are made, from all that is known of the cluster."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.backends.allocation import Allocation
from moorage.backends.choice import Backend, Choice
from moorage.backends.placeholder import LOWEST_PRIORITY, priority_problem
from moorage.backends.plan import Plan
from moorage.backends.unit import requested
from moorage.backends.warnings import Finding, warnings
from moorage.cluster.owned import OwnedObject
from moorage.cluster.surroundings import Surroundings
from moorage.density.nodes import Node
from moorage.handlers.sites import open_places


def findings(
    plan: Plan,
    choice: Choice,
    allocation: Allocation,
    surroundings: Surroundings,
    *,
    holders: OwnedObject | None,
    nodes: Mapping[str, Node],
    most_placeholders: int,
) -> tuple[Finding, ...]:
    """Return the warnings; `holders` is the Deployment of placeholders, None when there is none."""
    stored = surroundings.priority_class
    found = warnings(
        plan,
        choice,
        kubernetes=surroundings.kubernetes,
        priority=int(stored.get("value") or 0) if stored is not None else LOWEST_PRIORITY,
        places=open_places(nodes) if plan.dedicated else (),
    )
    if choice.backend is not Backend.PLACEHOLDER:
        return found
    own = (
        _class_problem(surroundings),
        _limit_problem(allocation, most_placeholders),
        _refusal(holders),
        _not_held(plan),
    )
    return (*(each for each in own if each is not None), *found)


def _class_problem(surroundings: Surroundings) -> Finding | None:
    if not surroundings.priority_class_is_known:
        return None
    problem = priority_problem(surroundings.priority_class)
    return Finding("PriorityClass", problem) if problem else None


def _limit_problem(allocation: Allocation, most: int) -> Finding | None:
    if not allocation.refused:
        return None
    message = f"{allocation.refused} units are not made: a buffer may have {most} placeholders (--max-placeholders)"
    return Finding("PlaceholderLimit", message)


def _not_held(plan: Plan) -> Finding | None:
    asked = sorted(plan.not_held & requested(plan.template))
    if not asked:
        return None
    names = " and ".join(asked)
    why = f"a quota of the namespace limits {names}, of which the API server counts placeholders like any pod"
    return Finding("NotHeld", f"placeholders hold no {names}, so that they keep no real pod out: {why}")


def _refusal(holders: OwnedObject | None) -> Finding | None:
    """Return why placeholders cannot be created, such as a quota, as their Deployment says it."""
    conditions = (holders.body.get("status") or {}).get("conditions") or () if holders is not None else ()
    for each in conditions:
        if each["type"] == "ReplicaFailure" and each["status"] == "True":
            return Finding("PlaceholdersRefused", f"placeholders cannot be created: {each.get('message')}")
    return None
