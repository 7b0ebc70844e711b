"""The status of a CapacityBuffer."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import (
    HYBRID_STRATEGY,
    CapacityBufferDisplay,
    CapacityBufferStatus,
    MethodInForce,
    SizingStatus,
)
from moorage.api.conditions import Condition
from moorage.api.presence import Tier
from moorage.buffer.life import NO_ADJUSTMENT, Adjustment
from moorage.buffer.quotas import Share
from moorage.buffer.rate import duration_text, rate_text
from moorage.buffer.scale_up import ScaleUp, Strategy
from moorage.buffer.size import MAX_REPLICAS, Bounds, Size, SizingError
from moorage.buffer.sizing import size
from moorage.objects import PodSpec
from moorage.quantity import canonical
from moorage.quota.names import is_binary
from moorage.resources import nano_of, pod_resources, with_defaults
from moorage.status.buffer_quotas import limited_by_quotas
from moorage.status.findings import ConditionStatus, condition
from moorage.status.promise import promise_kept, with_method
from moorage.status.sizing import inputs, strategy_of
from moorage.status.workload import Admission, Unresolved, Workload

READY, STANDBY_UNSUPPORTED, UNIT_ADMITTED = "Ready", "StandbyUnsupported", "UnitAdmitted"

_STRATEGY_WORDS = {Strategy.ACTIVE.value: "Active", Strategy.STANDBY.value: "Standby", HYBRID_STRATEGY: "Hybrid"}


def buffer_size(
    spec: CapacityBufferSpec, found: Workload, *, room: int | None = None, adjustment: Adjustment = NO_ADJUSTMENT
) -> Size | SizingError:
    """Return the size of a buffer, or why none follows from what is given.

    `room` is how many units quotas leave room for, when that is fewer than all; `adjustment` is what time does to it.
    Raises ValueError when the spec does not parse.
    """
    try:
        asked = inputs(spec, found.measured)
        return size(asked.scale_up if asked else None, _bounds(spec, found, room, adjustment), strategy_of(spec))
    except SizingError as error:
        return error


def buffer_status(
    spec: CapacityBufferSpec,
    found: Workload | Unresolved,
    *,
    generation: int,
    share: Share | Unresolved | None = None,
    adjustment: Adjustment = NO_ADJUSTMENT,
) -> CapacityBufferStatus:
    """Return the size of a buffer and how it came about, or why there is none yet.

    `share` is what quotas leave of it, None when none were asked; `adjustment` is what time does to it.
    Raises ValueError when the spec does not parse.
    """
    if isinstance(found, Unresolved):
        return unsized_buffer_status(found.reason, found.message, generation=generation, pending=found.pending)
    if isinstance(share, Unresolved) and share.pending:
        return unsized_buffer_status(share.reason, share.message, generation=generation, pending=True)
    room = share.units if isinstance(share, Share) and share.shortages else None
    result = buffer_size(spec, found, room=room, adjustment=adjustment)
    if isinstance(result, SizingError):
        return unsized_buffer_status(result.reason, str(result), generation=generation)
    asked, strategy = inputs(spec, found.measured), strategy_of(spec)
    arrivals = asked.scale_up if asked is not None else None
    strategy_in_force = _strategy_in_force(arrivals, strategy)
    return CapacityBufferStatus(
        observed_generation=generation,
        replicas=result.replicas,
        active=Tier(replicas=result.active),
        standby=Tier(replicas=result.standby),
        pod_template_generation=found.generation,
        provisioning_strategy=strategy_in_force,
        sizing=with_method(_sizing(arrivals, _bounds(spec, found, room, adjustment), result), asked, result, strategy),
        display=CapacityBufferDisplay(
            strategy=_STRATEGY_WORDS[strategy_in_force],
            active=str(result.active),
            standby=str(result.standby),
            rate=f"{rate_text(arrivals.rate)}/s" if arrivals is not None else "",
        ),
        conditions=(
            _ready(result, generation),
            _standby(arrivals, strategy, generation),
            *promise_kept(spec, asked, result, strategy, generation=generation),
            *([_unit_admitted(found.admission, generation)] if found.admission is not None else []),
            *([limited_by_quotas(share, generation)] if share is not None else []),
        ),
    )


def _bounds(spec: CapacityBufferSpec, found: Workload, room: int | None, adjustment: Adjustment) -> Bounds:
    return Bounds(
        replicas=spec.replicas,
        percentage=spec.percentage,
        workload_replicas=found.replicas,
        limits={name: nano_of(value) for name, value in spec.limits.items()} if spec.limits is not None else None,
        unit=unit_requests(found.template),
        headroom=_headroom(found),
        room=room,
        held=adjustment.held,
        withheld=adjustment.withheld,
    )


def _headroom(found: Workload) -> int | None:
    """Return how many more replicas the workload's autoscaler may ask for."""
    scaler = found.measured.autoscaler
    return None if scaler is None else max(scaler.most - (found.replicas or 0), 0)


