"""Conditions about single objects: limits that contradict each other, and workloads whose pods would be refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moorage.api.conditions import Condition
from moorage.quota.admission import QuotaState
from moorage.quota.conflicts import Conflict
from moorage.quota.ledger import Holder
from moorage.quota.names import PODS, counted
from moorage.quota.report import QuotaReport
from moorage.quota.workloads import Findings, demands_of_single_pods
from moorage.status.findings import RESOLVING, condition, plural

LIMITS_CONFLICT, WORKLOADS_REFUSED = "LimitsConflict", "WorkloadsRefused"

_NAMED = 5
"""How many workloads are named."""
_SHOWN = 20
"""How many contradictions are told: a quota may be against hundreds of others, and a condition has an end."""


def limits_conflict(quota: QuotaState, conflicts: Sequence[Conflict], generation: int) -> list[Condition]:
    """Say of a quota with limits whether they go together with those of the others; `conflicts` are its own."""
    if not quota.limits:
        return []
    if conflicts:
        messages = [each.message for each in conflicts[:_SHOWN]]
        if more := len(conflicts) - len(messages):
            messages.append(f"{plural(more, 'further contradiction')}")
        return [condition(LIMITS_CONFLICT, "True", "OtherQuota", "; ".join(messages), generation=generation)]
    message = "spec.limits contradicts no other NamespaceQuota of this namespace"
    return [condition(LIMITS_CONFLICT, "False", "Consistent", message, generation=generation)]


def workloads_refused(
    quota: QuotaState,
    findings: Findings | None,
    *,
    report: QuotaReport,
    holders: Callable[[str], list[Holder]],
    generation: int,
) -> list[Condition]:
    """Name the workloads whose next pod the quota refuses: for itself, or since more is used than is allowed.

    `findings` None: nobody has looked at them yet.
    """
    by_themselves = demands_of_single_pods(quota)
    if by_themselves and (findings is None or not findings.tell_of(quota)):
        message = "the workloads of the namespace are being read"
        return [condition(WORKLOADS_REFUSED, "Unknown", RESOLVING, message, generation=generation)]
    reasons = _over_total(report, holders)
    problems: tuple[str, ...] = ()
    if by_themselves and findings is not None:
        problems = findings.problems
        for each in findings.refused:
            if each.quota == quota.name:
                reasons.setdefault(each.workload, []).extend(failure.message for failure in each.failures)
    elif not reasons:
        return []
    if reasons:
        message = "; ".join([_named(reasons, quota), *problems])
        return [condition(WORKLOADS_REFUSED, "True", "NextPodRefused", message, generation=generation)]
    if problems:
        return [
            condition(WORKLOADS_REFUSED, "Unknown", "WorkloadsUnreadable", "; ".join(problems), generation=generation)
        ]
    message = "no workload was found whose next pod would be refused"
    return [condition(WORKLOADS_REFUSED, "False", "AllAdmitted", message, generation=generation)]


def _over_total(report: QuotaReport, holders: Callable[[str], list[Holder]]) -> dict[str, list[str]]:
    """Return the largest workloads that use what is overdrawn, and why they get no other pod."""
    reasons: dict[str, list[str]] = {}
    for line in report.exceeded:
        what = counted(line.name)
        if what is not None and PODS in what.resources:
            for holder in holders(line.name):
                if holder.pods and not holder.workload.startswith("Pod/"):
                    reasons.setdefault(holder.workload, []).append(f"{line.name} is at {line.text}")
    return reasons


def _named(reasons: dict[str, list[str]], quota: QuotaState) -> str:
    would = "could not make another pod" if quota.is_enforced else "could not make another pod in Enforce mode"
    named = [f"{workload} ({'; '.join(reasons[workload])})" for workload in sorted(reasons)[:_NAMED]]
    more = [f"{len(reasons) - _NAMED} more"] if len(reasons) > _NAMED else []
    return f"{plural(len(reasons), 'workload')} {would}: {', '.join([*named, *more])}"
