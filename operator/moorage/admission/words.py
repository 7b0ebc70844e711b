"""What people are told: refusals with all that fails and what would help, and warnings while there is still room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from moorage.admission.decision import Decision, NativeRefusal
from moorage.admission.view import KnownQuota, NamespaceView
from moorage.quantity import canonical
from moorage.quota.ledger import Holder
from moorage.quota.names import counts_objects, is_binary
from moorage.quota.report import ResourceLine
from moorage.quota.verdict import Failure, Step
from moorage.status.findings import listed, plural

_SHOWN_FAILURES = 12
_SHOWN_HOLDERS = 3
MOST_WARNING_LENGTH = 256
"""What the API server passes on of a warning; longer ones it may cut or drop."""


def refusal(decision: Decision, view: NamespaceView, what: str) -> str:
    """Return why a pod is refused: the API server's own text first, since programs look for it, then everything.

    `what` names the pod in a sentence, such as `pod web-0`.
    """
    others = [each for each in decision.native if not _is_ours(each, view)]
    lines = [_failure_line(each, view.of(each.quota)) for each in decision.refused]
    lines += [f"ResourceQuota {each.quota}: {failure.message}" for each in others for failure in each.failures]
    shown = lines[:_SHOWN_FAILURES]
    if len(lines) > len(shown):
        shown.append(f"and {len(lines) - len(shown)} more")
    head = native_text(decision)
    count = f"{plural(len(lines), 'limit')} {'stands' if len(lines) == 1 else 'stand'} against {what}:"
    return "\n".join([f"{head} ", count, *(f"  - {line}" for line in shown)])


def native_text(decision: Decision) -> str:
    """Return what the API server would say by itself; the formats are those of Kubernetes v1.36.

    A total comes first whatever else fails, since that is what programs look for.
    """
    if decision.native:
        first = decision.native[0]
        asked = _pairs({each.resource: each.requested or 0 for each in first.failures})
        used = _pairs({each.resource: each.used or 0 for each in first.failures})
        hard = _pairs({each.resource: each.hard for each in first.failures})
        return f"exceeded quota: {first.quota}, requested: {asked}, used: {used}, limited: {hard}"
    if unspecified := [each for each in decision.refused if each.step is Step.SPECIFY]:
        quota = unspecified[0].quota
        names = [f"{each.resource} for: {each.where}" for each in unspecified if each.quota == quota]
        return f"failed quota: {quota}: must specify {'; '.join(sorted(names))}"
    return ", ".join(each.message for each in decision.refused)


def note(failures: Sequence[Failure], what: str) -> str:
    """Return the sentence of an event about a refusal."""
    return f"{what}: {'; '.join(each.message for each in failures)}"


def near_limit(quota: KnownQuota, taken: Mapping[str, int]) -> str:
    """Return a warning that little of a quota will be left once this is taken, or an empty text."""
    state = quota.state
    after = [ResourceLine(name, state.hard[name], state.used[name] + more) for name, more in taken.items() if more > 0]
    near = [f"{each.name} at {each.text} ({each.percent_text})" for each in after if each.near]
    return cut(f"NamespaceQuota {quota.name}: with this pod {listed(near)}") if near else ""


def audited(failures: Iterable[Failure]) -> list[str]:
    """Return warnings of what quotas in Audit mode would have refused."""
    by_quota: dict[str, list[str]] = {}
    for each in failures:
        by_quota.setdefault(each.quota, []).append(each.message)
    return [
        cut(f"NamespaceQuota {name} is in Audit mode, else it would refuse this: {'; '.join(messages)}")
        for name, messages in by_quota.items()
    ]


def cut(warning: str) -> str:
    """Return a warning that the API server passes on whole."""
    return warning if len(warning) <= MOST_WARNING_LENGTH else f"{warning[: MOST_WARNING_LENGTH - 4]} ..."


def _is_ours(refusal: NativeRefusal, view: NamespaceView) -> bool:
    return any(projection.name == refusal.quota for each in view.quotas for projection in each.projections)


def _failure_line(failure: Failure, quota: KnownQuota) -> str:
    line = f"NamespaceQuota {failure.quota}: {failure.message}"
    if failure.step not in (Step.COUNT, Step.TOTAL):
        return line
    largest = quota.holders(failure.resource, _SHOWN_HOLDERS)
    held = f"; most is held by {listed(_holder_text(failure, each) for each in largest)}" if largest else ""
    return f"{line}{held}; {_room(failure, largest)}"


def _holder_text(failure: Failure, holder: Holder) -> str:
    amount = failure.text(holder.used)
    if counts_objects(failure.resource) or not holder.pods:
        return f"{holder.workload} ({amount})"
    return f"{holder.workload} ({amount}, {plural(holder.pods, 'pod')})"


def _room(failure: Failure, largest: Sequence[Holder]) -> str:
    """Say what would make room."""
    asked = failure.requested or 0
    if asked > failure.hard:
        return f"no room can be made for it: it asks for more than the whole {failure.text(failure.hard)}"
    short = asked + (failure.used or 0) - failure.hard
    needed = f"{failure.text(short)} must be freed"
    for each in largest:
        if each.pods and each.used >= short:
            pods = -(-short * each.pods // each.used)
            return f"{needed}, as by {plural(pods, 'pod')} less of {each.workload}"
    return needed


def _pairs(amounts: Mapping[str, int]) -> str:
    return ",".join(f"{name}={canonical(amount, binary=is_binary(name))}" for name, amount in sorted(amounts.items()))
