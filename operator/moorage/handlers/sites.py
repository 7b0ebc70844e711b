"""Nodes as the rules about backends look at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.backends import gke, warnings
from moorage.backends.unit import spec_of
from moorage.density.nodes import Node
from moorage.quantity import NANO

_AUTOPILOT_PREFIX = "gk3-"
"""How GKE begins the names of Autopilot nodes."""


def autopilot(nodes: Mapping[str, Node]) -> bool:
    """Whether nodes are those of a GKE Autopilot cluster."""
    return any(name.startswith(_AUTOPILOT_PREFIX) for name in nodes)


def gke_places(nodes: Mapping[str, Node], template: Mapping[str, Any]) -> tuple[gke.Place, ...]:
    """Return the nodes that a unit selects."""
    selected = (spec_of(template).get("nodeSelector") or {}).items()
    return tuple(
        gke.Place(node.labels, node.allocatable.get("memory", 0) // NANO)
        for node in nodes.values()
        if selected <= node.labels.items()
    )


def open_places(nodes: Mapping[str, Node]) -> tuple[warnings.Place, ...]:
    """Return all nodes with their labels and taints."""
    return tuple(
        warnings.Place(name, node.labels, frozenset((each.key, each.value or "") for each in node.taints))
        for name, node in nodes.items()
    )
