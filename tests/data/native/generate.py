"""Writes quantities.csv, pods.jsonl and namespaces.jsonl: random questions, and what Kubernetes' own code answers (see
oracle.go).

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


CLASSES = {"gpu.example.com": "example.com/gpu", "fast.example.com": "example.com/fast", "nic.example.com": None}
ASKED_CLASSES = (*CLASSES, "ghost")
IMPLICIT = "deviceclass.resource.kubernetes.io/"
POD_NAMES = ("pods", "count/pods", "cpu", "requests.cpu", "limits.memory", "ephemeral-storage", "hugepages-2Mi")
DEVICE_NAMES = (
    "requests.example.com/gpu",
    "requests.example.com/fast",
    *(f"requests.{IMPLICIT}{name}" for name in ASKED_CLASSES),
    *(f"{name}.deviceclass.resource.k8s.io/devices" for name in ASKED_CLASSES),
    "count/resourceclaims.resource.k8s.io",
)
OTHER_NAMES = (
    "persistentvolumeclaims",
    "count/persistentvolumeclaims",
    "requests.storage",
    "gold.storageclass.storage.k8s.io/requests.storage",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
    "services",
    "count/services",
    "services.loadbalancers",
    "services.nodeports",
    "secrets",
    "count/secrets",
)
CLAIM_SCOPES = tuple(
    f"VolumeAttributesClass {rest}" for rest in ("Exists", "DoesNotExist", "In gold", "NotIn gold tin")
)


class Maker:
    """Makes random texts, pods and namespaces of every shape."""

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

    # Namespaces

    def namespace(self) -> dict[str, Any]:
        pods = [self.gpu_pod(f"p{at}") for at in range(self.random.choice([0, 1, 2, 3]))]
        classes = [name for name in CLASSES if self.sometimes(0.8)]
        return {
            "pods": pods,
            "persistentvolumeclaims": [self.volume(f"v{at}") for at in range(self.random.choice([0, 1, 2, 4]))],
            "services": [self.service(f"s{at}") for at in range(self.random.choice([0, 1, 2, 4]))],
            "secrets": [{"metadata": self.meta(f"x{at}")} for at in range(self.random.choice([0, 1, 2]))],
            "resourceclaims.resource.k8s.io": [
                self.claim(f"c{at}", pods) for at in range(self.random.choice([0, 2, 4]))
            ],
            "deviceclasses": [
                {
                    "metadata": {"name": name},
                    "spec": {} if CLASSES[name] is None else {"extendedResourceName": CLASSES[name]},
                }
                for name in classes
            ],
            "quotas": [self.quota() for _ in range(4)],
        }

    def meta(self, name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "uid": f"uid-{name}", "namespace": "ns", "resourceVersion": "1", **more}

    def gpu_pod(self, name: str) -> dict[str, Any]:
        # Not deleted: claims ask the real clock whether their pod counts.
        pod: dict[str, Any] = {
            "metadata": self.meta(name),
            "spec": {"containers": self.containers("app", 1)},
            "status": {"phase": self.random.choice(["Pending", "Running", "Running", "Succeeded"])},
        }
        if self.sometimes(0.3):
            pod["spec"]["priorityClassName"] = self.random.choice(["low", "mid", "high"])
        if self.sometimes(0.3):
            pod["spec"]["activeDeadlineSeconds"] = 600
        asked = self.amounts(("example.com/gpu", "example.com/fast", *(f"{IMPLICIT}{each}" for each in ASKED_CLASSES)))
        if asked:
            counts = {each: str(self.random.choice([1, 2, 3])) for each in asked}
            pod["spec"]["containers"].append({"name": "gpu", "resources": {"limits": counts}})
        if self.sometimes(0.3):
            named = self.random.choice(["c0", "c1", "gone"])
            pod["status"]["extendedResourceClaimStatus"] = {"requestMappings": [], "resourceClaimName": named}
        return pod

    def claim(self, name: str, pods: list[dict[str, Any]]) -> dict[str, Any]:
        meta = self.meta(name, creationTimestamp=f"2029-01-01T00:00:0{self.random.choice([1, 1, 2])}Z")
        if pods and self.sometimes(0.7):
            pod = self.random.choice(pods)["metadata"]
            meta["annotations"] = {
                "resource.kubernetes.io/extended-resource-claim": self.random.choice(["true"] * 5 + ["yes"])
            }
            uid = pod["uid"] if self.sometimes(0.9) else "gone"
            owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": uid}
            meta["ownerReferences"] = [{**owner, "controller": self.sometimes(0.9)}]
        asked = [self.device_request(f"r{at}") for at in range(self.random.choice([1, 1, 2, 3]))]
        return {"metadata": meta, "spec": {"devices": {"requests": asked}}}

    def device_request(self, name: str) -> dict[str, Any]:
        if self.sometimes(0.3):
            return {"name": name, "firstAvailable": [self.devices(name=f"a{at}") for at in range(3)]}
        return {"name": name, "exactly": self.devices()}

    def devices(self, **more: Any) -> dict[str, Any]:
        asked: dict[str, Any] = {"deviceClassName": self.random.choice(ASKED_CLASSES), **more}
        mode = self.random.choice([None, "ExactCount", "ExactCount", "All", "Newer"])
        if mode is not None:
            asked["allocationMode"] = mode
        if mode in (None, "ExactCount") and self.sometimes(0.7):
            asked["count"] = self.random.choice([1, 2, 5])
        return asked

    def volume(self, name: str) -> dict[str, Any]:
        annotations = {"volume.beta.kubernetes.io/storage-class": self.random.choice(["gold", ""])}
        spec: dict[str, Any] = {"resources": {"requests": {"storage": self.random.choice(AMOUNTS)}}}
        status: dict[str, Any] = {}
        for part, field in (
            (spec, "storageClassName"),
            (spec, "volumeAttributesClassName"),
            (status, "currentVolumeAttributesClassName"),
        ):
            if self.sometimes(0.5):
                part[field] = self.random.choice(["gold", "tin", ""])
        if self.sometimes(0.2):
            target = {"status": "Pending", "targetVolumeAttributesClassName": "gold"}
            status["modifyVolumeStatus"] = target
        if self.sometimes(0.4):
            status["allocatedResources"] = {"storage": self.random.choice(AMOUNTS)}
        meta = self.meta(name, annotations=annotations) if self.sometimes(0.3) else self.meta(name)
        return {"metadata": meta, "spec": spec, "status": status}

    def service(self, name: str) -> dict[str, Any]:
        ports = [
            {"name": f"p{at}", "port": 80 + at, **({"nodePort": 30000 + at} if self.sometimes(0.4) else {})}
            for at in range(self.random.choice([0, 1, 2, 3]))
        ]
        spec: dict[str, Any] = {"ports": ports}
        if self.sometimes(0.9):
            spec["type"] = self.random.choice(["ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer", "ExternalName"])
        if self.sometimes(0.5):
            spec["allocateLoadBalancerNodePorts"] = self.sometimes(0.3)
        return {"metadata": self.meta(name), "spec": spec}

    def quota(self) -> dict[str, Any]:
        groups = (POD_NAMES, DEVICE_NAMES, DEVICE_NAMES, OTHER_NAMES, (*POD_NAMES, *DEVICE_NAMES, *OTHER_NAMES))
        names = [name for name in self.random.choice(groups) if self.sometimes(0.3)]
        spec: dict[str, Any] = {"hard": dict.fromkeys(names, "9")}
        scopes = self.random.sample((*SCOPES, *CLAIM_SCOPES), k=self.random.choice([0, 0, 0, 0, 1, 2]))
        if scopes and self.sometimes(0.3) and scopes[0].endswith("Exists") and "DoesNot" not in scopes[0]:
            spec["scopes"] = [scopes.pop(0).split()[0]]
        if scopes:
            spec["scopeSelector"] = {"matchExpressions": [scope_of(text) for text in scopes]}
        return spec


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
    """Write all files."""
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
    make = Maker(seed=2)
    namespaces = [{"namespace": make.namespace(), "now": DELETED_AT} for _ in range(100)]
    with (HERE / "namespaces.jsonl").open("w") as file:
        for asked, reply in zip(namespaces, ask(namespaces), strict=True):
            file.write(json.dumps(asked["namespace"] | {"used": reply["used"]}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
