"""The table of upstream's answers: its rows by id, and their buffers, workloads and pods as ours."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.objects import Container, PodSpec
from moorage.status.capacitybuffer import buffer_status
from moorage.status.workload import NO_REFERENCE, Unresolved, Workload
from tests.builders import container, pod_spec, sidecar

Row = dict[str, str]

with (Path(__file__).parents[1] / "data" / "buffer-cases.csv").open(newline="") as _table:
    ROWS: dict[str, Row] = {row["id"]: row for row in csv.DictReader(_table)}


def status_of(row: Row) -> CapacityBufferStatus:
    """Return our status for the buffer and workload of a row."""
    return buffer_status(spec_of(row), reference(row), generation=1)


def spec_of(row: Row) -> CapacityBufferSpec:
    """Return the row's sizes; what its buffer refers to is not in it."""
    spec: dict[str, object] = {}
    if row["spec_replicas"]:
        spec["replicas"] = int(row["spec_replicas"])
    if row["spec_percentage"]:
        spec["percentage"] = int(row["spec_percentage"])
    if row["spec_limits"]:
        spec["limits"] = amounts(row["spec_limits"])
    return msgspec.convert(spec, CapacityBufferSpec)


def reference(row: Row) -> Workload | Unresolved:
    """Return what the row's buffer refers to: a workload, or a PodTemplate, which has no size."""
    if "no podTemplateRef" in row["note"] or "neither ref" in row["note"]:
        return NO_REFERENCE
    workload = row["scalable_replicas"]
    return Workload(template=shape(row["pod_requests"]), replicas=int(workload) if workload else None)


def shape(text: str) -> PodSpec:
    """Read a pod as the table writes it: `init cpu=4 then sidecar cpu=500m ; cpu=1 + cpu=2`."""
    *init, apps = text.split(" ; ")
    started = [each for part in init for each in part.split(" then ")]
    return pod_spec(
        init=[_init_container(f"i{at}", each) for at, each in enumerate(started)],
        containers=[_app_container(f"c{at}", each) for at, each in enumerate(apps.split(" + "))],
    )


def _init_container(name: str, text: str) -> Container:
    kind, _, requests = text.partition(" ")
    return {"init": container, "sidecar": sidecar}[kind](name, requests=amounts(requests))


def _app_container(name: str, text: str) -> Container:
    if text.startswith("(limits only) "):
        return container(name, limits=amounts(text.removeprefix("(limits only) ")))
    return container(name, requests=amounts(text))


def amounts(text: str) -> dict[str, str]:
    """Read `cpu=1;memory=2Gi`, also with commas."""
    if text in ("", "(none)", "(empty map)"):
        return {}
    return dict(each.split("=") for each in re.split("[;,]", text))


def condition(status: CapacityBufferStatus, kind: str) -> tuple[str, str]:
    """Return the status and the reason of a condition."""
    (found,) = (each for each in status.conditions if each.type == kind)
    return found.status, found.reason
