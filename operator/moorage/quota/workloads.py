"""Which workloads make pods that a quota would refuse, whatever room there is: it is often younger than they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from moorage.objects import Pod, PodSpec
from moorage.quota.admission import QuotaState, judge_pod
from moorage.quota.names import compute
from moorage.quota.verdict import Failure


@dataclass(frozen=True, slots=True)
class Workload:
    """Something that makes pods."""

    name: str
    """Kind and name, such as `Deployment/web`."""
    template: PodSpec


@dataclass(frozen=True, slots=True)
class Refused:
    """A workload, and what one quota has against its next pod."""

    workload: str
    quota: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found when somebody looked at the workloads of a namespace."""

    quotas: Mapping[str, QuotaState]
    """The quotas as they were then, by name, without what is used."""
    refused: tuple[Refused, ...] = ()
    problems: tuple[str, ...] = ()
    """Why some workloads could not be looked at, as sentences."""

    def tell_of(self, quota: QuotaState) -> bool:
        """Whether the quota is still as it was."""
        return self.quotas.get(quota.name) == unused(quota)


def demands_of_single_pods(quota: QuotaState) -> bool:
    """Whether a pod can be refused by this quota for itself, whatever room there is."""
    return bool(quota.limits) or any(compute(name) for name in quota.hard)


def unused(quota: QuotaState) -> QuotaState:
    """Return the quota without what is used of it."""
    return replace(quota, used={})


def refused(workloads: Iterable[Workload], quotas: Iterable[QuotaState]) -> Iterator[Refused]:
    """Yield the workloads whose next pod quotas would refuse by itself: by bounds, or for amounts that are missing.

    Totals are not asked: what they refuse changes from moment to moment. `quotas` are all of the namespace; those in
    Audit mode tell what they would refuse. Raises QuantityError for an amount that does not parse.
    """
    alone = [unused(quota) for quota in quotas]
    for workload in workloads:
        verdict = judge_pod(Pod(spec=workload.template), alone)
        found = (*verdict.failures, *verdict.audited)
        for name in dict.fromkeys(each.quota for each in found):
            yield Refused(workload.name, name, tuple(each for each in found if each.quota == name))
