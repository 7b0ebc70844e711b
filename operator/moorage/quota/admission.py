"""Whether quotas admit an object, and all that stands against it: the rules that the API server's policies enforce.

The order: defaults are filled in, then bounds of the single object, numbers of objects, totals. An object that is
refused uses nothing. Later steps are judged even when an earlier one fails, so that all reasons can be told at once.

What grows nothing is admitted whatever the totals, as by the API server (`CheckRequest` of
`plugin/pkg/admission/resourcequota/controller.go`, Kubernetes v1.36). Beyond it, each compute amount that `hard` limits
has to be given, by every container or by the pod as a whole, so that none counts as 0 by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from moorage.objects import Pod, PodSpec, PodStatus, ResourceRequirements, VolumeClaim
from moorage.quota import names
from moorage.quota.bounds import Limits, broken_by_claim, broken_by_pod, defaulted, fill_in
from moorage.quota.counting import pod_use, volume_claim_use
from moorage.quota.limit_ranger import fill_in_natively, invalidated
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import ObjectUse, Shape, Shapes
from moorage.quota.verdict import Failure, Growth, Step, Verdict, in_order
from moorage.resources import given_for_pod, is_pod_level, with_defaults

__all__ = [
    "Failure",
    "QuotaState",
    "Step",
    "Verdict",
    "exceeded",
    "how_many_fit",
    "judge_claim",
    "judge_object",
    "judge_pod",
]


@dataclass(frozen=True, slots=True)
class QuotaState:
    """A quota as admission sees it; amounts in nano-units."""

    name: str
    hard: Mapping[str, int] = field(default_factory=dict)
    """The limits in force."""
    used: Mapping[str, int] = field(default_factory=dict)
    """What is used, by the names in `hard`; a name that is missing is not known, and refuses nothing."""
    requirements: tuple[Requirement, ...] = ()
    """The scopes: they select for `hard` only."""
    limits: tuple[Limits, ...] = ()
    is_enforced: bool = True
    """False in Audit mode: nothing is filled in and nothing refused."""
    is_native: bool = False
    """It is a ResourceQuota, or a LimitRange with limits alone: the API server's own rules say what is refused."""

    def room(self, name: str) -> int:
        """Return what is left of a limit; below 0 when more is used than it allows."""
        return self.hard[name] - self.used[name]


@dataclass(frozen=True, slots=True)
class _Change:
    """What an object counts for and, on an update, what it counted for before."""

    new: Shape
    old: Shape | None

    def growth(self, quota: QuotaState) -> dict[str, int]:
        """Return by how much the known names of a quota grow: all of an object that it did not count before."""
        if not selects(quota.requirements, self.new.facts):
            return {}
        was_counted = self.old is not None and selects(quota.requirements, self.old.facts)
        old = self.old.amounts if self.old is not None and was_counted else {}
        found = {}
        for name in quota.hard.keys() & quota.used.keys():
            if (what := names.counted(name)) is not None:
                found[name] = self.new.amounts.get(what.source, 0) - old.get(what.source, 0)
        return {name: more for name, more in found.items() if more > 0}


_Own = Callable[[QuotaState], Iterable[Failure]]
"""Returns what a quota has against an object by itself, whatever else there is."""


def judge_pod(pod: Pod, quotas: Iterable[QuotaState], *, old: Pod | None = None) -> Verdict:
    """Judge a pod that is to be created or, with `old`, resized or given a deadline.

    `pod` is taken as it is sent; `quotas` are all those of its namespace. On an update nothing is filled in, bounds are
    asked only when amounts change, and only what the native rule demands must be given; one that changes neither
    amounts nor deadline is admitted. Raises QuantityError.
    """
    return _with_audit(quotas, lambda everything, obeyed: _pod_verdict(pod, everything, obeyed, old=old))


def judge_claim(claim: VolumeClaim, quotas: Iterable[QuotaState], *, old: VolumeClaim | None = None) -> Verdict:
    """Judge a claim for a volume that is to be created or, with `old`, changed.

    An update is held against bounds only when it asks for another amount: a tightened bound does not keep an older
    claim from being labelled (but that of a LimitRange does). Raises QuantityError.
    """
    change = _Change(_shape(claim), None if old is None else _shape(old))
    asks_anew = old is None or claim.spec.resources != old.spec.resources

    def own(quota: QuotaState) -> Iterable[Failure]:
        return broken_by_claim(claim, quota.name, quota.limits) if asks_anew or quota.is_native else ()

    return _with_audit(quotas, lambda everything, obeyed: _verdict(change, everything, obeyed, own=own))


def judge_object(use: ObjectUse, quotas: Iterable[QuotaState], *, old: ObjectUse | None = None) -> Verdict:
    """Judge an object of any other kind that is to be created or, with `old`, changed, by what it counts for."""
    change = _Change(use.shape, None if old is None else old.shape)
    return _with_audit(quotas, lambda everything, obeyed: _verdict(change, everything, obeyed, own=lambda _: ()))


def _shape(stored: Pod | VolumeClaim) -> Shape:
    return (pod_use(stored, Shapes()) if isinstance(stored, Pod) else volume_claim_use(stored, Shapes())).shape


