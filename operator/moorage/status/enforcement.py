"""The condition Enforced: whether the API server refuses what breaks a quota, and by which means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from moorage.api.conditions import Condition
from moorage.status.findings import ConditionStatus, condition, listed

ENFORCED = "Enforced"
PROVING = "Proving"


@dataclass(frozen=True, slots=True)
class Means:
    """One means of enforcement, and whether it has been proved to be in force."""

    words: str
    """What it does, such as `totals by ResourceQuota moorage-team`."""
    reason: str
    """Reason of the condition while it is not in force."""
    problem: str = ""
    """Why it is not known to be in force; empty: it is."""
    is_unread: bool = False
    """Whether the problem is only that something has not been read yet."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What is known of the enforcement of one quota."""

    means: tuple[Means, ...] = ()
    is_audit: bool = False
    is_exempt: bool = False
    """The namespace is one that no quota may lock."""
    is_settling: bool = False
    """Something changed only a moment ago."""
    is_first: bool = False
    """Since the operator started it has not been seen in force yet."""
    uncounted: tuple[str, ...] = ()
    """Names in `hard` that no quota of the API server counts."""
    aggregated: tuple[str, ...] = ()
    """Resources of aggregated APIs, which no quota of the API server limits."""
    notes: tuple[str, ...] = ()
    """What else is to be told, such as edits that were put back."""


def enforced(found: Enforcement, generation: int) -> Condition:
    """Return the condition."""

    def result(status: ConditionStatus, reason: str, *parts: str) -> Condition:
        message = "; ".join([*parts, *found.notes])
        return condition(ENFORCED, status, reason, message, generation=generation)

    if found.is_audit:
        return result("False", "Audit", "spec.enforcement is Audit: nothing is refused and nothing is filled in")
    if found.is_exempt:
        message = "nothing is refused in this namespace, so that no quota can keep the cluster or Moorage from running"
        return result("False", "ExemptNamespace", message)
    gaps = list(_gaps(found))
    problems = [each for each in found.means if each.problem]
    words = [each.words for each in found.means if not each.problem]
    if problems and (found.is_settling or all(each.is_unread for each in problems)):
        return result("Unknown", PROVING, *(each.problem for each in problems))
    if problems or gaps:
        reasons = [*(each.reason for each in problems), *(reason for reason, _ in gaps)]
        texts = [*(each.problem for each in problems), *(text for _, text in gaps)]
        return result("False", reasons[0], *texts, *([f"in force: {', '.join(words)}"] if words else []))
    if not words:
        return result("True", "NothingToEnforce", "the spec limits nothing")
    return result("True", "Proved", f"proved on the API server: {', '.join(words)}")


def _gaps(found: Enforcement) -> Iterable[tuple[str, str]]:
    """Yield what no means can enforce, each with its reason."""
    if found.aggregated:
        served = "counted, but served by an aggregated API, which the API server's quotas do not cover"
        yield "AggregatedAPI", f"{listed(found.aggregated)}: {served}"
    if found.uncounted:
        yield "UnsupportedResource", f"{listed(found.uncounted)}: never counted, so never limited"
