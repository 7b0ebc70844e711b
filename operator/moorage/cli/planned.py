"""How many nodes of the type that a buffer's `spec.nodes` names its units take."""

from __future__ import annotations

from typing import Any

from moorage.api.presence import NodesSpec
from moorage.density.groups import outlook
from moorage.density.units import unit
from moorage.objects import PodSpec
from moorage.resources import pod_resources, with_defaults


def planned_nodes(
    nodes: NodesSpec | None, shape: PodSpec | None, *, active: int, standby: int
) -> dict[str, Any] | None:
    """Return the nodes for so many units, as a buffer's status would tell them while there is none of the type.

    Rules about other pods (anti-affinity, host ports) are not looked at. None without `spec.nodes` or a shape.
    """
    if nodes is None or shape is None:
        return None
    found = outlook(unit("", pod_resources(with_defaults(shape)).requests), (), {}, nodes.planned)
    if not found.feasible:
        return {"group": nodes.instance_type, "unitsPerNode": 0, "boundBy": next(iter(found.obstacles), found.remark)}
    group = found.groups[0]
    on_active = group.nodes_for(active)
    return {
        "group": group.name,
        "unitsPerNode": group.fit.units,
        "boundBy": group.fit.bound_by,
        "active": on_active,
        "standby": group.nodes_for(active + standby) - on_active,
        "addresses": group.addresses_for(active + standby),
    }
