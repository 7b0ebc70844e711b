"""Whether what stands against a pod is certain: a webhook must refuse nothing that the API server would admit.

Our numbers explain; the API server's own machinery enforces. So a refusal needs both: a limit that fails by our
numbers, which are proved current, and machinery that is known to enforce the same limit.

What that machinery counts is not asked. It learns of a deletion later than we do; and where it has less than there is,
which a recount from a lagging list of pods can leave behind (kubernetes/kubernetes#123434), the limit is exceeded all
the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from moorage.admission.view import KnownQuota, NamespaceView
from moorage.objects import Pod
from moorage.quota.admission import QuotaState, judge_pod
from moorage.quota.scopes import scope_facts
from moorage.quota.verdict import Failure, Step, Verdict


@dataclass(frozen=True, slots=True)
class NativeRefusal:
    """What the API server's quota admission would say of one ResourceQuota."""

    quota: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is answered for a pod, and why."""

    verdict: Verdict
    refused: tuple[Failure, ...] = ()
    """All that stands against it, when at least one of it is certain; none: it is admitted."""
    native: tuple[NativeRefusal, ...] = ()
    """The ResourceQuotas that would refuse it, ours before others."""

    @property
    def unsure(self) -> bool:
        """Whether something stands against it of which it is not certain that the API server sees it."""
        return bool(self.verdict.failures) and not self.refused


def decide(pod: Pod, view: NamespaceView, *, old: Pod | None = None) -> Decision:
    """Judge a pod as it is sent; `old` is the stored one that is to be resized.

    Raises QuantityError when an amount does not parse.
    """
    verdict = judge_pod(pod, _states(pod, view), old=old)
    if verdict.admitted:
        return Decision(verdict)
    projections = [projection for each in view.quotas for projection in each.projections]
    native = [refusal for each in (*projections, *view.others) if (refusal := _native(pod, each, old)).failures]
    certain = [each for each in verdict.failures if _is_certain(each, view.of(each.quota))]
    if not certain:
        return Decision(verdict)
    return Decision(verdict, verdict.failures, tuple(native) or _instead(certain, view))


def _states(pod: Pod, view: NamespaceView) -> list[QuotaState]:
    """Return the NamespaceQuotas to judge by: those of placeholders' totals are what buffers may hold, and not ours."""
    if not scope_facts(pod.spec).is_placeholder:
        return view.states
    return [replace(each, used={}) for each in view.states]


def _is_certain(failure: Failure, quota: KnownQuota) -> bool:
    if failure.step in (Step.SPECIFY, Step.BOUNDS):
        return quota.policies_proved()
    name = failure.resource
    is_enforced = any(each.hard.get(name) == quota.state.hard[name] for each in quota.projections)
    return is_enforced and quota.is_current(name)


def _instead(certain: list[Failure], view: NamespaceView) -> tuple[NativeRefusal, ...]:
    """Return what the API server would say of the first quota whose totals are exceeded, if it counted as we do."""
    totals = [each for each in certain if each.step in (Step.COUNT, Step.TOTAL)]
    if not totals:
        return ()
    quota, resource = view.of(totals[0].quota), totals[0].resource
    first = next(each for each in quota.projections if resource in each.hard)
    failures = tuple(each for each in totals if each.quota == quota.name and each.resource in first.hard)
    return (NativeRefusal(first.name, failures),)


def _native(pod: Pod, quota: QuotaState, old: Pod | None) -> NativeRefusal:
    """Judge by the totals of one ResourceQuota."""
    failures = judge_pod(pod, [quota], old=old).failures
    return NativeRefusal(quota.name, tuple(each for each in failures if each.step in (Step.COUNT, Step.TOTAL)))
