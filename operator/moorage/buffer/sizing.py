"""How many units a buffer holds, and in which tier.

With a scale-up rate and two latencies: the total covers the pods that arrive while a node starts cold, and the active
part covers those that arrive while a standby node resumes (the published rule of GKE capacity buffers: active = rate x
resume, standby = rate x cold - active). `replicas`, `percentage` and `limits` combine as in the upstream CapacityBuffer
controllers: the larger of the first two, capped by the last. All arithmetic is exact; the total is rounded up once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil

from moorage.buffer.arrivals import Arrivals
from moorage.buffer.method import Attained, Method, Quantile
from moorage.buffer.promise import Counts, Latencies, Promise
from moorage.buffer.rate import duration_text, rate_text
from moorage.buffer.stabilization import Target
from moorage.buffer.tier import Tiers
from moorage.quantity import NANO

MAX_REPLICAS = 2**31 - 1
"""The largest replica count that Kubernetes stores (int32)."""

_MILLI = NANO // 1000


class Strategy(StrEnum):
    """Upstream's names for the kind of capacity."""

    ACTIVE = "buffer.x-k8s.io/active-capacity"
    STANDBY = "buffer.gke.io/standby-capacity"


def tiers_of(strategy: Strategy | None) -> Tiers:
    """Return which tiers a buffer of that strategy has."""
    return _TIERS[strategy]


_TIERS = {None: Tiers.BOTH, Strategy.ACTIVE: Tiers.ACTIVE, Strategy.STANDBY: Tiers.STANDBY}


class SizingError(ValueError):
    """No size follows from what is given; `reason` is a condition's reason, the text a sentence for its reader."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """How fast pods come and how long capacity takes: pods per second and seconds, exact.

    `method` says how units are counted from that; None: as the mean number of pods that arrive meanwhile.
    """

    rate: Fraction
    resume: Fraction
    cold: Fraction
    method: Method | None = None

    @property
    def standby_helps(self) -> bool:
        """Whether resuming a node is quicker than starting one."""
        return self.resume < self.cold

    @property
    def latencies(self) -> Latencies:
        """How long a resume and a cold start take."""
        return Latencies(self.resume, self.cold)

    def needs(self, strategy: Strategy | None) -> Counts | None:
        """Return the units that the method asks for, or None for the mean."""
        return self.method.counts(self.latencies, _TIERS[strategy]) if self.method is not None else None

    def wait(self, strategy: Strategy | None) -> Fraction:
        """Return the wait that is promised: with standby alone, none shorter than a resume."""
        max_wait = self.method.max_wait if self.method is not None else Fraction(0)
        return _TIERS[strategy].wait(self.latencies, max_wait)

    def attained(self, size: Size, strategy: Strategy | None) -> Attained | None:
        """Return what a size is worth, where the method can tell; of the mean, what it is at random arrivals."""
        if not self.rate and self.method is None:
            return None
        method = self.method or Quantile(Arrivals(self.rate), Promise(Fraction(1, 2)))
        return method.attained(Counts(size.active, size.replicas), self.latencies, _TIERS[strategy])


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upstream's sizes; None means not given.

    `limits` caps the sum of the units' requests and `unit` is what one unit requests, both in nano-units by resource.
    `workload_replicas` is the size of the workload that `percentage` refers to; without a workload it is None and
    `percentage` is ignored, as upstream does. `headroom` is how many more replicas the workload may get, when something
    bounds them. `room` is how many units the namespace's quotas leave room for, when that is fewer than all. `held` is
    a size that is kept for now although less is wanted, and `withheld` how many units are missing because what was
    taken is not made anew.
    """

    replicas: int | None = None
    percentage: int | None = None
    workload_replicas: int | None = None
    limits: Mapping[str, int] | None = None
    unit: Mapping[str, int] | None = None
    headroom: int | None = None
    room: int | None = None
    held: Target | None = None
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class Size:
    """The units a buffer holds and how that came about."""

    replicas: int
    active: int
    standby: int
    bound_by: str
    """What decided the total: `rate`, `serviceLevel`, `burst`, `demand`, `replicas`, `percentage`, `limits`,
    `maxReplicas`, `stabilization`, `refill`, `quotas` or `int32`."""
    floor: int | None
    cap: int | None
    room: int | None
    explanation: str


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
    notes = [*_notes(result, floor_text), *_notes_on_time(bounds, wanted)]
    if bound_by == "maxReplicas":
        notes.append(f"the workload may get {bounds.headroom} more replicas, which decides")
    explanation = "; ".join([*_explain(result, scale_up, strategy), *notes])
    return replace(result, explanation=explanation)


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
