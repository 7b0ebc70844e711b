"""CapacityBuffer: how much spare capacity must stand ready. Its status is in capacitybuffer_status.

The spec is upstream's (autoscaling.x-k8s.io, v1beta1) plus `sizing`, so that an upstream manifest means the same after
its apiVersion is changed. Keep the shared fields in sync with it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from moorage.api.names import LIMITS_RULES
from moorage.api.presence import NodesSpec
from moorage.api.provisioning import (
    SCHEDULES_NEED_SIZING,
    BackendField,
    DedicatedField,
    PlacementField,
    PreloadImagesField,
    RefillField,
    ScaleDownStabilizationField,
    SchedulesField,
    StandbyFallbackField,
)
from moorage.api.references import PodTemplateRef, ScalableRef
from moorage.api.rules import Rule, rules
from moorage.api.selector import LabelSelector
from moorage.api.sizing import CapacityBufferSizing
from moorage.api.types import Count, Quantity, doc, map_of_at_most

_SHAPES = ("podTemplateRef", "scalableRef", "selector")
_SIZES = ("replicas", "limits", "sizing")


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
