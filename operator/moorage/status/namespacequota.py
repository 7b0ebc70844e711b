"""The status of a NamespaceQuota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from moorage.api.conditions import Condition
from moorage.api.limits import LimitEntry
from moorage.api.namespacequota import (
    DefaultsInForce,
    HolderStatus,
    NamespaceQuotaDisplay,
    NamespaceQuotaSpec,
    NamespaceQuotaStatus,
    NativeDifference,
    ResourceHolders,
)
from moorage.buffer.holdings import Holding
from moorage.quantity import NANO
from moorage.quota.account import SHOWN_HOLDERS
from moorage.quota.bounds import Limits, resource_texts
from moorage.quota.ledger import Holder, Terms, Usage
from moorage.quota.names import COUNT, COUNT_PODS, PODS, Counted, counted, display_order, why_not_counted
from moorage.quota.report import NEAR_PERCENT, QuotaReport, ResourceLine, report
from moorage.quota.scopes import Requirement
from moorage.resources import amounts, nano_of
from moorage.status.findings import COUNTING, ConditionStatus, condition, listed, plural

READY, NEAR_LIMIT, EXCEEDED = "Ready", "NearLimit", "Exceeded"


class Trouble(StrEnum):
    """Why objects of a kind are not known: reasons of the Ready condition."""

    FORBIDDEN = "Forbidden"
    NOT_SERVED = "NotServed"
    STALE = "UsageStale"


@dataclass(frozen=True, slots=True)
class View:
    """How well the objects of one resource are known at this moment."""

    complete: bool = True
    """A full list has been read and the watch on it is alive."""
    finished_too: bool = True
    """Of pods: the list holds those that ended as well, as `count/pods` needs."""
    trouble: Trouble | None = None
    message: str = ""
    """What the trouble is and what to do about it, as a sentence."""
    aggregated: bool = False
    """Served by an aggregated API server, whose objects the native quota neither counts nor limits."""


Views = Callable[[str], View]
"""Returns how well a resource such as `pods` or `secrets` is known."""


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """A spec as the ledger and the report need it; amounts in nano-units."""

    hard: dict[str, int]
    terms: Terms
    uncounted: tuple[str, ...]
    """Names in `hard` that no controller ever counts."""
    limits: tuple[Limits, ...] = ()
    is_enforced: bool = True
    """Whether what breaks it is refused (not in Audit mode)."""
    counts_buffers: bool = True
    """Whether the units of buffers take room in it."""


def quota_rules(spec: NamespaceQuotaSpec) -> QuotaRules:
    """Read a spec.

    Raises QuantityError when an amount does not parse (the CRD refuses such a spec).
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
        uncounted=tuple(sorted(name for name in hard if counted(name) is None)),
        limits=tuple(_limits(entry) for entry in spec.limits or ()),
        is_enforced=spec.is_enforced,
        counts_buffers=spec.buffers != "Ignore",
    )


def _limits(entry: LimitEntry) -> Limits:
    return Limits(
        entry.type,
        default=amounts(entry.default),
        default_request=amounts(entry.default_request),
        min=amounts(entry.min),
        max=amounts(entry.max),
        max_limit_request_ratio=amounts(entry.max_limit_request_ratio),
    )


def known_names(rules: QuotaRules, views: Views) -> set[str]:
    """Return the names whose usage can be told now: all objects that they count are known."""
    return {name for name in rules.hard if (each := counted(name)) is not None and _is_known(name, each, views)}


def defaults_status(entry: Limits) -> DefaultsInForce:
    """Return the defaults of an entry as status shows them."""
    return DefaultsInForce(default=resource_texts(entry.default), default_request=resource_texts(entry.default_request))


def aggregated_resources(rules: QuotaRules, views: Views) -> tuple[str, ...]:
    """Return the counted resources of aggregated APIs, which a native quota could never limit."""
    return tuple(sorted(each for each in rules.terms.resources if views(each).aggregated))


def current_names(rules: QuotaRules, views: Views) -> set[str]:
    """Return the names whose usage is known as it is at this moment, not only as it was before some trouble."""
    return {name for name in known_names(rules, views) if not _is_troubled(name, views)}


def _is_known(name: str, what: Counted, views: Views) -> bool:
    seen = [views(resource) for resource in what.resources]
    return all(view.complete for view in seen) and (name != COUNT_PODS or all(view.finished_too for view in seen))


def quota_status(
    rules: QuotaRules,
    usage: Usage,
    views: Views,
    *,
    generation: int,
    holders: Callable[[str], list[Holder]] = lambda _: [],
    native: tuple[NativeDifference, ...] = (),
    holdings: Sequence[Holding] = (),
    further: Callable[[QuotaReport], Iterable[Condition]] = lambda _: (),
) -> NamespaceQuotaStatus:
    """Compare what is allowed with what is used, as far as that is known.

    `usage` is that of everything but buffers, and `holdings` what these hold. `holders` returns the largest holders of
    a resource; `native` says how native quotas differ; `further` returns conditions that are to stand beside those of
    usage.
    """
    known = known_names(rules, views)
    by_buffer = {f"CapacityBuffer/{each.buffer}": each.by_name(known, rules.terms.requirements) for each in holdings}
    buffered: Counter[str] = Counter()
    for taken in by_buffer.values():
        buffered.update(taken)
    result = report(rules.hard, {name: usage.used[name] for name in known}, buffered)
    subject = "resource" if len(known) + len(rules.uncounted) == len(rules.hard) else "resource whose usage is known"
    return NamespaceQuotaStatus(
        observed_generation=generation,
        hard=report(rules.hard, dict.fromkeys(rules.hard, 0)).hard,
        used=result.used,
        buffered=result.buffered,
        remaining=result.remaining,
        utilization=result.utilization,
        summary=tuple(result.summary),
        display=NamespaceQuotaDisplay(**result.display),
        holders=tuple(_holders(result.lines, holders, by_buffer)),
        native=native,
        conditions=(
            _ready(rules, usage, views, generation),
            _near_limit(result, subject, generation),
            _exceeded(result, subject, generation, is_enforced=rules.is_enforced),
            *further(result),
        ),
    )


