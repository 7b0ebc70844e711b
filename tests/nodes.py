"""Builders for nodes and for units that look for a place: say what a test is about; all else is plain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from moorage.density.nodes import Node, node_of
from moorage.density.occupancy import Occupancy, Resident
from moorage.density.packing import Packing, Room
from moorage.density.units import Refusals, Unit, unit
from moorage.scheduling import PlacementSpec, StoredNode
from tests.builders import nano

GPU = "nvidia.com/gpu"


def stored_node(
    name: str = "node-1",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    more: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    ready: str = "True",
    suspended: str | None = None,
    cordoned: bool = False,
    deleted: bool = False,
    standby_of: str | None = None,
) -> dict[str, Any]:
    """Return a Node as stored; a taint is written `key=value:NoSchedule`."""
    conditions = [{"type": "Ready", "status": ready}]
    if suspended is not None:
        conditions.append({"type": "Suspended", "status": suspended})
    annotations = {"buffer.gke.io/standby-capacity-node-buffer": standby_of} if standby_of is not None else {}
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "resourceVersion": "1",
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            "annotations": annotations,
            "deletionTimestamp": "2026-01-01T00:00:00Z" if deleted else None,
        },
        "spec": {"taints": [_taint(each) for each in taints], "unschedulable": cordoned},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(more or {})},
            "conditions": conditions,
        },
    }


def node(name: str = "node-1", **keywords: Any) -> Node:
    """Return a node (see `stored_node`)."""
    return node_of(msgspec.convert(stored_node(name, **keywords), StoredNode))


def a_unit(
    *,
    cpu: str | None = None,
    memory: str | None = None,
    more: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    namespace: str = "team-a",
    **spec: Any,
) -> Unit:
    """Return a unit with these requests; further keywords are fields of its pod spec, as in a manifest."""
    given = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text is not None}
    return unit(
        namespace,
        nano(**{**given, **(more or {})}),
        labels=labels,
        spec=msgspec.convert(spec, PlacementSpec) if spec else None,
    )


def resident(
    node: str = "node-1",
    *,
    cpu: str | None = None,
    memory: str | None = None,
    labels: Mapping[str, str] | None = None,
    namespace: str = "team-a",
    daemon: bool = False,
    yields: bool = False,
) -> Resident:
    """Return a pod on a node."""
    given = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text is not None}
    return Resident(
        node, namespace, nano(**given), labels=tuple(sorted((labels or {}).items())), daemon=daemon, yields=yields
    )


def occupied_by(*pods: Resident) -> Occupancy:
    """Return what these pods take."""
    occupancy = Occupancy()
    for each in pods:
        occupancy.add(each)
    return occupancy


def placed(
    wanted: int,
    unit: Unit,
    nodes: Sequence[Node],
    *,
    pods: Iterable[Resident] = (),
    among: Sequence[Node] | None = None,
) -> dict[str, int]:
    """Return where so many units go on these nodes with these pods."""
    loads = occupied_by(*pods).loads
    packing = Packing(Refusals(unit), Room(loads), nodes=nodes, loads=loads)
    return packing.place(wanted, nodes if among is None else among)


def in_zone(zone: str) -> dict[str, str]:
    """Return the label of a zone."""
    return {"topology.kubernetes.io/zone": zone}


def spread(key: str = "topology.kubernetes.io/zone", *, skew: int = 1, **more: Any) -> dict[str, Any]:
    """Return a spread constraint over pods with `app: web`."""
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def near(key: str = "kubernetes.io/hostname", *, app: str = "web", **more: Any) -> dict[str, Any]:
    """Return a term of a pod affinity or anti-affinity to pods with this `app`."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    """Return a required pod affinity."""
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def anti_affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    """Return a required pod anti-affinity."""
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def node_affinity(*terms: Sequence[tuple[str, str, Sequence[str]]]) -> dict[str, Any]:
    """Return a required node affinity; each term is some `(key, operator, values)`."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": key, "operator": op, "values": [*values]} for key, op, values in term
                        ]
                    }
                    for term in terms
                ]
            }
        }
    }


def _taint(text: str) -> dict[str, str]:
    named, _, effect = text.rpartition(":")
    key, _, value = named.partition("=")
    return {"key": key, "value": value, "effect": effect}
