"""The inputs of a buffer's size as `moorage size` shows them: what decided, and what it costs to change one."""

from __future__ import annotations

from typing import Any

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.buffer.size import Size
from moorage.cli.output import columns
from moorage.status.alternatives import Step, requests_of, steps
from moorage.status.findings import plural
from moorage.status.workload import Workload


def inputs_of(
    spec: CapacityBufferSpec, found: Workload, now: Size, *, room: int | None = None, units_per_node: int = 0
) -> list[dict[str, Any]]:
    """Return each input for programs; `units_per_node` is 0 when it is not known."""
    return [_input(each, found, now, units_per_node) for each in steps(spec, found, now, room=room)]


def inputs_table(inputs: list[dict[str, Any]]) -> str:
    """Return them for people; empty when there are none."""
    if not inputs:
        return ""
    rows = [("input", "is", "", "with", "the buffer is")]
    rows += [
        (each["input"], each["value"], "decides" if each["decides"] else "", each["change"], _then(each))
        for each in inputs
    ]
    return f"\n\n{columns(rows)}"


def _input(step: Step, found: Workload, now: Size, units_per_node: int) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "input": step.name,
        "value": step.value,
        "decides": step.decides,
        "change": step.change,
        "then": None,
    }
    if step.size is None:
        return answer
    more = step.size.replicas - now.replicas
    answer["then"] = {"replicas": step.size.replicas, "active": step.size.active, "standby": step.size.standby}
    answer["more"] = {
        "units": more,
        "active": step.size.active - now.active,
        "requests": requests_of(found, more),
    }
    if units_per_node:
        answer["more"]["nodes"] = -(-step.size.replicas // units_per_node) - -(-now.replicas // units_per_node)
    return answer


def _then(given: dict[str, Any]) -> str:
    then = given["then"]
    if then is None:
        return "without a size"
    more = given["more"]
    if not more["units"] and not more["active"]:
        return "the same"
    size = f"{then['replicas']} ({then['active']} active)" if then["standby"] else str(then["replicas"])
    if not more["units"]:
        return f"{size}: {more['active']:+d} active"
    asked = "".join(f", {name} {amount}" for name, amount in more["requests"].items())
    nodes = f", {plural(more['nodes'], 'node')}" if more.get("nodes") else ""
    return f"{size}: {more['units']:+d} {'unit' if abs(more['units']) == 1 else 'units'}{asked}{nodes}"
