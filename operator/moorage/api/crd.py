"""The CustomResourceDefinitions, generated from the models: `make crds` writes what `crd_documents` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.api.documents import yaml_text
from moorage.api.namespacequota import NamespaceQuotaSpec, NamespaceQuotaStatus
from moorage.api.rules import Rule
from moorage.api.schema import Schema, schema_of

GROUP = "moorage.dev"
VERSION = "v1alpha1"
_HEADER = ("Generated from operator/moorage/api by `make crds`. Do not edit: change the models instead.",)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a CustomResourceDefinition says besides its schemas."""

    kind: str
    plural: str
    short: str
    description: str
    spec: type
    status: type
    columns: tuple[Schema, ...]
    scale: bool = False


def _column(name: str, path: str, description: str, **further: Any) -> Schema:
    return {"name": name, "type": "string", "jsonPath": path, "description": description} | further


def _condition(kind: str, part: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{part}'


_READY = _column("Ready", _condition("Ready", "status"), "Whether the numbers are complete and current.")
_REASON = _column("Reason", _condition("Ready", "reason"), "Why it is ready or not.", priority=1)
_AGE: Schema = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}

NAMESPACE_QUOTA = Kind(
    kind="NamespaceQuota",
    plural="namespacequotas",
    short="nsq",
    description=(
        "NamespaceQuota says how much a namespace may use and shows how much it uses now, counted from its live pods.\n"
        'Example: spec: {hard: {requests.cpu: "20", requests.memory: 64Gi, pods: 100}}\n'
        "Short name nsq: kubectl get nsq; kubectl describe nsq NAME."
    ),
    spec=NamespaceQuotaSpec,
    status=NamespaceQuotaStatus,
    columns=(
        _column("CPU", ".status.display.cpu", "Requested CPU of the limit."),
        _column("Memory", ".status.display.memory", "Requested memory of the limit."),
        _column("Pods", ".status.display.pods", "Pods of the limit."),
        _column("Fullest", ".status.display.fullest", "The resource with the highest utilization."),
        _column("Enforced", _condition("Enforced", "status"), "Whether the API server refuses what breaks it."),
        _READY,
        _REASON,
        _AGE,
    ),
)
CAPACITY_BUFFER = Kind(
    kind="CapacityBuffer",
    plural="capacitybuffers",
    short="cbuf",
    description=(
        "CapacityBuffer says how much spare capacity must stand ready for the next burst of pods, and shows how many "
        "units that is and why.\n"
        "Example: spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: web}, sizing: {scaleUpRate: 2, "
        "standbyResumeLatency: 30s, coldNodeLatency: 90s}}\n"
        "Short name cbuf: kubectl get cbuf. Where the autoscalers' own CapacityBuffer (autoscaling.x-k8s.io) is "
        "installed too, capacitybuffer and cb mean theirs; cbuf and capacitybuffers.moorage.dev mean this one. An "
        "upstream manifest means the same here after its apiVersion is changed."
    ),
    spec=CapacityBufferSpec,
    status=CapacityBufferStatus,
    columns=(
        _column("Strategy", ".status.display.strategy", "The provisioning strategy in force."),
        _column("Active", ".status.display.active", "Units on running nodes."),
        _column("Standby", ".status.display.standby", "Units on suspended nodes."),
        _column("Rate", ".status.display.rate", "The scale-up rate in force."),
        _column("Backend", ".status.backend.name", "What makes the units exist."),
        _READY,
        _REASON,
        _AGE,
    ),
    scale=True,
)
KINDS = (NAMESPACE_QUOTA, CAPACITY_BUFFER)


def crd_documents() -> dict[str, str]:
    """Return the YAML text of each CustomResourceDefinition by its file name."""
    return {f"{each.plural}.{GROUP}.yaml": yaml_text(crd(each), header=_HEADER) for each in KINDS}


def crd(each: Kind) -> Schema:
    """Return one CustomResourceDefinition."""
    subresources: Schema = {"status": {}}
    if each.scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{each.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": each.kind,
                "listKind": f"{each.kind}List",
                "plural": each.plural,
                "singular": each.plural.removesuffix("s"),
                "shortNames": [each.short],
                "categories": ["moorage"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _plain(root_schema(each))},
                    "subresources": subresources,
                    "additionalPrinterColumns": list(each.columns),
                }
            ],
        },
    }


def root_schema(each: Kind) -> Schema:
    """Return the schema of a whole object, with Rule objects in place of their CEL."""
    return {
        "description": each.description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
            "kind": {"type": "string", "description": each.kind},
            "metadata": {"type": "object"},
            "spec": schema_of(each.spec),
            "status": schema_of(each.status),
        },
    }


def _plain(node: Any) -> Any:
    """Return the schema as the API server reads it."""
    if isinstance(node, Rule):
        return node.schema()
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    return node
