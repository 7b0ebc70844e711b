"""How many replicas of a workload fit, and whether its rollouts have room for the pods that they make beside the old.

A replica is one pod, or one pod with its claims: whatever is judged together grows a quota together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from moorage.quota.admission import QuotaState, exceeded, how_many_fit
from moorage.quota.verdict import Failure, Growth, Step, Verdict, in_order
from moorage.quoting import quoted

_ALONE = (Step.SPECIFY, Step.BOUNDS)


@dataclass(frozen=True, slots=True)
class RollingUpdate:
    """How a Deployment replaces its pods, in whole pods."""

    surge: int
    """How many pods there may be beyond the replicas."""
    unavailable: int
    """How many of the replicas may be missing."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """Whether the pods that a rollout makes beside the old ones fit."""

    surge: int
    fits: int | None
    """How many of them fit; None when nothing limits them."""
    is_stuck: bool
    """Not even one fits, and no old one may go first."""

    @property
    def has_room(self) -> bool:
        """Whether all of them fit at once."""
        return self.fits is None or self.fits >= self.surge


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on objects that come together, such as the claims of one replica."""
    every = list(verdicts)
    growth: dict[str, dict[str, int]] = {}
    for each in every:
        for quota, names in each.growth.items():
            total = growth.setdefault(quota, {})
            for name, more in names.items():
                total[name] = total.get(name, 0) + more
    return Verdict(
        in_order([failure for each in every for failure in each.failures]),
        audited=in_order([failure for each in every for failure in each.audited]),
        growth=growth,
    )


def judge_replicas(one: Verdict, count: int, quotas: Iterable[QuotaState]) -> Verdict:
    """Judge so many objects like one that was judged, one after another.

    The failures are those of the first that is refused, with what the others before it use.
    """
    everything = list(quotas)
    enforced = [each for each in everything if each.is_enforced]
    watched = [each for each in everything if not each.is_enforced]
    fits, failures = _until_refused(enforced, one.growth, one.failures, count)
    _, audited = _until_refused(watched, one.growth, one.audited, count)
    return replace(one, failures=failures, audited=audited, fits=fits)


def _until_refused(
    quotas: list[QuotaState], growth: Growth, failures: Iterable[Failure], count: int
) -> tuple[int | None, tuple[Failure, ...]]:
    alone = [each for each in failures if each.step in _ALONE]
    fits = 0 if alone else how_many_fit(quotas, growth)
    if count == 0 or fits is None or fits >= count:
        return fits, ()
    return fits, in_order([*alone, *exceeded(after(quotas, growth, fits), growth)])


def after(quotas: Iterable[QuotaState], growth: Growth, times: int = 1) -> list[QuotaState]:
    """Return the quotas as they are once something has grown them so many times; -1 takes it back."""
    return [
        replace(
            quota,
            used={name: used + times * growth.get(quota.name, {}).get(name, 0) for name, used in quota.used.items()},
        )
        for quota in quotas
    ]


def scaled(growth: Growth, times: int) -> Growth:
    """Return what so many of something add."""
    return {quota: {name: times * more for name, more in names.items()} for quota, names in growth.items()}


def rolling_update(
    replicas: int, max_surge: int | str | None = None, max_unavailable: int | str | None = None
) -> RollingUpdate:
    """Return how a Deployment with this many replicas rolls, both 25% where nothing is said.

    Follows `ResolveFenceposts` of pkg/controller/deployment/util, Kubernetes v1.36. Raises ValueError for what is
    neither a number nor a percentage.
    """
    surge = _scaled("maxSurge", max_surge, replicas, round_up=True)
    unavailable = _scaled("maxUnavailable", max_unavailable, replicas, round_up=False)
    return RollingUpdate(surge, unavailable if surge or unavailable else 1)


def _scaled(field: str, value: int | str | None, replicas: int, *, round_up: bool) -> int:
    if isinstance(value, int):
        return value
    text = "25%" if value is None else value
    if re.fullmatch(r"[0-9]{1,9}%", text) is None:
        raise ValueError(f"{field} must be a number or a percentage, not {quoted(text)}")
    percent = int(text[:-1])
    return -(-replicas * percent // 100) if round_up else replicas * percent // 100


def judge_rollout(
    update: RollingUpdate, one: Verdict, old: Growth, quotas: Iterable[QuotaState], *, pods: int
) -> Rollout:
    """Judge the pods that a rollout makes while the old ones, that together use `old`, are still there.

    `quotas` are without both; `pods` is how many the rollout makes in all. Nothing is said of pods that are refused by
    themselves.
    """
    enforced = [each for each in quotas if each.is_enforced]
    surge = min(update.surge, pods)
    fits = how_many_fit(after(enforced, old), one.growth)
    none_fits = surge == 0 or (fits is not None and fits < 1)
    return Rollout(surge, fits, is_stuck=none_fits and update.unavailable == 0)
