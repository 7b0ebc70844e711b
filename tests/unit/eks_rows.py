"""The tables about nodes of EKS: cases by id, and the limits and numbers of every instance type."""

from __future__ import annotations

import csv
from pathlib import Path

from moorage.density.eks.instances import InstanceType, instance_types
from moorage.density.eks.networking import Mode, Networking

Row = dict[str, str]

_DATA = Path(__file__).parents[1] / "data"

with (_DATA / "eks-cases.csv").open(newline="") as _table:
    CASES: dict[str, Row] = {row["id"]: row for row in csv.DictReader(_table)}

with (_DATA / "eni-limits.csv").open(newline="") as _table:
    LIMITS: dict[str, Row] = {row["instance_type"]: row for row in csv.DictReader(_table)}


def cases(kind: str) -> list[str]:
    """Return the ids of the cases of a kind."""
    return [each for each, row in CASES.items() if row["kind"] == kind]


def instance_of(row: Row) -> InstanceType:
    """Return the instance type of a case, by name, else by its limits."""
    if row["instance_type"]:
        return instance_types()[row["instance_type"]]
    return InstanceType("", None, None, int(row["enis"] or 0), int(row["ips_per_eni"] or 0))


def networking_of(row: Row) -> Networking:
    """Return the settings of a case."""
    other = row["other_input"]
    return Networking(
        mode=Mode(row["mode"]),
        custom_networking=row["custom_networking"] == "true",
        max_eni=int(row["max_eni"]) if row["max_eni"] else None,
        reserved_enis=int(row["reserved_enis"] or 0),
        trunk="ENABLE_POD_ENI=true" in other or "trunk attached" in other,
        cni_version=(1, 8, 0) if "CNI 1.8.0" in other else None,
    )
