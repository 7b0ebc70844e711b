"""The ADM rows of buffer-cases.csv: what the upstream CapacityBuffer definition admits and what it refuses."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).parents[2] / "data" / "buffer-cases.csv"
_WORKLOAD = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}


def admission_rows() -> list[dict[str, str]]:
    """Return the rows whose source is a test of admission."""
    with _TABLE.open(newline="") as table:
        return [row for row in csv.DictReader(table) if row["id"].startswith("ADM-")]


def is_accepted(row: dict[str, str]) -> bool:
    """Whether upstream's API server stores the row's object."""
    verdicts = {"admission: accepted": True, "admission: rejected": False}
    return verdicts[row["expected_condition"]]


def spec_of(row: dict[str, str]) -> dict[str, Any]:
    """Return the row's spec; which reference it has stands in its note."""
    spec = _reference(row["note"])
    if row["spec_replicas"]:
        spec["replicas"] = int(row["spec_replicas"])
    if row["spec_percentage"]:
        spec["percentage"] = int(row["spec_percentage"])
    if row["spec_limits"]:
        spec["limits"] = dict(entry.split("=") for entry in row["spec_limits"].split(";"))
    return spec


def _reference(note: str) -> dict[str, Any]:
    if "neither ref" in note:
        return {}
    if "podTemplateRef.name empty" in note:
        return {"podTemplateRef": {"name": ""}}
    if "scalableRef.kind empty" in note:
        return {"scalableRef": _WORKLOAD | {"kind": ""}}
    if "ReplicationController without apiGroup" in note:
        return {"scalableRef": {"kind": "ReplicationController", "name": "web"}}
    if "scalableRef" in note:
        return {"scalableRef": _WORKLOAD}
    return {"podTemplateRef": {"name": "unit"}}
