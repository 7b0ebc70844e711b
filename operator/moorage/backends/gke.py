"""What GKE cannot suspend: standby units that would fail, told from the objects that show it.

From "About capacity buffers" and "ComputeClass" of the GKE documentation. What no object of the cluster shows cannot be
told: customer-supplied keys of disks (CSEK), an operating system of your own without S3 sleep, and node
auto-provisioning that is set for the whole cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.backends.unit import spec_of
from moorage.density.selectors import untolerated
from moorage.quantity import NANO, canonical
from moorage.scheduling import Taint, Toleration

PLATFORM = "GKE"
CLASS_LABEL = "cloud.google.com/compute-class"
MAX_MEMORY_BYTES = 208 * 10**9
"""Compute Engine suspends no instance with more memory."""

_STANDBY_STANDARD = (1, 36, 0, 2253000)
_STANDBY_AUTOPILOT = (1, 36, 0, 2853000)
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)-gke\.(\d+)")
_POD_BILLED_CLASSES = ("Balanced", "Scale-Out", "general-purpose", "autopilot", "autopilot-spot")
_HARDWARE_LABELS = (CLASS_LABEL, "cloud.google.com/machine-family", "node.kubernetes.io/instance-type")
_MACHINE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A node that a unit may go to, as far as suspending it is concerned."""

    labels: Mapping[str, str]
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is known of the cluster."""

    version: str
    """As the API server gives it, such as v1.36.0-gke.2253000."""
    autopilot: bool = False
    places: tuple[Place, ...] = ()
    """The nodes that fit the unit's selector; empty where there are none, or none are known."""


def platform_of(git_version: str) -> str:
    """Return GKE for its API servers, else an empty text."""
    return PLATFORM if _VERSION.match(git_version) else ""


def compute_class_of(template: Fields) -> str:
    """Return the name of the ComputeClass that a unit selects; empty for none."""
    return str((spec_of(template).get("nodeSelector") or {}).get(CLASS_LABEL) or "")


def standby_obstacles(
    template: Fields, requests: Mapping[str, int], cluster: Cluster, compute_class: Fields | None
) -> tuple[str, ...]:
    """Return why units of this template cannot be suspended or would not be placed, each as a sentence.

    `requests` are the unit's, in nano-units; `compute_class` is the stored ComputeClass that it selects, None where
    there is none or it cannot be read.
    """
    spec = spec_of(template)
    selected = spec.get("nodeSelector") or {}
    found = [
        *_version(cluster),
        *_devices(selected, requests),
        *_nodes(spec, selected),
        *_memory(requests, cluster.places),
        *_billing(selected, cluster),
    ]
    if compute_class is not None:
        found += _class_rules(compute_class)
        found += _missing_in_unit(spec, compute_class)
    return tuple(dict.fromkeys(found))


def _version(cluster: Cluster) -> Iterator[str]:
    match = _VERSION.match(cluster.version)
    needed = _STANDBY_AUTOPILOT if cluster.autopilot else _STANDBY_STANDARD
    if match is not None and tuple(map(int, match.groups())) < needed:
        major, minor, patch, build = needed
        mode = "Autopilot clusters" if cluster.autopilot else "clusters"
        yield f"GKE {cluster.version} is older than {major}.{minor}.{patch}-gke.{build}, which standby needs in {mode}"


def _devices(selected: Mapping[str, str], requests: Mapping[str, int]) -> Iterator[str]:
    labels = {"GPU": "cloud.google.com/gke-accelerator", "TPU": "cloud.google.com/gke-tpu-accelerator"}
    resources = {"GPU": "nvidia.com/gpu", "TPU": "google.com/tpu"}
    for device, label in labels.items():
        if label in selected or requests.get(resources[device], 0) > 0:
            yield f"nodes with a {device} cannot be suspended"


def _nodes(spec: Fields, selected: Mapping[str, str]) -> Iterator[str]:
    if any("local" in key and "ssd" in key and key.startswith("cloud.google.com/gke-") for key in selected):
        yield "nodes with local SSDs cannot be suspended"
    systems = {(spec.get("os") or {}).get("name"), selected.get("kubernetes.io/os")}
    if "windows" in systems or selected.get("cloud.google.com/gke-os-distribution", "").startswith("windows"):
        yield "Windows nodes cannot be suspended"
    if any(key.startswith("cloud.google.com/gke-confidential-nodes") for key in selected):
        yield "confidential nodes cannot be suspended"
    if any(_is_metal(selected.get(label, "")) for label in _MACHINE_LABELS):
        yield "bare metal instances cannot be suspended"


