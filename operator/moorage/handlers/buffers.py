"""The CapacityBuffers that exist, and the status that each should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec, CapacityBufferStatus
from moorage.buffer.sizing import Size
from moorage.cluster.references import Reference
from moorage.status.capacitybuffer import (
    NO_REFERENCE,
    Unresolved,
    Workload,
    buffer_size,
    buffer_status,
    unsized_buffer_status,
)
from moorage.status.presence import Sighting, Unseen, with_presence

BufferKey = tuple[str, str]
"""Namespace and name of a buffer."""

_NOT_LOOKED_FOR = Unseen("NodesUnknown", "nobody looks at nodes")


@dataclass(frozen=True, slots=True)
class _Known:
    generation: int
    spec: CapacityBufferSpec | str
    """The spec, or what is wrong with it."""
    reference: Reference | None


class Buffers:
    """Knows every CapacityBuffer and what it refers to.

    `resolve` returns what is known of a referenced object, `seen` what is there of a buffer.
    """

    def __init__(self, resolve: Callable[[Reference], Workload | Unresolved]) -> None:
        self.seen: Callable[[BufferKey], Sighting | Unseen] = lambda _: _NOT_LOOKED_FOR
        self._resolve = resolve
        self._known: dict[BufferKey, _Known] = {}

    def accept(self, namespace: str, name: str, *, generation: int, spec: Mapping[str, Any]) -> None:
        """Take in a spec, good or bad."""
        try:
            parsed = parse_capacity_buffer_spec(dict(spec), allow_unknown=True)
        except (SpecError, ValueError) as error:
            self._known[namespace, name] = _Known(generation, str(error), None)
        else:
            self._known[namespace, name] = _Known(generation, parsed, _reference(namespace, parsed))

    def remove(self, namespace: str, name: str) -> None:
        """Forget a buffer that was deleted."""
        self._known.pop((namespace, name), None)

    def sizes(self) -> Iterator[tuple[BufferKey, Workload, Size]]:
        """Return every buffer that has a size, with what it refers to; those that have the first choice come first."""
        for key, known in sorted(self._known.items()):
            if isinstance(known.spec, str) or known.reference is None:
                continue
            found = self._resolve(known.reference)
            if isinstance(found, Unresolved):
                continue
            with suppress(ValueError):
                result = buffer_size(known.spec, found)
                if isinstance(result, Size):
                    yield key, found, result

    def status(self, namespace: str, name: str) -> CapacityBufferStatus | None:
        """Return the status that a buffer should have now, or None when it is not known."""
        known = self._known.get((namespace, name))
        if known is None:
            return None
        if isinstance(known.spec, str):
            message = f"{known.spec}; the buffer has no size until it is corrected"
            return unsized_buffer_status("InvalidSpec", message, generation=known.generation)
        found = self._resolve(known.reference) if known.reference is not None else NO_REFERENCE
        try:
            return buffer_status(known.spec, found, generation=known.generation)
        except ValueError as error:
            return unsized_buffer_status("InvalidSpec", str(error), generation=known.generation)

    def desired(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return the same with what is there of the buffer, as it is written to the API server."""
        status = self.status(namespace, name)
        if status is None:
            return None
        status = with_presence(status, self.seen((namespace, name)), generation=status.observed_generation)
        written: dict[str, Any] = msgspec.to_builtins(status)
        return written

    def references(self) -> set[Reference]:
        """Return everything that buffers refer to."""
        return {known.reference for known in self._known.values() if known.reference is not None}

    def referring_to(self, reference: Reference) -> list[BufferKey]:
        """Return the buffers that refer to an object."""
        return [key for key, known in self._known.items() if known.reference == reference]

    def __iter__(self) -> Iterator[BufferKey]:
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(self._known)


def _reference(namespace: str, spec: CapacityBufferSpec) -> Reference | None:
    if spec.pod_template_ref is not None:
        return Reference(namespace, None, "PodTemplate", spec.pod_template_ref.name)
    if spec.scalable_ref is not None:
        ref = spec.scalable_ref
        return Reference(namespace, ref.api_group or None, ref.kind, ref.name)
    return None
