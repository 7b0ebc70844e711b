"""What a CapacityBuffer's status says of what was measured and attained."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from moorage.api.types import Count, doc


class AttainedStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """So many pods wait no longer than so."""

    percentile: Annotated[str, doc("How many of 100 pods, never rounded up: 99.01.")]
    max_wait: Annotated[str, doc("How long these wait at most for capacity, such as 0s.")]


class LatencyStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How long pods waited, in percentiles. Pods that still wait count as waiting longer, and are never left out."""

    samples: Annotated[Count, doc("Pods that were measured, those that still wait included.")] = 0
    waiting: Annotated[Count, doc("How many of them still wait.")] = 0
    p50: Annotated[str, doc("Half of them waited no longer; missing while that is not known.")] = ""
    p90: Annotated[str, doc("90% of them waited no longer.")] = ""
    p95: Annotated[str, doc("95% of them waited no longer: the value in force.")] = ""
    p99: Annotated[str, doc("99% of them waited no longer.")] = ""


class MeasuredStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was measured of the workload's pods."""

    pods: Annotated[Count, doc("New pods that were counted, rollouts, drains and restarts left out.")] = 0
    days: Annotated[str, doc("Days of record, such as 12.5.")] = ""
    rate: Annotated[str, doc("Pods per second as pods see it: in the windows in which they come.")] = ""
    busiest: Annotated[
        tuple[str, ...],
        doc("The hours of the week (UTC) with the highest peaks of coldNodeLatency: Mon 09h 120 pods."),
        Meta(max_length=3),
    ] = ()
    resume: Annotated[LatencyStatus, doc("Created to scheduled, of pods that waited for a resume.")] | None = None
    cold: Annotated[LatencyStatus, doc("Created to scheduled, of pods that waited for a new node.")] | None = None
    after: (
        Annotated[LatencyStatus, doc("Scheduled to ready: images and readiness, which no buffer shortens.")] | None
    ) = None
    record: Annotated[
        str, doc("All that was learnt, packed, so that a restart of the operator loses nothing. Not for people.")
    ] = ""
