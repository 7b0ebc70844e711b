"""The part of a CapacityBuffer's status that tells what is really there."""

from __future__ import annotations

from typing import Annotated

import msgspec

from moorage.api.types import Count, doc


class Tier(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The units of one tier."""

    replicas: Annotated[Count, doc("How many units this tier should hold.")]
    ready_replicas: (
        Annotated[
            Count,
            doc("How many of them are there: a pod of the unit's shape finds room. Missing while that is not known."),
        ]
        | None
    ) = None
    consumed: Annotated[
        Count,
        doc(
            """
            Units whose room pods have taken since the tier was last full. Unlike replicas less readyReplicas it does
            not fall as the tier is refilled, and units that went with their node are not in it. Missing for 0.
            """
        ),
    ] = 0
    refilling: Annotated[Count, doc("Units that are missing and to be made. Missing for 0.")] = 0


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes that are alike, and how many of them the buffer takes."""

    name: Annotated[str, doc("Node pool and instance type, as far as labels tell, or the size of the nodes.")]
    units_per_node: Annotated[Count, doc("Units that such a node holds when nothing but its daemons run on it.")]
    bound_by: Annotated[str, doc("What keeps more units off it: a resource, pods, pod anti-affinity or host port.")]
    active: Annotated[Count, doc("Nodes of this group that all active units take.")]
    standby: Annotated[
        Count,
        doc("Nodes that standby units take beside them: units of both tiers are rounded up to nodes together."),
    ]


class NodesStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Units by nodes."""

    group: Annotated[str, doc("The group of nodes that these numbers are for: the one that holds most units now.")]
    units_per_node: Annotated[Count, doc("Units that an empty node of this group holds.")]
    bound_by: Annotated[str, doc("What keeps more units off it: a resource, pods, pod anti-affinity or host port.")]
    active: Annotated[Count, doc("Nodes that all active units take.")]
    standby: Annotated[
        Count,
        doc("Nodes that standby units take beside them: units of both tiers are rounded up to nodes together."),
    ]
    others: Annotated[tuple[NodeGroup, ...], doc("Other groups that could hold units; at most seven.")] = ()
