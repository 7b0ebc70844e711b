"""CapacityBuffer: how much spare capacity must stand ready, and how that number came about.

The spec is upstream's (autoscaling.x-k8s.io, v1beta1) plus `sizing`, so that an upstream manifest means the same after
its apiVersion is changed. Keep the shared fields in sync with it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.conditions import Condition, condition_list
from moorage.api.measured import AttainedStatus, MeasuredStatus
from moorage.api.names import LIMITS_RULES
from moorage.api.presence import NodesSpec, NodesStatus, Tier
from moorage.api.provisioning import (
    SCHEDULES_NEED_SIZING,
    BackendField,
    BackendStatus,
    DedicatedField,
    PlacementField,
    PreloadImagesField,
    RefillField,
    RefillStatus,
    ScaleDownStabilizationField,
    SchedulesField,
    StandbyFallbackField,
)
from moorage.api.rules import Rule, rules
from moorage.api.selector import LabelSelector
from moorage.api.sizing import (
    METHODS_NEED,
    ArrivalsField,
    BurstField,
    ColdNodeField,
    CostField,
    CountField,
    CreationLimitField,
    DurationOrMeasured,
    FallbackField,
    MethodField,
    RateOrMeasured,
    ServiceLevelField,
)
from moorage.api.types import Count, ObjectName, Quantity, QuantityText, doc, map_of_at_most

_SHAPES = ("podTemplateRef", "scalableRef", "selector")
_SIZES = ("replicas", "limits", "sizing")
MethodInForce = Literal["Mean", "Quantile", "Observed", "Burst", "Fixed"]
HYBRID_STRATEGY = "moorage.dev/hybrid-capacity"
"""The strategy in force when `sizing` splits the units into active and standby ones."""


class PodTemplateRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A PodTemplate in the buffer's namespace."""

    name: Annotated[ObjectName, doc("Name of the PodTemplate, in the same namespace.")]


class ScalableRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload in the buffer's namespace."""

    api_group: (
        Annotated[
            str,
            doc(
                """
                API group of the workload, such as apps or batch. Left out or empty: the kind is looked for in the core
                group, then in apps and batch (Karpenter takes a Deployment for one of apps too, Cluster Autoscaler only
                with apiGroup: apps).
                """
            ),
            Meta(max_length=253),
        ]
        | None
    ) = None
    kind: Annotated[
        str,
        doc("Kind of the workload, such as Deployment: any kind with a scale subresource, or Job."),
        Meta(min_length=1, max_length=63),
    ]
    name: Annotated[ObjectName, doc("Name of the workload, in the same namespace.")]


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


class CapacityBufferSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What capacity to hold ready. All fields can be changed at any time."""

    pod_template_ref: (
        Annotated[
            PodTemplateRef,
            doc(
                """
                The PodTemplate that gives the shape of one unit. It needs a size beside it: sizing, replicas or limits
                (percentage has no workload to refer to and is ignored). Not together with scalableRef or selector.
                """
            ),
        ]
        | None
    ) = None
    scalable_ref: (
        Annotated[
            ScalableRef,
            doc(
                """
                The workload that the buffer serves: its pods give the shape of one unit, and its replicas are what
                percentage refers to. Any kind with a scale subresource, or Job (by its parallelism). Not together with
                podTemplateRef or selector. Without any size beside it the buffer has none: Ready is False, reason
                NoSize (as in Cluster Autoscaler; Karpenter would hold 0 and call that ready). Example: {apiGroup: apps,
                kind: Deployment, name: web}
                """
            ),
        ]
        | None
    ) = None
    selector: (
        Annotated[
            LabelSelector,
            doc(
                """
                Instead of scalableRef, for a workload whose kind has no scale subresource: its pods by their labels, in
                the buffer's namespace. The newest of them gives the shape of one unit, and percentage refers to the
                number of those that have not ended. While there is none, the shape last seen stays. Example:
                {matchLabels: {app: web}}
                """
            ),
        ]
        | None
    ) = None
    sizing: (
        Annotated[
            CapacityBufferSizing,
            doc(
                """
                Size the buffer from the arrival of pods and the time that capacity takes to come:

                  total    = scaleUpRate x coldNodeLatency, rounded up
                  active   = scaleUpRate x standbyResumeLatency, rounded up
                  standby  = total - active

                2 pods per second with 30s and 90s is 180 units, 60 active and 120 standby. replicas and percentage can
                raise the total and limits caps it; a cap takes standby away first. A provisioningStrategy puts all
                units into one tier. Left out: replicas, percentage and limits give the size, and all of it is active.
                """
            ),
        ]
        | None
    ) = None
    replicas: (
        Annotated[
            Count,
            doc(
                """
                A fixed number of units, 0 or more. With percentage the larger of the two counts, with sizing it is a
                floor, and limits caps it. 0 counts as given. kubectl scale and autoscalers write this field; with
                sizing they move the floor. Left out: no floor.
                """
            ),
        ]
        | None
    ) = None
    percentage: (
        Annotated[
            Count,
            doc(
                """
                Units as a percentage of the workload's replicas, rounded up: 20 of 11 replicas is 3; more than 100 is
                allowed. Goes with scalableRef and selector only. Of replicas and percentage the larger counts; with
                sizing it is a floor. Left out: no floor. Of a workload at zero it is 0, whatever limits would hold (as
                in Cluster Autoscaler; Karpenter would fill limits): give replicas or sizing to keep units then. Counted
                exactly, beyond 32 bits too.
                """
            ),
        ]
        | None
    ) = None
    limits: (
        Annotated[
            dict[str, Quantity],
            doc(
                """
                A cap on the sum of all units' requests: as many units as fit into every resource named here that a
                unit requests, rounded down. With {cpu: "4"} and units that request 1500m it is 2. Names are those of
                container requests (cpu, memory, nvidia.com/gpu), not those of quotas (requests.cpu, pods), which
                would cap nothing and are refused, as an empty map and amounts below zero are. Alone, without sizing,
                replicas and percentage, it is the size itself. At most 100 names, at least one. Left out: no cap.

                Where a unit has no request but a limit, its limit is its request, as the API server has it. When no
                unit requests any of the names, there is no size, even with replicas: Ready is False, reason
                LimitsMatchNothing (as in Cluster Autoscaler; Karpenter ignores such limits). A quotient beyond
                2147483647 counts as that, and Ready says so (reason Clamped).
                """
            ),
            map_of_at_most(100),
            rules(*LIMITS_RULES),
        ]
        | None
    ) = None
    provisioning_strategy: (
        Annotated[
            str,
            doc(
                """
                Put all units into one tier: buffer.x-k8s.io/active-capacity (running nodes) or
                buffer.gke.io/standby-capacity (suspended nodes). Left out: with sizing the units are split into active
                and standby ones, without it all are active. With sizing, standby alone holds scaleUpRate x
                (coldNodeLatency - standbyResumeLatency) units, since the wait for a resume is then accepted. There is
                no default here; status.provisioningStrategy shows what is in force. Any other strategy gets a
                condition.
                """
            ),
            Meta(max_length=253),
        ]
        | None
    ) = None
    backend: BackendField | None = None
    standby_fallback: StandbyFallbackField | None = None
    dedicated: DedicatedField | None = None
    preload_images: PreloadImagesField | None = None
    placement: PlacementField | None = None
    refill: RefillField | None = None
    schedules: SchedulesField | None = None
    scale_down_stabilization: ScaleDownStabilizationField | None = None
    nodes: (
        Annotated[
            NodesSpec,
            doc(
                """
                The EKS nodes that the buffer is meant for, for pools that are at zero and for settings that nodes do
                not show. Nothing is made of it; it decides what status.nodes tells. Left out: live nodes alone are
                judged. Example: {instanceType: m5.large, networking: Prefix}
                """
            ),
        ]
        | None
    ) = None

    priority: (
        Annotated[
            int,
            doc(
                """
                Which of the namespace's buffers is served first when its quotas do not leave room for all of them: the
                one with the higher number; of equal ones the older. It has nothing to do with the priority of pods.
                Left out: 0.
                """,
                format="int32",
            ),
            Meta(ge=-1_000_000_000, le=1_000_000_000),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits) || has(self.sizing)",
            holds=lambda self: "podTemplateRef" not in self or not self.keys().isdisjoint(_SIZES),
            message="a buffer with podTemplateRef needs a size: give sizing, replicas or limits",
        ),
        Rule(
            cel=f"[{', '.join(f'has(self.{each})' for each in _SHAPES)}].filter(given, given).size() <= 1",
            holds=lambda self: len(self.keys() & set(_SHAPES)) <= 1,
            message="give one of podTemplateRef, scalableRef and selector: each sets the shape of a unit",
        ),
        SCHEDULES_NEED_SIZING,
    )


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
