"""The status of a NamespaceQuota."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.api.conditions import Condition
from moorage.api.namespacequota import NamespaceQuotaDisplay, NamespaceQuotaSpec, NamespaceQuotaStatus
from moorage.quota.ledger import Terms, Usage
from moorage.quota.names import COUNT_PODS, pod_source
from moorage.quota.report import NEAR_PERCENT, QuotaReport, ResourceLine, report
from moorage.quota.scopes import POD_SCOPES, Requirement
from moorage.resources import nano_of
from moorage.status.findings import COUNTING, ConditionStatus, condition, listed, plural

READY, NEAR_LIMIT, EXCEEDED = "Ready", "NearLimit", "Exceeded"


@dataclass(frozen=True, slots=True)
class PodsView:
    """How well the cluster's pods are known at this moment."""

    complete: bool = True
    """A full list has been read and the watch on it is alive."""
    finished_too: bool = True
    """The list holds pods that ended as well, as `count/pods` needs."""
    problem: str = ""
    """Why pods are not known, as a sentence; empty while all is well or still starting."""


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """A spec as the ledger and the report need it; amounts in nano-units."""

    hard: dict[str, int]
    terms: Terms
    uncounted: tuple[str, ...]
    """Names in `hard` that nothing here counts yet."""
    uncounted_scopes: tuple[str, ...]


def quota_rules(spec: NamespaceQuotaSpec) -> QuotaRules:
    """Read a spec.

    Raises QuantityError when a value of `hard` does not parse (the CRD refuses such a spec).
    """
    hard = {name: nano_of(value) for name, value in (spec.hard or {}).items()}
    selector = spec.scope_selector.match_expressions if spec.scope_selector is not None else ()
    requirements = (
        *(Requirement(scope) for scope in spec.scopes or ()),
        *(Requirement(each.scope_name, each.operator, frozenset(each.values or ())) for each in selector or ()),
    )
    return QuotaRules(
        hard=hard,
        terms=Terms(frozenset(hard), requirements),
        uncounted=tuple(sorted(name for name in hard if pod_source(name) is None)),
        uncounted_scopes=tuple(sorted({each.scope for each in requirements} - set(POD_SCOPES))),
    )


def quota_status(rules: QuotaRules, usage: Usage | None, view: PodsView, *, generation: int) -> NamespaceQuotaStatus:
    """Compare what is allowed with what is used. `usage` is None as long as nothing has been counted."""
    known = dict(usage.used) if usage is not None and not rules.uncounted_scopes else {}
    if not view.finished_too:
        known.pop(COUNT_PODS, None)
    result = report(rules.hard, known)
    return NamespaceQuotaStatus(
        observed_generation=generation,
        hard=report(rules.hard, dict.fromkeys(rules.hard, 0)).hard,
        used=result.used,
        remaining=result.remaining,
        utilization=result.utilization,
        summary=tuple(result.summary),
        display=NamespaceQuotaDisplay(**result.display),
        conditions=(
            _ready(rules, usage, view, generation),
            _near_limit(result, generation),
            _exceeded(result, generation),
        ),
    )


def invalid_quota_status(problem: str, *, generation: int) -> NamespaceQuotaStatus:
    """Return the status of a quota whose spec cannot be read: nothing but the reason."""
    message = f"{problem}; nothing is counted for this quota until it is corrected"
    return NamespaceQuotaStatus(
        observed_generation=generation,
        conditions=(condition(READY, "False", "InvalidSpec", message, generation=generation),),
    )


def _ready(rules: QuotaRules, usage: Usage | None, view: PodsView, generation: int) -> Condition:
    def ready(status: ConditionStatus, reason: str, message: str) -> Condition:
        return condition(READY, status, reason, message, generation=generation)

    counted = len(rules.hard) - len(rules.uncounted)
    if rules.uncounted_scopes:
        return ready(
            "False",
            "UnsupportedScope",
            f"scope {listed(rules.uncounted_scopes)} selects no pods, and this version counts only pods; "
            f"nothing is counted for this quota",
        )
    if rules.uncounted:
        rest = f"the other {plural(counted, 'resource')} {'is' if counted == 1 else 'are'} counted" if counted else ""
        return ready(
            "False",
            "UnsupportedResource",
            f"this version does not count {listed(rules.uncounted)}; {rest or 'nothing else is in hard'}",
        )
    if view.problem:
        kept = "used is what was last known" if usage is not None else "nothing could be counted yet"
        return ready("Unknown", "PodsUnknown", f"{view.problem}; {kept}")
    if usage is None or not view.complete or (COUNT_PODS in rules.hard and not view.finished_too):
        return ready("Unknown", COUNTING, "the pods of the cluster are being listed; usage follows in a moment")
    if not rules.hard:
        return ready("True", "Reconciled", "nothing is limited: spec.hard names no resource")
    return ready(
        "True",
        "Reconciled",
        f"usage of {plural(usage.pods, 'pod')} counted; "
        f"{'the 1 resource' if counted == 1 else f'all {counted} resources'} tracked",
    )


def _near_limit(result: QuotaReport, generation: int) -> Condition:
    if near := result.near:
        return condition(NEAR_LIMIT, "True", "NearLimit", _sentence(near), generation=generation)
    message = f"every resource is below {NEAR_PERCENT}%"
    return condition(NEAR_LIMIT, "False", "BelowThreshold", message, generation=generation)


def _exceeded(result: QuotaReport, generation: int) -> Condition:
    if exceeded := result.exceeded:
        message = f"{_sentence(exceeded)}; no pod is evicted, and this version refuses no new ones"
        return condition(EXCEEDED, "True", "AboveHard", message, generation=generation)
    return condition(EXCEEDED, "False", "WithinHard", "no resource is above its limit", generation=generation)


def _sentence(lines: list[ResourceLine]) -> str:
    return listed(f"{line.name} at {line.text} ({line.percent_text})" for line in lines)