def _with_audit(
    quotas: Iterable[QuotaState], judge: Callable[[list[QuotaState], list[QuotaState]], Verdict]
) -> Verdict:
    """Judge by the quotas that are enforced; those in Audit mode only tell what they would have said.

    `judge` takes all quotas, and those to be obeyed.
    """
    everything = sorted(quotas, key=lambda quota: quota.name)
    enforced = [each for each in everything if each.is_enforced]
    verdict = judge(everything, enforced)
    if len(enforced) == len(everything):
        return verdict
    watched = {each.name for each in everything if not each.is_enforced}
    obeyed = judge(everything, everything).failures
    return replace(verdict, audited=tuple(each for each in obeyed if each.quota in watched))


def _pod_verdict(pod: Pod, everything: list[QuotaState], obeyed: list[QuotaState], *, old: Pod | None) -> Verdict:
    entries, ranges = _defaults(obeyed) if old is None else ((), ())
    ranged = fill_in_natively(pod.spec, ranges) if ranges else pod.spec
    spec = fill_in(ranged, entries)
    stored = msgspec.structs.replace(pod, spec=spec, status=PodStatus() if old is None else pod.status)
    change = _Change(_shape(stored), None if old is None else _shape(old))
    asks_anew = old is None or _requirements(spec) != _requirements(with_defaults(old.spec))
    moves = old is not None and old.spec.active_deadline_seconds != spec.active_deadline_seconds

    def own(quota: QuotaState) -> Iterator[Failure]:
        if (asks_anew or moves) and selects(quota.requirements, change.new.facts):
            yield from _unspecified(spec, quota, natively=quota.is_native or old is not None)
        if asks_anew:
            yield from broken_by_pod(spec, quota.name, quota.limits, natively=quota.is_native)
        if ranges and quota.limits is ranges[0]:
            yield from invalidated(with_defaults(pod.spec), ranged, quota.name)

    filled = defaulted(pod.spec, spec) if entries or ranges else {}
    return replace(_verdict(change, everything, obeyed, own=own), defaulted=filled, spec=spec)


def _defaults(quotas: Iterable[QuotaState]) -> tuple[tuple[Limits, ...], tuple[tuple[Limits, ...], ...]]:
    """Return the entries of our quotas, and those of each LimitRange."""
    having = [each for each in quotas if each.limits]
    ours = tuple(entry for quota in having if not quota.is_native for entry in quota.limits)
    return ours, tuple(quota.limits for quota in having if quota.is_native)


def _requirements(spec: PodSpec) -> list[ResourceRequirements | None]:
    return [spec.resources, *(each.resources for each in spec.all_containers)]


def _verdict(change: _Change, everything: list[QuotaState], obeyed: list[QuotaState], *, own: _Own) -> Verdict:
    growth = {quota.name: change.growth(quota) for quota in everything}
    alone = [failure for quota in obeyed for failure in own(quota)]
    return Verdict(
        in_order([*alone, *exceeded(obeyed, growth)]),
        growth={name: more for name, more in growth.items() if more},
        fits=0 if alone else how_many_fit(obeyed, growth),
    )


def how_many_fit(quotas: Iterable[QuotaState], growth: Growth) -> int | None:
    """Return how many times such a growth fits into these quotas; None when nothing limits it."""
    return min(
        (
            max(quota.room(name), 0) // more
            for quota in quotas
            for name, more in growth.get(quota.name, {}).items()
            if more
        ),
        default=None,
    )


def exceeded(quotas: Iterable[QuotaState], growth: Growth) -> list[Failure]:
    """Return the limits of these quotas into which such a growth does not fit."""
    return [
        _exceeded(quota, name, more)
        for quota in quotas
        for name, more in growth.get(quota.name, {}).items()
        if more and quota.room(name) < more
    ]


def _exceeded(quota: QuotaState, name: str, more: int) -> Failure:
    step = Step.COUNT if names.counts_objects(name) else Step.TOTAL
    failure = Failure(step, quota.name, name, "", quota.hard[name], requested=more, used=quota.used[name])
    asks, uses, allows, leaves = map(failure.text, (more, quota.used[name], quota.hard[name], max(quota.room(name), 0)))
    return replace(failure, message=f"{name}: {asks} requested, but {uses} of {allows} is used, which leaves {leaves}")


def _unspecified(spec: PodSpec, quota: QuotaState, *, natively: bool) -> Iterator[Failure]:
    """Yield the compute names of `hard` for which the pod gives no amount.

    `natively`: by the API server's own rule alone, which updates meet too. It knows no ephemeral-storage and is off for
    a pod that gives anything as a whole.
    """
    for name in quota.hard:
        if (found := names.compute(name)) is None:
            continue
        side, resource = found
        if natively and (resource == "ephemeral-storage" or given_for_pod(spec)):
            continue
        if spec.resources is not None and is_pod_level(resource) and resource in spec.resources.given(side):
            continue
        silent = sorted(each.name for each in spec.all_containers if resource not in each.given(side))
        if silent:
            yield _unspecified_by(quota, name, silent)


def _unspecified_by(quota: QuotaState, name: str, containers: list[str]) -> Failure:
    which = "container" if len(containers) == 1 else "containers"
    message = (
        f"must specify {name} for {which} {', '.join(containers)}: the total is limited, and no default fills it in"
    )
    return Failure(
        Step.SPECIFY, quota.name, name, message, quota.hard[name], used=quota.used.get(name), where=",".join(containers)
    )