def unsized_buffer_status(reason: str, message: str, *, generation: int, pending: bool = False) -> CapacityBufferStatus:
    """Return the status of a buffer that has no size: nothing but the reason."""
    status: ConditionStatus = "Unknown" if pending else "False"
    return CapacityBufferStatus(
        observed_generation=generation,
        conditions=(condition(READY, status, reason, message, generation=generation),),
    )


def unit_requests(template: PodSpec | None) -> Mapping[str, int] | None:
    """Return what one unit requests as the API server would store it, in nano-units, or None without a template.

    Raises QuantityError.
    """
    return None if template is None else pod_resources(with_defaults(template)).requests


def _strategy_in_force(arrivals: ScaleUp | None, strategy: Strategy | None) -> str:
    if strategy is not None:
        return strategy.value
    return HYBRID_STRATEGY if arrivals is not None else Strategy.ACTIVE.value


def _sizing(arrivals: ScaleUp | None, bounds: Bounds, result: Size) -> SizingStatus:
    return SizingStatus(
        method=_method(arrivals),
        scale_up_rate=rate_text(arrivals.rate) if arrivals is not None else "",
        standby_resume_latency=duration_text(arrivals.resume) if arrivals is not None else "",
        cold_node_latency=duration_text(arrivals.cold) if arrivals is not None else "",
        workload_replicas=bounds.workload_replicas,
        unit={name: canonical(amount, binary=is_binary(name)) for name, amount in sorted((bounds.unit or {}).items())},
        floor=_stored(result.floor),
        cap=_stored(result.cap),
        room=_stored(result.room),
        explanation=result.explanation,
    )


def _method(arrivals: ScaleUp | None) -> MethodInForce:
    if arrivals is None:
        return "Fixed"
    return arrivals.method.name if arrivals.method is not None else "Mean"


def _stored(count: int | None) -> int | None:
    return None if count is None else min(count, MAX_REPLICAS)


def _ready(result: Size, generation: int) -> Condition:
    if result.bound_by == "int32":
        message = f"the size is cut to {MAX_REPLICAS}, the largest count that Kubernetes stores"
        return condition(READY, "True", "Clamped", message, generation=generation)
    message = f"the size is known: {result.active} active and {result.standby} standby"
    return condition(READY, "True", "Reconciled", message, generation=generation)


def _unit_admitted(admission: Admission, generation: int) -> Condition:
    status: ConditionStatus = "True" if admission.admitted else "False"
    return condition(UNIT_ADMITTED, status, admission.reason, admission.message, generation=generation)


def _standby(arrivals: ScaleUp | None, strategy: Strategy | None, generation: int) -> Condition:
    """Say whether standby capacity is of use: only when resuming a node is quicker than starting one."""
    if arrivals is None or strategy is Strategy.ACTIVE:
        message = "no standby capacity is sized by latencies"
        return condition(STANDBY_UNSUPPORTED, "False", "NoStandby", message, generation=generation)
    resume, cold = duration_text(arrivals.resume), duration_text(arrivals.cold)
    if arrivals.standby_helps:
        message = f"a resume ({resume}) is quicker than a cold start ({cold})"
        return condition(STANDBY_UNSUPPORTED, "False", "ResumeFaster", message, generation=generation)
    message = f"standbyResumeLatency ({resume}) is not below coldNodeLatency ({cold}), so standby capacity buys nothing"
    return condition(STANDBY_UNSUPPORTED, "True", "ResumeNotFaster", message, generation=generation)
