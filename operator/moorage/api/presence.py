"""The part of a CapacityBuffer's status that tells what is really there."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from moorage.api.rules import Rule, rules
from moorage.api.types import Count, doc
from moorage.density.eks.networking import Mode
from moorage.density.eks.nodes import PlannedNodes

TYPE_PATTERN = r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$"
_IS_TYPE = rules(
    Rule(
        cel=f'self.matches(r"{TYPE_PATTERN}")',
        holds=lambda value: re.fullmatch(TYPE_PATTERN, value) is not None,
        message="is not an instance type of EC2: write its name, such as m5.large",
    )
)

_BoundBy = Annotated[
    str, doc("What keeps more units off it: a resource, pods, addresses, pod anti-affinity or host port.")
]
_StandbyNodes = Annotated[
    Count, doc("Nodes that standby units take beside them: units of both tiers are rounded up to nodes together.")
]
_Addresses = Annotated[
    Count,
    doc(
        """
        Addresses that the nodes for all units take from their subnets, interfaces and warm reserve included, as the
        Amazon VPC CNI does it with the warm targets of its manifest. Missing for types of other clouds.
        """
    ),
]


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


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Nodes that are alike, and how many of them the buffer takes."""

    name: Annotated[str, doc("Node pool and instance type, as far as labels tell, or the size of the nodes.")]
    units_per_node: Annotated[Count, doc("Units that such a node holds when nothing but its daemons run on it.")]
    bound_by: _BoundBy
    active: Annotated[Count, doc("Nodes of this group that all active units take.")]
    standby: _StandbyNodes
    addresses: _Addresses | None = None


class NodesSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes that the buffer is meant for, so that it can be judged while there is none of them."""

    instance_type: Annotated[
        str,
        doc(
            """
            The instance type of Amazon EC2, such as m5.large. While the cluster has no node of it, status.nodes tells
            how many units one would hold: its size is that of the table of types, less what the image reserves, and
            daemons are taken to be those of other nodes.
            """
        ),
        Meta(max_length=63),
        _IS_TYPE,
    ]
    networking: (
        Annotated[
            Literal["Secondary", "Prefix"],
            doc(
                """
                How pods on these nodes get addresses: Secondary (one at a time) or Prefix (/28 prefixes, which is
                ENABLE_PREFIX_DELEGATION of the Amazon VPC CNI). Left out: Prefix where live nodes of the type admit
                more pods than single addresses make, else Secondary.
                """
            ),
        ]
        | None
    ) = None
    custom_networking: Annotated[
        bool,
        doc("Whether pods have subnets of their own (ENIConfig), so that the first interface carries none."),
    ] = False
    max_pods: (
        Annotated[
            int,
            doc(
                """
                How many pods the kubelet of these nodes admits. Left out: what such nodes usually have, which is the
                image's own number with Secondary, and 110 or 250 by vCPUs with Prefix. Live nodes tell it themselves.
                """,
                format="int32",
            ),
            Meta(ge=1, le=10000),
        ]
        | None
    ) = None

    @property
    def planned(self) -> PlannedNodes:
        """The same for the placement check."""
        mode = Mode(self.networking.lower()) if self.networking is not None else None
        return PlannedNodes(self.instance_type, mode, self.custom_networking, self.max_pods)


class NodesStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Units by nodes."""

    group: Annotated[str, doc("The group of nodes that these numbers are for: the one that holds most units now.")]
    units_per_node: Annotated[Count, doc("Units that an empty node of this group holds.")]
    bound_by: _BoundBy
    active: Annotated[Count, doc("Nodes that all active units take.")]
    standby: _StandbyNodes
    addresses: _Addresses | None = None
    others: Annotated[tuple[NodeGroup, ...], doc("Other groups that could hold units; at most seven.")] = ()
