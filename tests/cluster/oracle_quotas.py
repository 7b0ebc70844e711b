"""The quotas of the oracle: every name and every scope, to be made once as a quota of ours and once as a native one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from tests.cluster.oracle_others import RESOURCES
from tests.cluster.rest import Object

MOST = "1Pi"
"""What all quotas allow of everything: more than there is ever used, and the most that is an integer for them all."""
TOO_MUCH = "2Pi"

_CPU_AND_MEMORY = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_PODS = ("pods", "count/pods")
_EXTENDED = ("requests.example.com/gpu", "requests.example.com/fpga")
_IMPLICIT = tuple(
    f"requests.deviceclass.resource.kubernetes.io/{each}" for each in ("gpu.example.com", "nic.example.com")
)
LOST = "requests.deviceclass.resource.kubernetes.io/ghost"
"""Of a class that does not exist: its devices count only in a quota that counts claims anyway."""
_CLASS_NAMES = ("requests.storage", "persistentvolumeclaims")
_CLAIMS = (
    *_CLASS_NAMES,
    *(f"{each}.storageclass.storage.k8s.io/{name}" for each in ("gold", "tin") for name in _CLASS_NAMES),
)
NEVER_COUNTED = ("count/services.loadbalancers", "example.com/gpu", "limits.example.com/gpu", "count/events")
"""Names that a quota may carry, and that nothing ever counts."""
SLIPPED_THROUGH = "count/secrets"
"""Accepted under any scope, and 0 there: secrets match none."""


def _quota(names: Iterable[str], *scopes: str, **requirements: tuple[str, list[str]]) -> Object:
    """Return a spec; `requirements` are scopes with an operator and its values."""
    spec: dict[str, Any] = {"hard": dict.fromkeys(names, MOST)}
    if scopes:
        spec["scopes"] = list(scopes)
    if requirements:
        spec["scopeSelector"] = {
            "matchExpressions": [
                {"scopeName": scope, "operator": operator, **({"values": values} if values else {})}
                for scope, (operator, values) in requirements.items()
            ]
        }
    return spec


_COMPUTE = (*_PODS, *_CPU_AND_MEMORY, *_EXTENDED)

WITHOUT_SCOPES: dict[str, Object] = {
    "pods-and-devices": _quota(
        [
            *_COMPUTE,
            *(f"{side}ephemeral-storage" for side in ("", "requests.", "limits.")),
            *("hugepages-2Mi", "requests.hugepages-2Mi"),
            *("count/resourceclaims.resource.k8s.io", *_IMPLICIT, LOST),
            *(f"{each}.deviceclass.resource.k8s.io/devices" for each in ("gpu.example.com", "nic.example.com")),
        ]
    ),
    "objects": _quota(
        [
            *("configmaps", "secrets", "replicationcontrollers", "resourcequotas", "count/resourcequotas"),
            *(f"count/{resource}" for resource in RESOURCES.values()),
            *("count/replicasets.apps", "count/endpointslices.discovery.k8s.io"),
        ]
    ),
    "services": _quota(["services", "count/services", "services.loadbalancers", "services.nodeports"]),
    "claims": _quota([*_CLAIMS, "count/persistentvolumeclaims"]),
    "nothing": _quota([*NEVER_COUNTED, LOST]),
}
WITH_SCOPES: dict[str, Object] = {
    # Of pods
    "deadline": _quota([*_COMPUTE, SLIPPED_THROUGH], "Terminating"),
    "no-deadline": _quota(_COMPUTE, "NotTerminating"),
    "idle": _quota([*_PODS, *_EXTENDED], "BestEffort"),
    "busy": _quota(_COMPUTE, "NotBestEffort"),
    "high": _quota(_COMPUTE, PriorityClass=("In", ["high"])),
    "not-low": _quota(_COMPUTE, PriorityClass=("NotIn", ["low", "mid"])),
    "any-priority": _quota(_COMPUTE, "PriorityClass"),
    "no-priority": _quota(_COMPUTE, PriorityClass=("DoesNotExist", [])),
    "neighbours": _quota(_COMPUTE, CrossNamespacePodAffinity=("Exists", [])),
    "several": _quota(_COMPUTE, "Terminating", "NotBestEffort", PriorityClass=("In", ["mid", "high"])),
    # Of claims for volumes
    "gold": _quota(_CLAIMS, VolumeAttributesClass=("In", ["gold"])),
    "not-gold": _quota(_CLAIMS, VolumeAttributesClass=("NotIn", ["gold"])),
    "any-attributes": _quota(_CLAIMS, "VolumeAttributesClass"),
    "no-attributes": _quota(_CLAIMS, VolumeAttributesClass=("DoesNotExist", [])),
}


def quotas_of(number: int) -> dict[str, Object]:
    """Return the quotas of a namespace: those without scopes, and a third of the others, since each has its price."""
    return WITHOUT_SCOPES | dict(itertools.islice(WITH_SCOPES.items(), number % 3, None, 3))
