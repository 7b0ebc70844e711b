"""The few shapes of the Kubernetes API that every kind of object shares, decoded straight from bytes.

Objects stay encoded (`msgspec.Raw`) until a decoder of their own reads them, so that one bad object spoils neither its
page nor its watch. Decoding them in one pass with the envelope saves about 1.5 of 6 microseconds per pod; not worth it.
"""

from __future__ import annotations

import msgspec

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark after which a streamed list is complete."""


class Event(msgspec.Struct, gc=False):
    """A line of a watch."""

    type: str
    object: msgspec.Raw


class ObjectMeta(msgspec.Struct, gc=False):
    """As much metadata as the feed itself needs."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    annotations: dict[str, str] | None = None

    @property
    def label(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Object(msgspec.Struct, gc=False):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class ListMeta(msgspec.Struct, gc=False):
    """A list's own metadata."""

    resource_version: str = msgspec.field(name="resourceVersion", default="")
    more: str = msgspec.field(name="continue", default="")
    """The token for the next page; empty on the last one."""


class Page(msgspec.Struct, gc=False):
    """A page of a list."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


decode_event = msgspec.json.Decoder(Event).decode
decode_page = msgspec.json.Decoder(Page).decode
_decode_object = msgspec.json.Decoder(_Object).decode


def selecting(field_selector: str | None, label_selector: str = "") -> dict[str, str]:
    """Return the parameters for a field and a label selector; none for none."""
    selectors = {"fieldSelector": field_selector or "", "labelSelector": label_selector}
    return {name: selector for name, selector in selectors.items() if selector}


def decode_meta(encoded: bytes | msgspec.Raw) -> ObjectMeta:
    """Read an object's metadata alone. Raises msgspec.MsgspecError."""
    return _decode_object(encoded).metadata


def parse_resource_version(text: str) -> int:
    """Return a resource version as a number that can be compared, or 0 when it is not one.

    Kubernetes promises comparable integers for its own resources; aggregated API servers may still hand out others.
    """
    return int(text) if text.isascii() and text.isdigit() else 0


def is_older(version: str | int, than: str | int, *, or_equal: bool = False) -> bool:
    """Compare resource versions; one that is no comparable number (0) is never older, so that nothing gets lost."""
    one = version if isinstance(version, int) else parse_resource_version(version)
    other = than if isinstance(than, int) else parse_resource_version(than)
    return 0 < one < other or (or_equal and 0 < one == other)
