"""The CapacityBuffers that exist, and the status that each should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.api.labels import unit_selector
from moorage.buffer.holdings import Holding
from moorage.buffer.life import NO_ADJUSTMENT, Adjustment
from moorage.buffer.measured import NOTHING_MEASURED
from moorage.buffer.quotas import Asking, Quota, Share, share_out
from moorage.buffer.size import SizingError
from moorage.cluster.reference import AnyReference, PodsReference, Reference
from moorage.handlers.alarms import Alarms
from moorage.handlers.lives import Lives
from moorage.handlers.measuring import Measuring, Need, is_measured, may_be_scaled
from moorage.objects import PodSpec
from moorage.status.buffer_quotas import asking
from moorage.status.capacitybuffer import buffer_size, buffer_status, unsized_buffer_status
from moorage.status.findings import RESOLVING
from moorage.status.measured import with_measured
from moorage.status.provisioning import with_adjustment, with_schedule
from moorage.status.schedule import Scheduled
from moorage.status.workload import NO_REFERENCE, SHAPE_UNKNOWN, Unresolved, Workload

BufferKey = tuple[str, str]
"""Namespace and name of a buffer."""

Shares = Mapping[str, Share] | Unresolved
"""What quotas leave of the buffers of a namespace, by name; or why that is not known."""

_OTHERS_PENDING = Unresolved(RESOLVING, "what the namespace's buffers ask of its quotas is being read", pending=True)


@dataclass(frozen=True, slots=True)
class _Known:
    generation: int
    spec: CapacityBufferSpec | str
    """The spec, or what is wrong with it."""
    reference: AnyReference | None
    created: str


@dataclass(frozen=True, slots=True)
class _Judged:
    """A buffer as it was when room was shared out: a size made of anything newer may be more than its share."""

    found: Workload | Unresolved = NO_REFERENCE
    in_force: Scheduled | None = None
    adjustment: Adjustment = NO_ADJUSTMENT
    problem: str = ""
    """Why the spec cannot be in force."""


class Buffers:
    """Knows every CapacityBuffer, what it refers to, and what quotas leave of it.

    `resolve` returns what is known of a referenced object, `rooms` the quotas of a namespace, `lives` what time does.
    """

    def __init__(
        self,
        resolve: Callable[[AnyReference], Workload | Unresolved],
        rooms: Callable[[str], Sequence[Quota] | Unresolved] = lambda _: (),
        lives: Lives | None = None,
    ) -> None:
        self.lives = lives or Lives(Alarms(lambda _: None))
        self.measuring: Measuring | None = None
        """What is measured of workloads; None where nothing is."""
        self._resolve = resolve
        self._rooms = rooms
        self._known: dict[str, dict[str, _Known]] = {}
        """By namespace and name."""
        self._shares: dict[str, Shares] = {}
        """By namespace."""
        self._judged: dict[str, dict[str, _Judged]] = {}
        """By namespace and name, of the buffers whose specs can be read."""
        self._holdings: dict[str, tuple[Holding, ...]] = {}
        """By namespace: what was shared out last."""
        self._unshared: set[str] = set()
        """Namespaces in which something came, changed or went since then: no size of theirs is right."""
        self._referring: dict[AnyReference, dict[BufferKey, None]] = {}
        """The buffers that refer to an object, in the order in which they came."""

    def accept(
        self,
        namespace: str,
        name: str,
        *,
        generation: int,
        spec: Mapping[str, Any],
        created: str = "",
        status: Mapping[str, Any] | None = None,
    ) -> None:
        """Take in a spec, good or bad; `created` is the buffer's creationTimestamp, `status` what is stored of it."""
        self.lives.begin((namespace, name), status or {})
        if self.measuring is not None:
            self.measuring.begin((namespace, name), status or {})
        self._drop_reference((namespace, name))
        known = self._known.setdefault(namespace, {})
        try:
            parsed = parse_capacity_buffer_spec(dict(spec), allow_unknown=True)
        except (SpecError, ValueError) as error:
            known[name] = _Known(generation, str(error), None, created)
        else:
            reference = _reference(namespace, parsed)
            known[name] = _Known(generation, parsed, reference, created)
            if reference is not None:
                self._referring.setdefault(reference, {})[namespace, name] = None
        self.unshare(namespace)

    def remove(self, namespace: str, name: str) -> None:
        """Forget a buffer that was deleted."""
        self.lives.end((namespace, name))
        if self.measuring is not None:
            self.measuring.end((namespace, name))
        self._drop_reference((namespace, name))
        known = self._known.get(namespace, {})
        known.pop(name, None)
        if not known:
            self._known.pop(namespace, None)
            self._shares.pop(namespace, None)
            self._judged.pop(namespace, None)
        self.unshare(namespace)

    def unshare(self, namespace: str) -> None:
        """Note that what quotas leave is to be shared out anew: until then no buffer of a namespace has a size."""
        self._unshared.add(namespace)

    def is_shared(self, namespace: str) -> bool:
        """Whether the sizes of the buffers of a namespace were judged with all that is known there."""
        return namespace not in self._unshared

    def share_out(self, namespace: str) -> list[BufferKey]:
        """Share out anew what the quotas of a namespace leave; return the buffers that get another share than before.

        To be called when a buffer, what it refers to, or a quota of the namespace changed; once for many changes, since
        it looks at all buffers of the namespace. Until then status tells what was true when it was called last.
        """
        self._unshared.discard(namespace)
        if namespace not in self._known:
            self._holdings.pop(namespace, None)
            return []
        before, now = self._shares.get(namespace, {}), self._shared(namespace)
        self._shares[namespace] = now
        if isinstance(before, Unresolved) or isinstance(now, Unresolved):
            return [(namespace, name) for name in self._known[namespace]] if before != now else []
        return [(namespace, name) for name in self._known[namespace] if before.get(name) != now.get(name)]

    def holdings(self, namespace: str) -> Sequence[Holding]:
        """Return what the buffers of a namespace hold of its quotas, as last shared out."""
        return self._holdings.get(namespace, ())

    def are_pending(self, namespace: str) -> bool:
        """Whether it will be known in a moment what the buffers of a namespace hold."""
        shares = self._shares.get(namespace)
        return namespace in self._known and (
            not self.is_shared(namespace) or (isinstance(shares, Unresolved) and shares.pending)
        )

    def status(self, namespace: str, name: str) -> CapacityBufferStatus | None:
        """Return the status that a buffer should have now, or None when it is not known, or not yet."""
        known = self._known.get(namespace, {}).get(name)
        if known is None or not self.is_shared(namespace):
            return None
        return msgspec.structs.replace(self._status(namespace, name, known), selector=unit_selector(name))

    def _status(self, namespace: str, name: str, known: _Known) -> CapacityBufferStatus:
        if isinstance(known.spec, str):
            message = f"{known.spec}; the buffer has no size until it is corrected"
            return unsized_buffer_status("InvalidSpec", message, generation=known.generation)
        judged = self._judged[namespace][name]
        if judged.in_force is None:
            return unsized_buffer_status("InvalidSpec", judged.problem, generation=known.generation)
        found = judged.found
        try:
            status = buffer_status(
                judged.in_force.spec,
                found,
                generation=known.generation,
                share=self._share(namespace, name),
                adjustment=judged.adjustment,
            )
            if self.measuring is not None and known.spec.sizing is not None:
                measured = found.measured if isinstance(found, Workload) else NOTHING_MEASURED
                record, method = self.measuring.record((namespace, name)), known.spec.sizing.method or "Mean"
                status = with_measured(status, measured, record, method=method)
            return with_adjustment(with_schedule(status, judged.in_force, known.spec), judged.adjustment)
        except ValueError as error:
            return unsized_buffer_status("InvalidSpec", str(error), generation=known.generation)

    def by_choice(self) -> list[BufferKey]:
        """Return all buffers, those first that have the first choice: of higher priority, then older."""
        return [key for key, _ in sorted(self._all(), key=_first_choice)]

    def unit(self, namespace: str, name: str) -> tuple[CapacityBufferSpec, bytes] | None:
        """Return a buffer's spec and the pod template of a unit as JSON, empty when there is none.

        None when the buffer is not known, or not yet.
        """
        known, judged = self._known.get(namespace, {}).get(name), self._judged.get(namespace, {}).get(name)
        if known is None or isinstance(known.spec, str) or judged is None:
            return None
        return known.spec, b"" if isinstance(judged.found, Unresolved) else judged.found.encoded

    def references(self) -> set[AnyReference]:
        """Return everything that buffers refer to."""
        return set(self._referring)

    def referring_to(self, reference: AnyReference) -> list[BufferKey]:
        """Return the buffers that refer to an object."""
        return list(self._referring.get(reference, ()))

    def namespaces(self) -> list[str]:
        """Return the namespaces that have buffers."""
        return list(self._known)

    def needs(self) -> dict[BufferKey, Need]:
        """Return the buffers that have something measured, and the pods to measure it by."""
        found: dict[BufferKey, Need] = {}
        for key, known in self._all():
            if isinstance(known.spec, str) or known.reference is None or not is_measured(known.spec):
                continue
            workload = self._resolve(known.reference)
            if isinstance(workload, Workload) and workload.selector:
                found[key] = Need(known.spec, workload.selector, known.reference)
        return found

    def scaled_namespaces(self) -> set[str]:
        """Return the namespaces of buffers whose size depends on an autoscaler, if there is one."""
        return {key[0] for key, known in self._all() if not isinstance(known.spec, str) and may_be_scaled(known.spec)}

    def _drop_reference(self, key: BufferKey) -> None:
        known = self._known.get(key[0], {}).get(key[1])
        if known is None or known.reference is None:
            return
        referring = self._referring[known.reference]
        del referring[key]
        if not referring:
            del self._referring[known.reference]

    def _found(self, key: BufferKey, known: _Known) -> Workload | Unresolved:
        if known.reference is None:
            return NO_REFERENCE
        found = self._resolve(known.reference)
        if self.measuring is None or isinstance(known.spec, str) or isinstance(found, Unresolved):
            return found
        return self.measuring.complete(key, found, Need(known.spec, found.selector, known.reference))

    def _share(self, namespace: str, name: str) -> Share | Unresolved | None:
        shares = self._shares[namespace]
        return shares if isinstance(shares, Unresolved) else shares.get(name, SHAPE_UNKNOWN)

    def _shared(self, namespace: str) -> Shares:
        judged = self._judged[namespace] = {
            name: self._judge((namespace, name), known, known.spec)
            for name, known in self._known[namespace].items()
            if not isinstance(known.spec, str)
        }
        rooms = self._rooms(namespace)
        if isinstance(rooms, Unresolved):
            return rooms
        asked: list[Asking] = []
        for name, each in judged.items():
            if isinstance(each.found, Unresolved) and each.found.pending and rooms:
                return _OTHERS_PENDING  # it may be served before others, so none can be served yet
            asked += self._asked(name, self._known[namespace][name], each, any_shape=not rooms)
        shares = share_out(rooms, asked)
        self._holdings[namespace] = tuple(
            Holding(each.name, shares[each.name].units, each.unit, each.facts) for each in asked
        )
        return shares

    def _judge(self, key: BufferKey, known: _Known, spec: CapacityBufferSpec) -> _Judged:
        found = self._found(key, known)
        try:
            in_force = self.lives.scheduled(key, spec)
            return _Judged(found, in_force, self.lives.adjust(key, in_force.spec, found))
        except ValueError as error:
            return _Judged(found, problem=str(error))

    @staticmethod
    def _asked(name: str, known: _Known, judged: _Judged, *, any_shape: bool) -> list[Asking]:
        """Return what a buffer asks quotas for: nothing while it has no size, or no shape and that matters."""
        found = judged.found
        if isinstance(known.spec, str) or isinstance(found, Unresolved) or judged.in_force is None:
            return []
        template = found.template or (PodSpec() if any_shape else None)
        if template is None:
            return []
        try:
            size = buffer_size(judged.in_force.spec, found, adjustment=judged.adjustment)
            if isinstance(size, SizingError):
                return []
            priority = known.spec.priority or 0
            return [asking(name, template, units=size.replicas, priority=priority, created=known.created)]
        except ValueError:
            return []

    def _all(self) -> Iterator[tuple[BufferKey, _Known]]:
        for namespace, buffers in self._known.items():
            for name, known in buffers.items():
                yield (namespace, name), known

    def __iter__(self) -> Iterator[BufferKey]:
        return iter([key for key, _ in self._all()])

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))


def _first_choice(buffer: tuple[BufferKey, _Known]) -> tuple[int, str, BufferKey]:
    key, known = buffer
    priority = 0 if isinstance(known.spec, str) else known.spec.priority or 0
    return (-priority, known.created, key)


def _reference(namespace: str, spec: CapacityBufferSpec) -> AnyReference | None:
    if spec.pod_template_ref is not None:
        return Reference(namespace, None, "PodTemplate", spec.pod_template_ref.name)
    if spec.scalable_ref is not None:
        ref = spec.scalable_ref
        return Reference(namespace, ref.api_group or None, ref.kind, ref.name)
    if spec.selector is not None:
        return PodsReference(namespace, spec.selector.text)
    return None
