"""What each input of a buffer's size gives, which one decided, and what the next step of each would make of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.sizing import CapacityBufferSizing
from moorage.buffer.rate import duration_text, parse_duration, parse_rate, rate_text
from moorage.buffer.size import MAX_REPLICAS, Size, SizingError
from moorage.quantity import canonical
from moorage.quota.names import is_binary
from moorage.resources import nano_of
from moorage.status.capacitybuffer import buffer_size, unit_requests
from moorage.status.workload import Workload

_STEP = Fraction(11, 10)
"""By how much rates and latencies are changed."""
_LATENCIES = {"standbyResumeLatency": "standby_resume_latency", "coldNodeLatency": "cold_node_latency"}


@dataclass(frozen=True, slots=True)
class Step:
    """One input and its next value."""

    name: str
    """As in the spec, such as `sizing.scaleUpRate`; `quotas` for the room that they leave."""
    value: str
    decides: bool
    """Whether the total is what it is by this input."""
    change: str
    """The next value."""
    size: Size | None
    """The size with it; None when there would be none."""


def steps(spec: CapacityBufferSpec, found: Workload, now: Size, *, room: int | None = None) -> list[Step]:
    """Return the inputs that are given, each with a step; `now` is the size as it is, with `room` left by quotas.

    Raises ValueError when the spec does not parse.
    """
    return [*_of_sizing(spec, found, now, room), *_of_bounds(spec, found, now, room)]


def requests_of(found: Workload, units: int) -> dict[str, str]:
    """Return what so many units request; nothing when the shape of a unit is not known."""
    unit: Mapping[str, int] = unit_requests(found.template) or {}
    return {name: canonical(amount * units, binary=is_binary(name)) for name, amount in sorted(unit.items()) if amount}


def _resized(spec: CapacityBufferSpec, found: Workload, room: int | None) -> Size | None:
    result = buffer_size(spec, found, room=room)
    return None if isinstance(result, SizingError) else result


def _of_sizing(spec: CapacityBufferSpec, found: Workload, now: Size, room: int | None) -> Iterator[Step]:
    sizing = spec.sizing
    if sizing is None:
        return
    by_rate = now.bound_by == "rate"

    def step(name: str, value: str, change: str, changed: CapacityBufferSizing) -> Step:
        resized = _resized(msgspec.structs.replace(spec, sizing=changed), found, room)
        return Step(f"sizing.{name}", value, by_rate and name != "standbyResumeLatency", change, resized)

    try:
        rate = parse_rate(sizing.scale_up_rate)
    except ValueError:
        pass  # one that is measured is nobody's to change
    else:
        more = rate_text(rate * _STEP)
        changed = msgspec.structs.replace(sizing, scale_up_rate=more)
        yield step("scaleUpRate", f"{rate_text(rate)}/s", f"{more}/s", changed)
    for name, attribute in _LATENCIES.items():
        try:
            latency = parse_duration(getattr(sizing, attribute))
        except ValueError:
            continue
        longer = duration_text(latency * _STEP)
        changed = msgspec.structs.replace(sizing, **{attribute: longer})
        yield step(name, duration_text(latency), longer, changed)


def _of_bounds(spec: CapacityBufferSpec, found: Workload, now: Size, room: int | None) -> Iterator[Step]:
    if spec.replicas is not None:
        more = min(max(spec.replicas, now.replicas) + 1, MAX_REPLICAS)
        changed = msgspec.structs.replace(spec, replicas=more)
        decides = now.bound_by == "replicas"
        yield Step("replicas", str(spec.replicas), decides, str(more), _resized(changed, found, room))
    if spec.percentage is not None and found.replicas:
        more = max(spec.percentage, now.replicas * 100 // found.replicas) + 1
        changed = msgspec.structs.replace(spec, percentage=more)
        value, decides = f"{spec.percentage}% of {found.replicas}", now.bound_by == "percentage"
        yield Step("percentage", value, decides, f"{more}%", _resized(changed, found, room))
    if spec.limits is not None and now.cap is not None:
        raised = _one_unit_more(spec.limits, unit_requests(found.template) or {}, now.cap)
        changed = msgspec.structs.replace(spec, limits={**spec.limits, **raised})
        value = _listed({name: str(amount) for name, amount in spec.limits.items()})
        yield Step("limits", value, now.bound_by == "limits", _listed(raised), _resized(changed, found, room))
    if room is not None:
        value, decides = f"room for {room}", now.bound_by == "quotas"
        yield Step("quotas", value, decides, f"room for {room + 1}", _resized(spec, found, room + 1))


def _one_unit_more(limits: Mapping[str, str | int], unit: Mapping[str, int], cap: int) -> dict[str, str]:
    """Return the limits to raise so that one unit more fits, as high as that takes."""
    wanted = {name: (cap + 1) * amount for name, amount in unit.items() if name in limits and amount > 0}
    return {
        name: canonical(amount, binary=is_binary(name))
        for name, amount in sorted(wanted.items())
        if amount > nano_of(limits[name])
    }


def _listed(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())
