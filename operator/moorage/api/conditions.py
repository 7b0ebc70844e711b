"""metav1.Condition, as every Kubernetes tool reads it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from moorage.api.types import doc


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One aspect of the object's state."""

    type: Annotated[
        str,
        doc("What the condition is about, in CamelCase, such as Ready."),
        Meta(min_length=1, max_length=316),
    ]
    status: Annotated[Literal["True", "False", "Unknown"], doc("Whether it holds: True, False or Unknown.")]
    reason: Annotated[
        str,
        doc("Why, as one CamelCase word that programs can compare."),
        Meta(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    message: Annotated[
        str,
        doc("Why, in a sentence for people, and what to do about it."),
        Meta(max_length=32768),
    ]
    last_transition_time: Annotated[
        str,
        doc("When status last changed (not reason or message).", format="date-time"),
    ]
    observed_generation: Annotated[
        int,
        doc(
            "The metadata.generation of the spec that this was found for; older than the object's: still to be updated."
        ),
        Meta(ge=0, extra_json_schema={"format": "int64"}),
    ] = 0


def condition_list(text: str) -> Meta:
    """Describe a list of conditions: one per type, so that writers do not overwrite each other's."""
    meta = doc(text)
    return Meta(
        description=meta.description,
        extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
