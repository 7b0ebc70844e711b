"""The shape of one unit: of a pod template, what decides where a pod of it fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moorage.backends.plan import Owner, Placement

DEDICATED_KEY = "moorage.dev/dedicated"
"""Label and taint of nodes that are kept for one buffer; the value is the buffer's name."""

_POD_FIELDS = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "schedulerName", "os", "resources")
_CLAIM_FIELDS = ("persistentVolumeClaim", "ephemeral")

Spec = Mapping[str, Any]


def labels_of(template: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a pod template."""
    return dict((template.get("metadata") or {}).get("labels") or {})


def spec_of(template: Mapping[str, Any]) -> Spec:
    """Return the pod spec of a template."""
    spec: Spec = template.get("spec") or {}
    return spec


def containers_of(spec: Spec) -> Iterator[Spec]:
    """Return init containers and containers."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def scheduling(spec: Spec) -> dict[str, Any]:
    """Return the fields of a pod spec that decide which nodes it fits on, but for containers and volumes."""
    kept = {name: spec[name] for name in (*_POD_FIELDS, "topologySpreadConstraints") if spec.get(name)}
    claims = [each for each in spec.get("resourceClaims") or () if each.get("resourceClaimTemplateName")]
    return kept | ({"resourceClaims": claims} if claims else {})


def resources_of(container: Spec, claims: Iterable[str]) -> dict[str, Any]:
    """Return what a container asks for, with the requests that the API server takes from limits."""
    given = container.get("resources") or {}
    requests = {**(given.get("limits") or {}), **(given.get("requests") or {})}
    kept_claims = [each for each in given.get("claims") or () if each.get("name") in set(claims)]
    parts = {"requests": requests, "limits": given.get("limits") or {}, "claims": kept_claims}
    return {name: part for name, part in parts.items() if part}


def requested(template: Mapping[str, Any]) -> set[str]:
    """Return the names of all resources that a pod of this template asks for in any container."""
    found: set[str] = set()
    for each in containers_of(spec_of(template)):
        found.update((resources_of(each, ()).get("requests") or {}).keys())
    return found


def claim_names(spec: Spec) -> list[str]:
    """Return the names of the pod's device claims that every pod gets for itself."""
    return [each["name"] for each in spec.get("resourceClaims") or () if each.get("resourceClaimTemplateName")]


def host_ports(container: Spec) -> list[dict[str, Any]]:
    """Return the ports that a container takes on its node: no two such pods fit on one."""
    return [
        {name: port[name] for name in ("containerPort", "hostPort", "protocol", "hostIP") if port.get(name)}
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


def claimed_volumes(spec: Spec) -> list[dict[str, Any]]:
    """Return the volumes that come from claims, and so may tie a pod to a zone."""
    return [dict(each) for each in spec.get("volumes") or () if any(each.get(name) for name in _CLAIM_FIELDS)]


def is_dedicated(spec: Spec) -> bool:
    """Whether a pod asks for nodes of its own: a selected label that is also a taint which it tolerates."""
    selected = spec.get("nodeSelector") or {}
    return any(
        each.get("key") in selected and each.get("effect") != "PreferNoSchedule" and _tolerates(each, selected)
        for each in spec.get("tolerations") or ()
    )


def _tolerates(toleration: Mapping[str, Any], selected: Mapping[str, str]) -> bool:
    return toleration.get("operator") == "Exists" or toleration.get("value") == selected[toleration["key"]]


def with_dedication(spec: dict[str, Any], owner: Owner) -> dict[str, Any]:
    """Have a unit ask for the nodes that are kept for this buffer, unless it asks for nodes of its own already."""
    if is_dedicated(spec):
        return spec
    toleration = {"key": DEDICATED_KEY, "operator": "Equal", "value": owner.label, "effect": "NoSchedule"}
    return spec | {
        "nodeSelector": {**(spec.get("nodeSelector") or {}), DEDICATED_KEY: owner.label},
        "tolerations": [*(spec.get("tolerations") or ()), toleration],
    }


def with_placement(spec: dict[str, Any], placement: Placement, selector: Mapping[str, Any]) -> dict[str, Any]:
    """Spread the units over zones and nodes or pack them, softly; `selector` finds the units themselves."""
    if placement == "Spread":
        constraints = [
            {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": dict(selector)}
            for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
        ]
        return spec | {"topologySpreadConstraints": [*(spec.get("topologySpreadConstraints") or ()), *constraints]}
    if placement == "Pack":
        term = {
            "weight": 100,
            "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": dict(selector)},
        }
        affinity = dict(spec.get("affinity") or {})
        attraction = dict(affinity.get("podAffinity") or {})
        preferred = "preferredDuringSchedulingIgnoredDuringExecution"
        attraction[preferred] = [*(attraction.get(preferred) or ()), term]
        return spec | {"affinity": {**affinity, "podAffinity": attraction}}
    return spec
