"""What a CapacityBuffer refers to: the workload that it serves, or a pod template."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from moorage.api.types import ObjectName, doc


class PodTemplateRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A PodTemplate in the buffer's namespace."""

    name: Annotated[ObjectName, doc("Name of the PodTemplate, in the same namespace.")]


class ScalableRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload in the buffer's namespace."""

    api_group: (
        Annotated[
            str,
            doc(
                """
                API group of the workload, such as apps or batch. Left out or empty: the kind is looked for in the core
                group, then in apps and batch (Karpenter takes a Deployment for one of apps too, Cluster Autoscaler only
                with apiGroup: apps).
                """
            ),
            Meta(max_length=253),
        ]
        | None
    ) = None
    kind: Annotated[
        str,
        doc("Kind of the workload, such as Deployment: any kind with a scale subresource, or Job."),
        Meta(min_length=1, max_length=63),
    ]
    name: Annotated[ObjectName, doc("Name of the workload, in the same namespace.")]
