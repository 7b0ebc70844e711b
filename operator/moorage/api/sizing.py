"""How a CapacityBuffer counts its units: the method, the promise, the worst case, prices, and what is measured."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.rules import Rule, rules
from moorage.api.types import (
    DURATION_PATTERN,
    RATE_PATTERN,
    Count,
    Duration,
    Rate,
    doc,
    duration_seconds,
    more_than_zero,
)

MEASURED = "Measured"
MethodName = Literal["Mean", "Quantile", "Observed", "Burst"]

_MEASURED_RATE = RATE_PATTERN.replace("^", "^(Measured|").replace("$", ")$")
_MEASURED_DURATION = DURATION_PATTERN.replace("^", "^(Measured|").replace("$", ")$")
_DECIMAL = r"^-?[0-9]{1,9}(\.[0-9]{1,9})?$"

RateOrMeasured = Annotated[
    int | str,
    doc('Pods per time: 2, "0.5", "120/m", or Measured', pattern=_MEASURED_RATE, maxLength=32),
    rules(
        Rule(
            cel=f'type(self) == int ? -1000000000 < self && self < 1000000000 : self.matches(r"{_MEASURED_RATE}")',
            holds=lambda value: re.fullmatch(_MEASURED_RATE, str(value)) is not None,
            message=(
                'is not a rate: write pods per second as a number, such as 2 or "0.5", or with a unit of time, '
                'such as "120/m" or "90/h"; at most 9 digits before and after the point; or Measured'
            ),
        ),
        Rule(
            cel='type(self) == int ? self >= 0 : !self.startsWith("-")',
            holds=lambda value: not str(value).startswith("-"),
            message="must not be negative",
        ),
    ),
]
DurationOrMeasured = Annotated[
    str,
    Meta(pattern=_MEASURED_DURATION, max_length=32),
    rules(
        Rule(
            cel=f'self.matches(r"{_MEASURED_DURATION}")',
            holds=lambda value: value == MEASURED or duration_seconds(value) is not None,
            message=(
                "is not a duration: write a number and a unit (ms, s, m, h), such as 30s, 1m30s or 500ms; or Measured"
            ),
        ),
        Rule(
            cel='!self.startsWith("-")',
            holds=lambda value: not value.startswith("-"),
            message="must not be negative",
        ),
        Rule(
            cel=f'!self.matches(r"{DURATION_PATTERN}") || duration(self) <= duration("24h")',
            holds=lambda value: (duration_seconds(value) or 0) <= 24 * 3600,
            message="must be at most 24h",
        ),
    ),
]


def _decimal(what: str, example: str, *, positive: bool = False) -> tuple[Any, ...]:
    bound = Rule(
        cel='type(self) == int ? self >= 0 : !self.startsWith("-")',
        holds=lambda value: not str(value).startswith("-"),
        message="must not be negative",
    )
    if positive:
        bound = Rule(
            cel=f'(type(self) != int && !self.matches(r"{_DECIMAL}")) || double(self) >= 1.0',
            holds=lambda value: not _is_decimal(value) or Fraction(str(value)) >= 1,
            message="must be at least 1",
        )
    return (
        Rule(
            cel=f'type(self) == int ? -1000000000 < self && self < 1000000000 : self.matches(r"{_DECIMAL}")',
            holds=_is_decimal,
            message=f'is not {what}: write a number such as {example}; quote what has a point, such as "0.05"',
        ),
        bound,
    )


def _is_decimal(value: Any) -> bool:
    return re.fullmatch(_DECIMAL, str(value)) is not None


Price = Annotated[int | str, doc("", pattern=_DECIMAL, maxLength=32), rules(*_decimal("a price", '3 or "0.05"'))]
Mean = Annotated[
    int | str, doc("", pattern=_DECIMAL, maxLength=32), rules(*_decimal("a mean", '5 or "2.5"', positive=True))
]
Percentile = Annotated[
    int | str,
    doc("", pattern=_DECIMAL, maxLength=32),
    rules(
        *_decimal("a percentile", '99 or "99.9"')[:1],
        Rule(
            cel=(
                f'(type(self) != int && !self.matches(r"{_DECIMAL}")) || (double(self) > 0.0 && double(self) < 100.0)'
            ),
            holds=lambda value: not _is_decimal(value) or 0 < Fraction(str(value)) < 100,
            message=(
                'must be above 0 and below 100, such as 99 or "99.9": random arrivals have no largest burst, so 100 '
                "cannot be promised"
            ),
        ),
    ),
]


class ServiceLevel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """So many pods wait no longer than so."""

    percentile: Annotated[
        Percentile,
        doc('How many of 100 pods the promise is for: 99, or "99.9" in quotes. Above 0 and below 100.'),
    ]
    max_wait: Annotated[
        Duration,
        doc(
            """
            How long such a pod waits at most for capacity, such as 1s; images and readiness come on top. A wait as long
            as a resume needs no active units, one as long as a cold start no units at all. With standby units alone
            it is the resume at least. Left out: 0s, no wait.
            """
        ),
    ] = "0s"


class ArrivalsSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How pods come, for the method Quantile."""

    batch_mean: (
        Annotated[
            Mean,
            doc('How many pods come at the same instant on average: 5, or "2.5" in quotes. At least 1. Left out: 1.'),
        ]
        | None
    ) = None
    batch_sizes: Annotated[
        Literal["Geometric", "Fixed"],
        doc("How the sizes of batches vary. Fixed: all have batchMean pods (a whole number). Left out: Geometric."),
    ] = "Geometric"
    variance_to_mean: (
        Annotated[
            Mean,
            doc(
                """
                Instead of batchMean: how much the number of pods in windows of the same length varies, as its variance
                divided by its mean. 1 is arrivals at random one by one; batches of 5 on average have 9. At least 1.
                """
            ),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!(has(self.batchMean) && has(self.varianceToMean))",
            holds=lambda self: not ("batchMean" in self and "varianceToMean" in self),
            message="give one of batchMean and varianceToMean: the one follows from the other",
        ),
        Rule(
            cel=(
                "!has(self.batchSizes) || self.batchSizes != 'Fixed' || !has(self.batchMean) || "
                "type(self.batchMean) == int || self.batchMean.matches(r'^[0-9]+$')"
            ),
            holds=lambda self: (
                self.get("batchSizes") != "Fixed"
                or "batchMean" not in self
                or re.fullmatch("[0-9]+", str(self["batchMean"])) is not None
            ),
            message="batches of a fixed size need a whole number as batchMean",
        ),
    )


class CostSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What units and waiting cost, in any currency."""

    active_per_hour: Annotated[Price, doc('What an active unit costs in an hour: "0.05".')]
    standby_per_hour: Annotated[
        Price, doc('What a standby unit costs in an hour, with the disk and addresses that it keeps: "0.0025".')
    ]
    penalty_per_resume: (
        Annotated[
            Price, doc("What it costs when a pod waits for a resume. With penaltyPerColdStart, cost decides the split.")
        ]
        | None
    ) = None
    penalty_per_cold_start: (
        Annotated[Price, doc("What it costs when a pod waits for a new node; more than penaltyPerResume.")] | None
    ) = None
    spike_interval: Annotated[
        Duration,
        doc("How long it is from one spike of demand to the next, at most 24h. Left out: 24h, one spike a day."),
        more_than_zero("there is time between two spikes"),
    ] = "24h"

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="has(self.penaltyPerResume) == has(self.penaltyPerColdStart)",
            holds=lambda self: ("penaltyPerResume" in self) == ("penaltyPerColdStart" in self),
            message="give both of penaltyPerResume and penaltyPerColdStart, or neither",
        ),
    )


class SizingFallback(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What counts until there are enough samples of what is Measured."""

    scale_up_rate: (
        Annotated[Rate, doc("Pods per second, such as 2. Left out: no units by the rate until it is known.")] | None
    ) = None
    standby_resume_latency: Annotated[Duration, doc("How long a resume takes. Left out: 35s.")] = "35s"
    cold_node_latency: Annotated[
        Duration,
        doc("How long a new node takes. Left out: 120s."),
        more_than_zero("without a cold start nothing needs to stand ready"),
    ] = "120s"


