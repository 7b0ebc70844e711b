"""Writes quantities.csv and pods.jsonl: random questions, and what Kubernetes' own code answers (see oracle.go).

Run it after a change of the Kubernetes version that the test control plane is built from:

    python tests/data/native/generate.py

It needs Go, as the control plane does. The same version gives the same files.
"""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
SUFFIXES = (
    *("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti"),
    "e3",
    "E-3",
    "e+6",
    "K",
    "mi",
    "e",
)
AMOUNTS = ("0", "1", "2", "3", "100m", "250m", "1500m", "64Mi", "1Gi", "1500k", "2e3", "0.5")
NAMES = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu")
POD_LEVEL = ("cpu", "memory", "hugepages-2Mi")
DELETED_AT, DELETED = 1893456000, "2030-01-01T00:00:00Z"
SCOPES = (
    "Terminating Exists",
    "NotTerminating Exists",
    "BestEffort Exists",
    "NotBestEffort Exists",
    "CrossNamespacePodAffinity Exists",
    "PriorityClass Exists",
    "PriorityClass DoesNotExist",
    "PriorityClass In low mid",
    "PriorityClass NotIn low",
)
"""Scope, operator and values."""


class Maker:
    """Makes random texts and pods of every shape."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def sometimes(self, chance: float) -> bool:
        return self.random.random() < chance

    def quantity(self) -> str:
        digits = "".join(self.random.choices("0123456789", k=self.random.choice([1, 1, 2, 3, 4, 7])))
        part = "".join(self.random.choices("000125", k=self.random.choice([0, 0, 1, 2, 3, 8])))
        point = "." if part or self.sometimes(0.05) else ""
        return self.random.choice(["", "", "", "-", "+"]) + digits + point + part + self.random.choice(SUFFIXES)

    def amounts(self, names: tuple[str, ...] = NAMES, chance: float = 0.35) -> dict[str, str]:
        return {name: self.random.choice(AMOUNTS) for name in names if self.sometimes(chance)}

    def resources(self, names: tuple[str, ...] = NAMES) -> dict[str, Any]:
        return {side: self.amounts(names) for side in ("requests", "limits") if self.sometimes(0.6)}

    def containers(self, prefix: str, count: int, *, sidecars: bool = False) -> list[dict[str, Any]]:
        made = [{"name": f"{prefix}{at}", "resources": self.resources()} for at in range(count)]
        return [{**each, "restartPolicy": "Always"} if sidecars and self.sometimes(0.5) else each for each in made]

    def statuses(self, containers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {
                "name": each["name"],
                **({"resources": self.resources()} if self.sometimes(0.8) else {}),
                **({"allocatedResources": self.amounts()} if self.sometimes(0.5) else {}),
            }
            for each in containers
            if self.sometimes(0.8)
        ]

    def affinity(self) -> dict[str, Any]:
        term: dict[str, Any] = {"topologyKey": "zone"}
        if self.sometimes(0.4):
            term["namespaces"] = self.random.choice([[], ["other"]])
        if self.sometimes(0.3):
            term["namespaceSelector"] = self.random.choice([{}, {"matchLabels": {"a": "b"}}])
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
        kind = self.random.choice(["podAffinity", "podAntiAffinity"])
        return {kind: self.random.choice([required, preferred])}

    def pod(self) -> dict[str, Any]:
        init = self.containers("init", self.random.choice([0, 0, 1, 2, 3]), sidecars=True)
        apps = self.containers("app", self.random.choice([1, 1, 2, 3]))
        spec: dict[str, Any] = {"initContainers": init, "containers": apps}
        if self.sometimes(0.3):
            spec["overhead"] = self.amounts(("cpu", "memory"), 0.6)
        if self.sometimes(0.3):
            spec["resources"] = self.resources(POD_LEVEL)
        if self.sometimes(0.3):
            spec["priorityClassName"] = self.random.choice(["low", "mid", "high"])
        if self.sometimes(0.2):
            spec["activeDeadlineSeconds"] = self.random.choice([0, 600])
        if self.sometimes(0.3):
            spec["affinity"] = self.affinity()
        return {"metadata": self.metadata(), "spec": spec, "status": self.status(init, apps)}

    def metadata(self) -> dict[str, Any]:
        deleted = {"deletionTimestamp": DELETED, "deletionGracePeriodSeconds": 30} if self.sometimes(0.15) else {}
        return {"name": "p", "uid": "p", "namespace": "ns", "resourceVersion": "1", **deleted}

    def status(self, init: list[dict[str, Any]], apps: list[dict[str, Any]]) -> dict[str, Any]:
        status: dict[str, Any] = {"phase": self.random.choice(["Pending", "Running", "Running", "Unknown", "Failed"])}
        if self.sometimes(0.2):
            status["qosClass"] = self.random.choice(["BestEffort", "Burstable"])
        if self.sometimes(0.4):
            status |= {"containerStatuses": self.statuses(apps), "initContainerStatuses": self.statuses(init)}
            reason = self.random.choice(["Deferred", "Infeasible"])
            status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
        return status


def scope_of(text: str) -> dict[str, Any]:
    """Return a scope as the API has it."""
    scope, operator, *values = text.split()
    return {"scopeName": scope, "operator": operator, **({"values": values} if values else {})}


def ask(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return Kubernetes' answers."""
    done = subprocess.run(
        ["go", "run", "../data/native/oracle.go"],
        cwd=HERE.parents[1] / "controlplane",
        input="\n".join(map(json.dumps, questions)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Write both files."""
    make = Maker(seed=1)
    texts = sorted({make.quantity() for _ in range(400)})
    with (HERE / "quantities.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["text", "value", "format", "canonical"])
        for text, reply in zip(texts, ask([{"quantity": text} for text in texts]), strict=True):
            table.writerow([text, *(reply.get(key, "") for key in ("value", "format", "canonical"))])
    scopes = [scope_of(text) for text in SCOPES]
    questions = [
        {"pod": make.pod(), "now": DELETED_AT + make.random.choice([-5, 29, 30, 31]), "scopes": scopes}
        for _ in range(150)
    ]
    with (HERE / "pods.jsonl").open("w") as file:
        for asked, reply in zip(questions, ask(questions), strict=True):
            matches = dict(zip(SCOPES, reply["matches"], strict=True))
            case = {"now": asked["now"], "pod": asked["pod"], "usage": reply["usage"], "matches": matches}
            file.write(json.dumps(case, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
