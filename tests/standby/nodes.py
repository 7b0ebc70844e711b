"""Nodes of the test autoscaler: how each state of a standby node looks in the API, as in GKE."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Object = dict[str, Any]

STANDBY = "buffer.gke.io/standby-capacity-node"
SUSPENDED = "buffer.gke.io/standby-capacity-node-suspended"
ASSIGNED = "buffer.gke.io/standby-capacity-node-buffer"
"""Annotation: the buffer, as `namespace/name`, that a standby node is kept for."""

POOL = "example.com/standby-pool"
"""Label of the nodes that one autoscaler has made."""

_LIFE_TAINTS = "node.kubernetes.io/"


class State(StrEnum):
    """What a node is to the autoscaler."""

    RUNNING = "running"
    CHILLING = "chilling"
    """A standby node before it is suspended: pods are rather kept away from it, but may come."""
    SUSPENDED = "suspended"


@dataclass(frozen=True)
class Room:
    """Amounts of what pods take: cores in thousandths, bytes in MiB, pods."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def __add__(self, other: Room) -> Room:
        return Room(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    def __sub__(self, other: Room) -> Room:
        return Room(self.cpu - other.cpu, self.memory - other.memory, self.pods - other.pods)

    def holds(self, other: Room) -> bool:
        return self.cpu >= other.cpu and self.memory >= other.memory and self.pods >= other.pods


def new_node(name: str, pool: str, size: Room, *, standby_for: str = "") -> Object:
    """Return a node; one that is kept for a buffer starts out chilling."""
    room = {"cpu": f"{size.cpu}m", "memory": f"{size.memory}Mi", "pods": str(size.pods), "ephemeral-storage": "1Ti"}
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "type": "kwok",
        POOL: pool,
    }
    annotations = {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"}
    taints = []
    if standby_for:
        labels[STANDBY] = "true"
        annotations[ASSIGNED] = standby_for
        taints.append({"key": STANDBY, "value": "true", "effect": "PreferNoSchedule"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"taints": taints},
        "status": {"allocatable": room, "capacity": room},
    }


def state_of(node: Mapping[str, Any]) -> State:
    if (node["metadata"].get("labels") or {}).get(STANDBY) != "true":
        return State.RUNNING
    suspended = any(each["key"] == SUSPENDED for each in node["spec"].get("taints") or ())
    return State.SUSPENDED if suspended else State.CHILLING


def suspension(node: Mapping[str, Any]) -> Object:
    """Return the change that suspends a node."""
    taint = {"key": SUSPENDED, "value": "true", "effect": "NoSchedule"}
    return {"spec": {"unschedulable": True, "taints": [*(node["spec"].get("taints") or ()), taint]}}


def consumption(node: Mapping[str, Any]) -> Object:
    """Return the change that takes a node out of standby, for good."""
    kept = [each for each in node["spec"].get("taints") or () if each["key"] not in (STANDBY, SUSPENDED)]
    changes: Object = {
        "metadata": {"labels": {STANDBY: None}, "annotations": {ASSIGNED: None}},
        "spec": {"taints": kept},
    }
    if state_of(node) is State.SUSPENDED:
        kept = [each for each in kept if each["key"] != f"{_LIFE_TAINTS}unschedulable"]
        changes["spec"] = {"unschedulable": None, "taints": kept}
    return changes


def says_suspended(status: str) -> Object:
    """Return the change of the node's status that says whether it is suspended."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = {"reason": "CapacityBuffer", "message": "for a capacity buffer", "lastTransitionTime": stamp}
    return {"status": {"conditions": [{"type": "Suspended", "status": status, **said}]}}
