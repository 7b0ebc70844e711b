"""How many units a buffer holds, and in which tier.

With a scale-up rate and two latencies: the total covers the pods that arrive while a node starts cold, and the active
part covers those that arrive while a standby node resumes (the published rule of GKE capacity buffers: active = rate x
resume, standby = rate x cold - active). `replicas`, `percentage` and `limits` combine as in the upstream CapacityBuffer
controllers: the larger of the first two, capped by the last. All arithmetic is exact; the total is rounded up once.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from moorage.buffer.explanation import explanation
from moorage.buffer.scale_up import ScaleUp, Strategy
from moorage.buffer.size import MAX_REPLICAS, Bounds, Size, SizingError
from moorage.quantity import NANO

_MILLI = NANO // 1000


def size(scale_up: ScaleUp | None, bounds: Bounds, strategy: Strategy | None = None) -> Size:
    """Return the size of a buffer.

    A strategy puts all units into its tier; without one, `scale_up` splits them and a buffer without it is all active.
    Raises SizingError when nothing gives a size, or when limits name nothing that a unit requests.
    """
    floor, floor_by, floor_text = _floor(bounds)
    cap = _cap(bounds)
    if scale_up is None and floor is None and cap is None:
        raise SizingError(
            "NoSize",
            "no size is given: set spec.sizing, spec.replicas, spec.percentage (with spec.scalableRef) or spec.limits",
        )
    wanted, bound_by = _wanted(scale_up, strategy), _bound_by(scale_up)
    if wanted is None:
        wanted, bound_by = (floor, floor_by) if floor is not None else (MAX_REPLICAS, "limits")
    elif floor is not None and floor > wanted:
        wanted, bound_by = floor, floor_by
    total = wanted
    if (cap is not None and cap < total) or bound_by == "limits":
        total, bound_by = cap if cap is not None else total, "limits"
    if bounds.headroom is not None and bounds.headroom < total:
        total, bound_by = bounds.headroom, "maxReplicas"
    if total > MAX_REPLICAS:
        total, bound_by = MAX_REPLICAS, "int32"
    wanted = total
    if bounds.held is not None and bounds.held.replicas > total:
        total, bound_by = bounds.held.replicas, "stabilization"
    if bounds.withheld and total:
        total, bound_by = max(total - bounds.withheld, 0), "refill"
    if bounds.room is not None and bounds.room < total:
        total, bound_by = bounds.room, "quotas"
    active, standby = _split(total, scale_up, strategy)
    if bounds.held is not None:
        active = min(max(active, bounds.held.active), total)
        standby = total - active
    result = Size(total, active, standby, bound_by, floor, cap, bounds.room, explanation="")
    text = explanation(result, scale_up, strategy, bounds, wanted=wanted, floor_text=floor_text)
    return replace(result, explanation=text)


def _wanted(scale_up: ScaleUp | None, strategy: Strategy | None) -> int | None:
    """Units that the scale-up rate asks for: pods arriving during a cold start, or beyond an accepted resume."""
    if scale_up is None:
        return None
    if (needed := scale_up.needs(strategy)) is not None:
        return needed.total if scale_up.standby_helps or strategy is not Strategy.STANDBY else 0
    if strategy is Strategy.STANDBY:
        return max(ceil(scale_up.rate * (scale_up.cold - scale_up.resume)), 0)
    return ceil(scale_up.rate * scale_up.cold)


def _bound_by(scale_up: ScaleUp | None) -> str:
    return scale_up.method.bound_by if scale_up is not None and scale_up.method is not None else "rate"


def _split(total: int, scale_up: ScaleUp | None, strategy: Strategy | None) -> tuple[int, int]:
    if strategy is Strategy.STANDBY:
        return 0, total
    if strategy is Strategy.ACTIVE or scale_up is None or not scale_up.standby_helps:
        return total, 0
    needed = scale_up.needs(strategy)
    active = min(ceil(scale_up.rate * scale_up.resume) if needed is None else needed.active, total)
    return active, total - active


def _floor(bounds: Bounds) -> tuple[int | None, str, str]:
    """Return the larger of `replicas` and the percentage of the workload, which of them it is, and how to say it."""
    share = None
    if bounds.percentage is not None and bounds.workload_replicas is not None:
        share = -(-bounds.percentage * bounds.workload_replicas // 100)
    if share is not None and (bounds.replicas is None or share > bounds.replicas):
        return share, "percentage", f" ({bounds.percentage}% of {bounds.workload_replicas} replicas)"
    return bounds.replicas, "replicas", ""


def _cap(bounds: Bounds) -> int | None:
    """Return how many units fit into `limits`: the smallest quotient over the resources that a unit requests.

    Requests are rounded up to whole milli-units, as both upstream controllers do.
    """
    if bounds.limits is None:
        return None
    if bounds.unit is None:
        raise SizingError("ShapeUnknown", "spec.limits needs the requests of one unit, and these are not known")
    quotients = [
        max(limit, 0) // (-(-bounds.unit[name] // _MILLI) * _MILLI)
        for name, limit in bounds.limits.items()
        if bounds.unit.get(name, 0) > 0
    ]
    if not quotients:
        requested = ", ".join(sorted(name for name, amount in bounds.unit.items() if amount > 0)) or "nothing"
        raise SizingError(
            "LimitsMatchNothing",
            f"spec.limits names {', '.join(sorted(bounds.limits)) or 'nothing'}, but a unit requests {requested}; "
            f"name a resource that the pod template requests",
        )
    return min(quotients)