def _is_metal(machine: str) -> bool:
    return machine.endswith("-metal")


def _memory(requests: Mapping[str, int], places: Iterable[Place]) -> Iterator[str]:
    limit = canonical(MAX_MEMORY_BYTES * NANO, binary=False)
    if requests.get("memory", 0) > MAX_MEMORY_BYTES * NANO:
        yield f"a unit requests more memory than {limit}, the largest node that can be suspended"
        return
    known = list(places)
    if known and all(place.memory_bytes > MAX_MEMORY_BYTES for place in known):
        yield f"the nodes that the unit selects have more memory than {limit}, which cannot be suspended"
    if known and all(_is_metal(place.labels.get(label, "")) for place in known for label in _MACHINE_LABELS[:1]):
        yield "bare metal instances cannot be suspended"


def _billing(selected: Mapping[str, str], cluster: Cluster) -> Iterator[str]:
    by_pod = "is billed by pod, which capacity buffers do not support"
    if selected.get(CLASS_LABEL) in _POD_BILLED_CLASSES:
        yield f"compute class {selected[CLASS_LABEL]} {by_pod}; select hardware, such as a machine family"
    elif cluster.autopilot and not any(label in selected for label in _HARDWARE_LABELS):
        yield f"an Autopilot pod that selects no hardware {by_pod}; select a machine family or a ComputeClass"


_RULES: dict[str, Callable[[Fields], bool]] = {
    "nodes with a GPU cannot be suspended": lambda rule: bool(rule.get("gpu")),
    "nodes with a TPU cannot be suspended": lambda rule: bool(rule.get("tpu")),
    "nodes with local SSDs cannot be suspended": lambda rule: bool((rule.get("storage") or {}).get("localSSDCount")),
    "bare metal instances cannot be suspended": lambda rule: _is_metal(str(rule.get("machineType") or "")),
    "is billed by pod, which capacity buffers do not support": lambda rule: bool(rule.get("podFamily")),
}


def _class_rules(compute_class: Fields) -> Iterator[str]:
    """Say what holds for all nodes of a ComputeClass; one priority that can be suspended is enough."""
    name = (compute_class.get("metadata") or {}).get("name")
    spec = compute_class.get("spec") or {}
    priorities = spec.get("priorities") or ()
    for message, holds in _RULES.items():
        if priorities and all(holds(rule) for rule in priorities):
            yield f"ComputeClass {name}: {message}"
    config = spec.get("nodePoolConfig") or {}
    if config.get("confidentialNodeType"):
        yield f"ComputeClass {name}: confidential nodes cannot be suspended"
    if str(config.get("imageType") or "").startswith("windows"):
        yield f"ComputeClass {name}: Windows nodes cannot be suspended"
    autopilot = (spec.get("autopilot") or {}).get("enabled")
    if not autopilot and not (spec.get("nodePoolAutoCreation") or {}).get("enabled"):
        yield f"ComputeClass {name} has no nodePoolAutoCreation, which standby needs"


def _missing_in_unit(spec: Fields, compute_class: Fields) -> Iterator[str]:
    """Say what the unit lacks to be placed on nodes of its ComputeClass; for buffers GKE adds nothing by itself."""
    name = str((compute_class.get("metadata") or {}).get("name"))
    config = (compute_class.get("spec") or {}).get("nodePoolConfig") or {}
    tolerations = msgspec.convert(spec.get("tolerations") or (), list[Toleration])
    taints = msgspec.convert(config.get("taints") or (), list[Taint])
    for taint in (Taint(key=CLASS_LABEL, value=name, effect="NoSchedule"), *taints):
        if untolerated([taint], tolerations) is not None:
            text = f"{taint.key}={taint.value}:{taint.effect}"
            yield f"the unit does not tolerate the taint {text} of ComputeClass {name}: add it to its pod template"
    selected = spec.get("nodeSelector") or {}
    sandboxed = (config.get("sandbox") or {}).get("type")
    if sandboxed and spec.get("runtimeClassName") != sandboxed:
        yield f"ComputeClass {name} has sandbox {sandboxed}: add runtimeClassName: {sandboxed} to the pod template"
    for key, value in (config.get("nodeLabels") or {}).items():
        if key in selected and selected[key] != value:
            yield f"the unit selects {key}={selected[key]}, but nodes of ComputeClass {name} have {key}={value}"
