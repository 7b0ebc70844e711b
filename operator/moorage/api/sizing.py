"""`spec.sizing` of a CapacityBuffer: the rate and latencies that units are counted from, and by which method."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.rules import Rule
from moorage.api.sizing_methods import ArrivalsSpec, CostSpec, ServiceLevel, SizingFallback
from moorage.api.sizing_values import DurationOrMeasured, RateOrMeasured
from moorage.api.types import Count, doc, more_than_zero

MethodName = Literal["Mean", "Quantile", "Observed", "Burst"]

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


class CapacityBufferSizing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How fast pods arrive and how long capacity takes to come."""

    method: MethodField | None = None
    scale_up_rate: Annotated[
        RateOrMeasured,
        doc(
            """
            How fast new pods arrive in a burst, in pods per second: 2, or "0.5", or with a unit of time: "120/m" is 2
            and "90/h" is 0.025. Counted exactly, never rounded. With 0 only replicas, percentage and limits count.
            Quote fractions: a bare 0.5 is answered with: must be of type integer,string: "number". Measured: from the
            pods of the workload as they come.
            """
        ),
    ]
    standby_resume_latency: Annotated[
        DurationOrMeasured,
        doc(
            """
            How long a suspended node takes until pods run on it, such as 30s, 1m30s or 500ms (units ms, s, m, h).
            Active units cover the pods that arrive meanwhile. With 0s all units are standby. When it is not shorter
            than coldNodeLatency, standby buys nothing: then all units are active, and a condition says so. Measured:
            from the pods that waited for a resume.
            """
        ),
    ]
    cold_node_latency: Annotated[
        ColdNodeField,
        CountField,
        doc(
            """
            How long a new node takes until pods run on it, from the decision to add it, such as 90s or 4m. The buffer
            covers the pods that arrive meanwhile. More than zero. Measured: from the pods that waited for a new node.
            """
        ),
    ]
    service_level: ServiceLevelField | None = None
    arrivals: ArrivalsField | None = None
    burst: BurstField | None = None
    cost: CostField | None = None
    creation_limit: CreationLimitField | None = None
    fallback: FallbackField | None = None
    count: CountField = ()

    rules: ClassVar[tuple[Rule, ...]] = METHODS_NEED
