"""What a CapacityBuffer's status tells: its size and how that came about, what is there, and its conditions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from moorage.api.conditions import Condition, condition_list
from moorage.api.measured import AttainedStatus, MeasuredStatus
from moorage.api.presence import NodesStatus, Tier
from moorage.api.provisioning import BackendStatus, RefillStatus
from moorage.api.types import Count, QuantityText, doc

MethodInForce = Literal["Mean", "Quantile", "Observed", "Burst", "Fixed"]
HYBRID_STRATEGY = "moorage.dev/hybrid-capacity"
"""The strategy in force when `sizing` splits the units into active and standby ones."""


class SizingStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The inputs that were used and the reasoning."""

    method: Annotated[
        MethodInForce,
        doc("The method in force, see spec.sizing.method. Fixed: from replicas, percentage or limits, without sizing."),
    ]
    scale_up_rate: Annotated[str, doc("The rate that was used, in pods per second, such as 2 or 0.5.")] = ""
    standby_resume_latency: Annotated[str, doc("The latency that was used for standby nodes, such as 30s.")] = ""
    cold_node_latency: Annotated[str, doc("The latency that was used for new nodes, such as 90s.")] = ""
    workload_replicas: (
        Annotated[Count, doc("Replicas of the workload (scalableRef) that percentage was taken of.")] | None
    ) = None
    unit: Annotated[
        dict[str, QuantityText],
        doc("What one unit requests: the sum over the pod, init containers, sidecars and overhead included."),
    ] = {}
    floor: Annotated[Count, doc("The larger of replicas and percentage; missing when neither is given.")] | None = None
    cap: Annotated[Count, doc("Units that fit into limits; missing without limits.")] | None = None
    room: (
        Annotated[
            Count,
            doc("Units that the namespace's quotas leave room for; missing while that is enough. See LimitedByQuotas."),
        ]
        | None
    ) = None
    attained: (
        Annotated[
            AttainedStatus,
            doc(
                """
                What the size is worth at the worst instant: so many pods wait no longer than so. For Mean it is what
                random arrivals at that rate would find, without a promise. Missing where nobody can tell.
                """
            ),
        ]
        | None
    ) = None
    cost_per_month: Annotated[str, doc("What the units cost in 730 hours at the prices of sizing.cost.")] = ""
    sources: Annotated[
        dict[str, str],
        doc("Where values come from that are Measured: measured, with the number of samples, or fallback."),
    ] = {}
    measured: Annotated[MeasuredStatus, doc("What was measured, for what is Measured or Observed.")] | None = None
    explanation: Annotated[
        str,
        doc("How the numbers came about, such as: active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60"),
    ] = ""


class CapacityBufferDisplay(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Short texts for the columns of `kubectl get`."""

    strategy: Annotated[str, doc("The strategy in force in one word: Active, Standby or Hybrid.")] = ""
    active: Annotated[str, doc("Active units that are there and that should be, such as 52/60.")] = ""
    standby: Annotated[str, doc("Standby units that are there and that should be, such as 120/120.")] = ""
    rate: Annotated[str, doc("The scale-up rate in force, such as 2/s; missing without sizing.")] = ""


class CapacityBufferStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The size of the buffer and how it came about. Written by Moorage."""

    observed_generation: Annotated[
        int,
        doc("The metadata.generation of the spec that this status belongs to."),
        Meta(ge=0, extra_json_schema={"format": "int64"}),
    ] = 0
    replicas: (
        Annotated[Count, doc("Units that the buffer should hold, active and standby together; also served at /scale.")]
        | None
    ) = None
    ready_replicas: (
        Annotated[Count, doc("Units that are there, active and standby together. Missing while that is not known.")]
        | None
    ) = None
    selector: Annotated[
        str,
        doc("Label selector of the buffer's units; also served at /scale, where autoscalers ask for one."),
    ] = ""
    active: Annotated[Tier, doc("Units on running nodes: pods start on them at once. Used first.")] | None = None
    standby: (
        Annotated[Tier, doc("Units on suspended nodes: pods wait for a resume. They refill the active ones.")] | None
    ) = None
    pod_template_generation: (
        Annotated[
            int,
            doc("The metadata.generation of the PodTemplate that a unit is made of; missing for other references."),
            Meta(ge=0, extra_json_schema={"format": "int64"}),
        ]
        | None
    ) = None
    provisioning_strategy: Annotated[
        str,
        doc(
            f"""
            The strategy in force: buffer.x-k8s.io/active-capacity, buffer.gke.io/standby-capacity, or
            {HYBRID_STRATEGY} for a split into both by sizing.
            """
        ),
    ] = ""
    nodes: (
        Annotated[NodesStatus, doc("Units by nodes. Missing while no node is known that could hold a unit.")] | None
    ) = None
    sizing: Annotated[SizingStatus, doc("The inputs that were used and how the numbers came about.")] | None = None
    backend: Annotated[BackendStatus, doc("What makes the units exist, and why it is that.")] | None = None
    refill: Annotated[RefillStatus, doc("Units that were taken and are not made anew.")] | None = None
    display: Annotated[CapacityBufferDisplay, doc("Short texts for the columns of kubectl get.")] | None = None
    conditions: Annotated[
        tuple[Condition, ...],
        condition_list(
            """
            Ready: the size is known and follows its inputs; False names what is missing, such as a template or a
            workload, and clears by itself when it appears.

            Provisioned: all units are there, so that pods of their shape find room; False says how many are missing
            and where they come from, Unknown why it cannot be told.

            Infeasible: no node that is known could ever hold a unit, however empty; the message says what is in the
            way.

            StandbyUnsupported: standby capacity is asked for and would buy nothing, since a resume takes no less time
            than a new node.

            PromiseKept: of methods that promise something: whether the size keeps it. False when it was cut (the
            message says what is still kept) or when pods come faster than nodes can be made; Unknown while there is
            too little record.

            UnitAdmitted: the API server would admit a pod of the template, and a unit counts as it would store it:
            with defaults, LimitRanges, priority classes, policies and webhooks. False when a trial was refused, which
            may mean that pods of the workload will be as well; the message tells what a unit is taken for meanwhile.

            LimitedByQuotas: quotas of the namespace leave room for fewer units than are wanted; the message names the
            quotas and the buffers that were served before (see spec.priority). Units count as if they ran.
            """
        ),
    ] = ()
