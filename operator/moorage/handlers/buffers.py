"""The CapacityBuffers that exist, and the status that each should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec, CapacityBufferStatus
from moorage.buffer.quotas import Asking, Quota, Share, share_out
from moorage.buffer.sizing import SizingError
from moorage.cluster.references import Reference
from moorage.objects import PodSpec
from moorage.status.buffer_quotas import asking
from moorage.status.capacitybuffer import buffer_size, buffer_status, unsized_buffer_status
from moorage.status.findings import RESOLVING
from moorage.status.presence import Sighting, Unseen, with_presence
from moorage.status.workload import NO_REFERENCE, SHAPE_UNKNOWN, Unresolved, Workload

BufferKey = tuple[str, str]
"""Namespace and name of a buffer."""

_NOT_LOOKED_FOR = Unseen("NodesUnknown", "nobody looks at nodes")

Shares = Mapping[str, Share] | Unresolved
"""What quotas leave of the buffers of a namespace, by name; or why that is not known."""

_OTHERS_PENDING = Unresolved(RESOLVING, "what the namespace's buffers ask of its quotas is being read", pending=True)


@dataclass(frozen=True, slots=True)
class _Known:
    generation: int
    spec: CapacityBufferSpec | str
    """The spec, or what is wrong with it."""
    reference: Reference | None
    created: str


@dataclass(frozen=True, slots=True)
class Target:
    """Units that should exist, and what one looks like."""

    key: BufferKey
    workload: Workload
    active: int
    standby: int


class Buffers:
    """Knows every CapacityBuffer, what it refers to, and what quotas leave of it.

    `resolve` returns what is known of a referenced object, `rooms` the quotas of a namespace. `seen`, set by
    the owner, returns what is there of a buffer.
    """

    def __init__(
        self,
        resolve: Callable[[Reference], Workload | Unresolved],
        rooms: Callable[[str], Sequence[Quota] | Unresolved] = lambda _: (),
    ) -> None:
        self.seen: Callable[[BufferKey], Sighting | Unseen] = lambda _: _NOT_LOOKED_FOR
        self._resolve = resolve
        self._rooms = rooms
        self._known: dict[str, dict[str, _Known]] = {}
        """By namespace and name."""
        self._shares: dict[str, Shares] = {}
        """By namespace."""

    def accept(self, namespace: str, name: str, *, generation: int, spec: Mapping[str, Any], created: str = "") -> None:
        """Take in a spec, good or bad; `created` is the buffer's creationTimestamp."""
        known = self._known.setdefault(namespace, {})
        try:
            parsed = parse_capacity_buffer_spec(dict(spec), allow_unknown=True)
        except (SpecError, ValueError) as error:
            known[name] = _Known(generation, str(error), None, created)
        else:
            known[name] = _Known(generation, parsed, _reference(namespace, parsed), created)

    def remove(self, namespace: str, name: str) -> None:
        """Forget a buffer that was deleted."""
        known = self._known.get(namespace, {})
        known.pop(name, None)
        if not known:
            self._known.pop(namespace, None)
            self._shares.pop(namespace, None)

    def share_out(self, namespace: str) -> list[BufferKey]:
        """Share out anew what the quotas of a namespace leave; return the buffers that get another share than before.

        To be called when a buffer, what it refers to, or a quota of the namespace changed.
        """
        if namespace not in self._known:
            return []
        before, now = self._shares.get(namespace, {}), self._shared(namespace)
        self._shares[namespace] = now
        if isinstance(before, Unresolved) or isinstance(now, Unresolved):
            return [(namespace, name) for name in self._known[namespace]] if before != now else []
        return [(namespace, name) for name in self._known[namespace] if before.get(name) != now.get(name)]

    def targets(self) -> Iterator[Target]:
        """Return every buffer that has a size and a shape; those that have the first choice come first."""
        for key, known in sorted(self._all(), key=_first_choice):
            found, status = self._found(known), self.status(*key)
            if isinstance(found, Workload) and status is not None and status.active and status.standby:
                yield Target(key, found, status.active.replicas, status.standby.replicas)

    def status(self, namespace: str, name: str) -> CapacityBufferStatus | None:
        """Return the status that a buffer should have now, or None when it is not known."""
        known = self._known.get(namespace, {}).get(name)
        if known is None:
            return None
        if isinstance(known.spec, str):
            message = f"{known.spec}; the buffer has no size until it is corrected"
            return unsized_buffer_status("InvalidSpec", message, generation=known.generation)
        try:
            return buffer_status(
                known.spec, self._found(known), generation=known.generation, share=self._share(namespace, name)
            )
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
        return {known.reference for _, known in self._all() if known.reference is not None}

    def referring_to(self, reference: Reference) -> list[BufferKey]:
        """Return the buffers that refer to an object."""
        return [key for key, known in self._all() if known.reference == reference]

    def namespaces(self) -> list[str]:
        """Return the namespaces that have buffers."""
        return list(self._known)

    def _found(self, known: _Known) -> Workload | Unresolved:
        return self._resolve(known.reference) if known.reference is not None else NO_REFERENCE

    def _share(self, namespace: str, name: str) -> Share | Unresolved | None:
        if namespace not in self._shares:
            self.share_out(namespace)
        shares = self._shares[namespace]
        return shares if isinstance(shares, Unresolved) else shares.get(name, SHAPE_UNKNOWN)

    def _shared(self, namespace: str) -> Shares:
        rooms = self._rooms(namespace)
        if isinstance(rooms, Unresolved):
            return rooms
        asked: list[Asking] = []
        for name, known in self._known[namespace].items():
            found = self._found(known)
            if isinstance(found, Unresolved) and found.pending and rooms:
                return _OTHERS_PENDING  # it may be served before others, so none can be served yet
            asked += _asked(name, known, found, any_shape=not rooms)
        return share_out(rooms, asked)

    def _all(self) -> Iterator[tuple[BufferKey, _Known]]:
        for namespace, buffers in self._known.items():
            for name, known in buffers.items():
                yield (namespace, name), known

    def __iter__(self) -> Iterator[BufferKey]:
        return iter([key for key, _ in self._all()])

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))


def _first_choice(buffer: tuple[BufferKey, _Known]) -> tuple[int, str, BufferKey]:
    """Sort key: the buffer with the higher priority, then the older one."""
    key, known = buffer
    priority = 0 if isinstance(known.spec, str) else known.spec.priority or 0
    return (-priority, known.created, key)


def _asked(name: str, known: _Known, found: Workload | Unresolved, *, any_shape: bool) -> list[Asking]:
    """Return what a buffer asks quotas for: nothing while it has no size, or no shape and that matters."""
    if isinstance(known.spec, str) or isinstance(found, Unresolved):
        return []
    template = found.template or (PodSpec() if any_shape else None)
    if template is None:
        return []
    try:
        size = buffer_size(known.spec, found)
        if isinstance(size, SizingError):
            return []
        priority = known.spec.priority or 0
        return [asking(name, template, units=size.replicas, priority=priority, created=known.created)]
    except ValueError:
        return []


def _reference(namespace: str, spec: CapacityBufferSpec) -> Reference | None:
    if spec.pod_template_ref is not None:
        return Reference(namespace, None, "PodTemplate", spec.pod_template_ref.name)
    if spec.scalable_ref is not None:
        ref = spec.scalable_ref
        return Reference(namespace, ref.api_group or None, ref.kind, ref.name)
    return None