def _holders(
    lines: Iterable[ResourceLine],
    largest: Callable[[str], list[Holder]],
    by_buffer: Mapping[str, Mapping[str, int]],
) -> Iterator[ResourceHolders]:
    """Return who holds each resource; that a secret holds one secret is not worth a line."""
    for line in lines:
        buffers = [Holder(name, taken[line.name], 0) for name, taken in by_buffer.items() if line.name in taken]
        holders = [each for each in largest(line.name) if each.used > NANO or not _counts_other_objects(line.name)]
        if buffers:
            holders = sorted([*holders, *buffers], key=lambda each: (-each.used, each.workload))[:SHOWN_HOLDERS]
        if line.used and holders:
            yield ResourceHolders(
                resource=line.name,
                top=tuple(
                    HolderStatus(workload=each.workload, used=line.canonical(each.used), pods=each.pods)
                    for each in holders
                ),
            )


def _counts_other_objects(name: str) -> bool:
    what = counted(name)
    return what is not None and what.source.startswith(COUNT) and what.source != COUNT_PODS


def invalid_quota_status(problem: str, *, generation: int) -> NamespaceQuotaStatus:
    """Return the status of a quota whose spec cannot be read: nothing but the reason."""
    message = f"{problem}; nothing is counted for this quota until it is corrected"
    return NamespaceQuotaStatus(
        observed_generation=generation,
        conditions=(condition(READY, "False", "InvalidSpec", message, generation=generation),),
    )


def _ready(rules: QuotaRules, usage: Usage, views: Views, generation: int) -> Condition:
    def ready(status: ConditionStatus, reason: str, message: str) -> Condition:
        return condition(READY, status, reason, message, generation=generation)

    known = known_names(rules, views)
    problems = _problems(rules, views)
    messages = [message for *_, message in problems]
    troubled = {name for name in rules.hard if _is_troubled(name, views)}
    if listing := sorted(rules.hard.keys() - known - troubled - set(rules.uncounted), key=display_order):
        progress = f"the objects behind {listed(listing)} are being listed; usage follows"
        return ready("Unknown", COUNTING, "; ".join([*messages, progress]))
    if problems:
        status, reason, _ = min(problems, key=lambda problem: problem[0] != "False")
        return ready(status, reason, "; ".join([*messages, *_rest(known, troubled)]))
    if not rules.hard:
        return ready("True", "Reconciled", "nothing is limited: spec.hard names no resource")
    what = f"usage of {plural(usage.pods, 'pod')} counted" if PODS in rules.terms.resources else "usage counted"
    tracked = "the 1 resource tracked" if len(known) == 1 else f"all {len(known)} resources tracked"
    return ready("True", "Reconciled", f"{what}; {tracked}")


def _problems(rules: QuotaRules, views: Views) -> list[tuple[ConditionStatus, str, str]]:
    """Return all that keeps usage from being known and current: status and reason of Ready, and a sentence."""
    problems: list[tuple[ConditionStatus, str, str]] = []
    if rules.uncounted:
        why = "; ".join(why_not_counted(name) or name for name in rules.uncounted)
        problems.append(("False", "UnsupportedResource", why))
    seen = map(views, sorted(rules.terms.resources))
    problems += [
        ("Unknown" if view.trouble is Trouble.STALE else "False", view.trouble, view.message)
        for view in seen
        if view.trouble is not None
    ]
    return problems


def _is_troubled(name: str, views: Views) -> bool:
    what = counted(name)
    return what is not None and any(views(resource).trouble is not None for resource in what.resources)


def _rest(known: set[str], troubled: set[str]) -> list[str]:
    """Say what `used` is worth in spite of problems."""
    old, current = sorted(known & troubled, key=display_order), len(known - troubled)
    if not current:
        return ["used is what was last known"] if old else [] if troubled else ["nothing else is in hard"]
    return [
        *([f"used of {listed(old)} is what was last known"] if old else []),
        f"the other {plural(current, 'resource')} {'is' if current == 1 else 'are'} counted",
    ]


def _near_limit(result: QuotaReport, subject: str, generation: int) -> Condition:
    if near := result.near:
        return condition(NEAR_LIMIT, "True", "NearLimit", _sentence(near), generation=generation)
    message = f"every {subject} is below {NEAR_PERCENT}%"
    return condition(NEAR_LIMIT, "False", "BelowThreshold", message, generation=generation)


def _exceeded(result: QuotaReport, subject: str, generation: int, *, is_enforced: bool) -> Condition:
    if exceeded := result.exceeded:
        what_now = "nothing is admitted that adds to it" if is_enforced else "in Audit mode nothing is refused"
        message = f"{_sentence(exceeded)}; nothing is evicted, and {what_now}"
        return condition(EXCEEDED, "True", "AboveHard", message, generation=generation)
    return condition(EXCEEDED, "False", "WithinHard", f"no {subject} is above its limit", generation=generation)


def _sentence(lines: list[ResourceLine]) -> str:
    return listed(f"{line.name} at {line.text} ({line.percent_text})" for line in lines)
