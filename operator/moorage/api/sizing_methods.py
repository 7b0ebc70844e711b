"""What methods of sizing go by: the promise, how pods arrive, prices, and what counts until enough is measured."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

import msgspec

from moorage.api.rules import Rule
from moorage.api.sizing_values import Mean, Percentile, Price
from moorage.api.types import Duration, Rate, doc, more_than_zero


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