METHODS_NEED: tuple[Rule, ...] = (
    Rule(
        cel=(
            "!has(self.method) || self.method != 'Quantile' || has(self.serviceLevel) || "
            "(has(self.cost) && has(self.cost.penaltyPerColdStart))"
        ),
        holds=lambda self: (
            self.get("method") != "Quantile" or "serviceLevel" in self or "penaltyPerColdStart" in self.get("cost", {})
        ),
        message="the method Quantile needs serviceLevel: say how many pods may wait how long (or penalties in cost)",
    ),
    Rule(
        cel="!has(self.serviceLevel) || (has(self.method) && self.method in ['Quantile', 'Observed', 'Burst'])",
        holds=lambda self: "serviceLevel" not in self or self.get("method") in ("Quantile", "Observed", "Burst"),
        message="serviceLevel needs a method that keeps it: Quantile, Observed or Burst; Mean keeps none",
    ),
    Rule(
        cel="!has(self.burst) || (has(self.method) && self.method == 'Burst')",
        holds=lambda self: "burst" not in self or self.get("method") == "Burst",
        message="burst needs the method Burst",
    ),
    Rule(
        cel="!has(self.arrivals) || (has(self.method) && self.method == 'Quantile')",
        holds=lambda self: "arrivals" not in self or self.get("method") == "Quantile",
        message="arrivals needs the method Quantile",
    ),
)

MethodField = Annotated[
    MethodName,
    doc(
        """
        How units are counted from rate and latencies.

          Mean      the mean number of pods that come meanwhile. About half of
                    the pods wait when arrivals are random at that rate.
          Quantile  enough for the serviceLevel, at random arrivals.
          Observed  enough for the serviceLevel, in demand as it was recorded;
                    without serviceLevel no pod of the record would have waited.
          Burst     enough for burst pods at once and the rate after that; without
                    burst, for the fastest scale-up of the workload's
                    HorizontalPodAutoscaler.

        Left out: Mean.
        """
    ),
]
ServiceLevelField = Annotated[ServiceLevel, doc("The promise: so many pods wait no longer than so.")]
ArrivalsField = Annotated[ArrivalsSpec, doc("How pods come, for Quantile. Left out: one by one, at random (Poisson).")]
BurstField = Annotated[Count, doc("How many pods come at once, for the method Burst.")]
CostField = Annotated[
    CostSpec,
    doc(
        """
        Prices of units. The promise is kept by the split that costs least, and status shows what it costs in a month.
        With both penalties the split costs least together with waiting, whatever the serviceLevel. Left out: standby is
        taken to cost 5% of active.
        """
    ),
]
CountField = Annotated[
    tuple[Literal["Rollouts", "Replacements"], ...],
    doc(
        """
        What counts as demand besides new pods where demand is measured. Rollouts: pods of a new template that replace
        those of an older one. Replacements: pods in the place of drained, evicted, failed or deleted ones. Left out:
        neither, since the pods that they replace make room for them.
        """
    ),
    Meta(max_length=2),
]
CreationLimitField = Annotated[
    Count,
    doc(
        """
        How many units can be made at the same time as new nodes, by quota or by rate limits of the cloud. When that
        many in every coldNodeLatency are fewer than pods come, a buffer that was used up never fills again, and the
        condition PromiseKept says so. Left out: no limit is known.
        """
    ),
]
FallbackField = Annotated[
    SizingFallback, doc("What counts for Measured values until there are enough samples. Left out: 35s and 120s.")
]
ColdNodeField = Annotated[DurationOrMeasured, more_than_zero("without a cold start nothing needs to stand ready")]
