"""The worst that can come, as an arrival curve: a burst and then a rate, or what an autoscaler may do at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil

from moorage.buffer.promise import Counts, Latencies
from moorage.buffer.recorded import NANOSECONDS, window_counts

HPA_SYNC_SECONDS = 15
"""How often the HorizontalPodAutoscaler decides (`--horizontal-pod-autoscaler-sync-period`)."""


@dataclass(frozen=True, slots=True)
class Burst:
    """At most `pods` at the same instant, and `rate` pods per second all the time."""

    pods: int
    rate: Fraction

    def most(self, seconds: Fraction) -> int:
        """Return how many pods come at most in a window."""
        return ceil(self.pods + self.rate * seconds)


class Unit(StrEnum):
    """What the value of a scaling policy counts."""

    PODS = "Pods"
    PERCENT = "Percent"


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """One policy of `behavior.scaleUp`: so many pods, or percent of the replicas, within a period."""

    unit: Unit
    value: int
    period_seconds: int


DEFAULT_POLICIES = (ScalingPolicy(Unit.PERCENT, 100, 15), ScalingPolicy(Unit.PODS, 4, 15))
"""What a HorizontalPodAutoscaler without `behavior` does (pkg/apis/autoscaling/v2/defaults.go)."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """How a HorizontalPodAutoscaler may scale a workload up."""

    replicas: int
    most: int
    policies: tuple[ScalingPolicy, ...] = DEFAULT_POLICIES
    select_least: bool = False
    """`selectPolicy: Min`."""

    def steps(self) -> list[tuple[int, int]]:
        """Return the fastest way up: seconds from the start, and how many pods come then."""
        found: list[tuple[int, int]] = []
        replicas, time, last = self.replicas, 0, 0
        longest = max((policy.period_seconds for policy in self.policies), default=0)
        while replicas < self.most and time - last <= longest:  # else no policy allows any more
            step = max(min(self._limit(replicas, time, found), self.most) - replicas, 0)
            if step:
                found.append((time, step))
                replicas, last = replicas + step, time
            time += HPA_SYNC_SECONDS
        return found

    def _limit(self, replicas: int, time: int, steps: Sequence[tuple[int, int]]) -> int:
        limits = []
        for policy in self.policies:
            before = replicas - sum(pods for at, pods in steps if at > time - policy.period_seconds)
            more = policy.value if policy.unit is Unit.PODS else ceil(Fraction(before * policy.value, 100))
            limits.append(before + more)
        return (min if self.select_least else max)(limits, default=replicas)


@dataclass(frozen=True, slots=True)
class Ramp:
    """What an autoscaler may ask for, as an arrival curve."""

    autoscaler: Autoscaler

    def most(self, seconds: Fraction) -> int:
        """Return how many pods come at most in a window."""
        times = [at * NANOSECONDS for at, pods in self.autoscaler.steps() for _ in range(pods)]
        return max(window_counts(times, round(seconds * NANOSECONDS)), default=0)


def cover(curve: Burst | Ramp, latencies: Latencies, max_wait: Fraction = Fraction(0)) -> Counts:
    """Return the units with which no pod waits longer, whatever comes within the curve."""
    near, far = latencies.windows(max_wait)
    total = curve.most(far) if far else 0
    return Counts(min(curve.most(near), total) if near else 0, total)
