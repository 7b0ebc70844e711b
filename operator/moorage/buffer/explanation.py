"""How a size came about, in words: how each tier's units were counted, and which bound decided."""

from __future__ import annotations

from math import ceil

from moorage.buffer.method import Method
from moorage.buffer.rate import duration_text, rate_text
from moorage.buffer.scale_up import ScaleUp, Strategy
from moorage.buffer.size import MAX_REPLICAS, Bounds, Size


def explanation(
    result: Size,
    scale_up: ScaleUp | None,
    strategy: Strategy | None,
    bounds: Bounds,
    *,
    wanted: int,
    floor_text: str,
) -> str:
    """Return it; `wanted` is the total without what is kept or missing for now, `floor_text` tells of the floor."""
    notes = [*_notes(result, floor_text), *_notes_on_time(bounds, wanted)]
    if result.bound_by == "maxReplicas":
        notes.append(f"the workload may get {bounds.headroom} more replicas, which decides")
    return "; ".join([*_explain(result, scale_up, strategy), *notes])


def _notes(result: Size, floor_text: str) -> list[str]:
    """Say of each bound whether it decided."""
    notes = []
    if result.floor is not None:
        notes.append(f"floor {result.floor}{floor_text} {_floor_state(result, result.floor)}")
    if result.cap is not None:
        notes.append(f"cap {result.cap} {_cap_state(result, result.cap)}")
    if result.bound_by == "int32":
        notes.append(f"{MAX_REPLICAS} is the largest count that Kubernetes stores")
    if result.bound_by == "quotas":
        notes.append(f"quotas leave room for {result.room}, which decides")
    return notes


def _notes_on_time(bounds: Bounds, wanted: int) -> list[str]:
    notes = []
    if bounds.held is not None:
        kept = f"{bounds.held.replicas} with {bounds.held.active} active"
        notes.append(f"{kept} is kept for now by scaleDownStabilization, {wanted} is wanted")
    if bounds.withheld:
        units = "1 unit that was taken is" if bounds.withheld == 1 else f"{bounds.withheld} units that were taken are"
        notes.append(f"{units} not made anew (refill)")
    return notes


def _floor_state(result: Size, floor: int) -> str:
    if result.bound_by in ("replicas", "percentage"):
        return "decides"
    if floor > result.replicas:
        return f"is cut{_CUT_BY.get(result.bound_by, '')}"
    return "is just met" if floor == result.replicas else "is exceeded"


def _cap_state(result: Size, cap: int) -> str:
    if result.bound_by == "limits":
        return "decides"
    if result.replicas > cap:
        return "is exceeded for now"
    return "is just reached" if cap == result.replicas else "is not reached"


def _explain(result: Size, scale_up: ScaleUp | None, strategy: Strategy | None) -> list[str]:
    """Say how each tier's units came about."""
    total, active, standby = result.replicas, result.active, result.standby
    if active and standby and (scale_up is None or strategy is not None):
        return [f"active {active}", f"standby {standby}"]  # one of them is kept from another strategy
    if scale_up is None:
        tier, source = "standby" if strategy is Strategy.STANDBY else "active", _SOURCE.get(result.bound_by)
        return [f"{tier} {total} from {source}" if source else f"{tier} {total}"]
    if scale_up.method is not None:
        return _explain_method(result, scale_up, scale_up.method, strategy)
    rate = f"{rate_text(scale_up.rate)} pods/s"
    resume, cold = duration_text(scale_up.resume), duration_text(scale_up.cold)
    by_rate = result.bound_by == "rate"
    useless = f"a resume of {resume} is not quicker than a cold start of {cold}, so standby buys nothing"
    if strategy is Strategy.STANDBY:
        if not scale_up.standby_helps:
            return [f"standby {standby}", useless]
        return [f"standby {standby}" + (f" = {rate} x ({cold} - {resume})" if by_rate else "")]
    if strategy is Strategy.ACTIVE or not scale_up.standby_helps:
        text = f"active {active}" + (f" = {rate} x {cold}" if by_rate else "")
        return [text] if strategy is Strategy.ACTIVE else [text, useless]
    whole = active == ceil(scale_up.rate * scale_up.resume)
    return [
        f"active {active}" + (f" = {rate} x {resume}" if whole else ""),
        f"standby {standby} = {rate} x {cold} - {active}" if by_rate else f"standby {standby} = {total} - {active}",
    ]


def _explain_method(result: Size, scale_up: ScaleUp, method: Method, strategy: Strategy | None) -> list[str]:
    """Say what the units are for, and what is left of the promise when there are fewer than needed."""
    resume, cold = duration_text(scale_up.resume), duration_text(scale_up.cold)
    tiers = {Strategy.ACTIVE: f"active {result.active}", Strategy.STANDBY: f"standby {result.standby}"}
    units = tiers[strategy] if strategy is not None else f"active {result.active} and standby {result.standby}"
    needed = scale_up.needs(strategy)
    assert needed is not None
    latencies = f"resume {resume}, cold start {cold}"
    if not scale_up.standby_helps:
        latencies += ", so standby buys nothing"
    if result.replicas == needed.total:
        return [f"{units} {method.why(scale_up.wait(strategy))} ({latencies})"]
    return [units, f"{needed.total} would {method.why(scale_up.wait(strategy))} ({latencies})"]


_CUT_BY = {"limits": " by the cap", "maxReplicas": " by maxReplicas", "quotas": " by quotas", "refill": " by refill"}
_SOURCE = {
    "replicas": "spec.replicas",
    "percentage": "spec.percentage",
    "limits": "spec.limits",
}
