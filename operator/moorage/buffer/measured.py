"""What was measured of a workload, as sizes use it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

from moorage.buffer.burst import Autoscaler
from moorage.buffer.recorded import Pairs

ENOUGH_SAMPLES = 20
"""Pods that must have waited before a latency counts: the 95th percentile of fewer is their largest."""

ENOUGH_DAYS = 7
"""Days of record before it is trusted alone: demand has a week's rhythm."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """How long pods waited, in seconds; None for a quantile that is not known since too many still wait."""

    samples: int
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    waiting: int = 0
    """How many of the samples still wait."""


@dataclass(frozen=True, slots=True)
class SeenRate:
    """The rate as pods see it: `pods` of them, at so many per second."""

    per_second: Fraction
    pods: int

    @property
    def seconds(self) -> Fraction:
        """Return how long that many pods take to come at that rate."""
        return self.pods / self.per_second if self.per_second else Fraction(0)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record for both windows, which are in seconds."""

    pairs: Pairs
    near: Fraction
    far: Fraction
    days: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of a workload and its nodes; None where nothing is yet."""

    rate: SeenRate | None = None
    resume: Quantiles | None = None
    cold: Quantiles | None = None
    after: Quantiles | None = None
    """From scheduled to ready: images and readiness, which no buffer shortens."""
    recorded: Recorded | None = None
    autoscaler: Autoscaler | None = None
    pods: int = 0
    """New pods that were counted."""
    busiest: tuple[str, ...] = ()
    """The hours of the week with the highest peaks."""


NOTHING_MEASURED = Measured()


def days_needed(level: Fraction) -> int:
    """Return after how many days the largest daily peak is beyond that quantile of peaks, with 95% confidence."""
    return ceil(log(0.05) / log(float(level)))
