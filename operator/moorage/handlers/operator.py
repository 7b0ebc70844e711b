"""The operator's shared state, and the kopf handlers that feed it. kopf passes the state as `memo`."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import kopf
import msgspec

from moorage.cluster.credentials import CredentialsSource
from moorage.cluster.reference import AnyReference
from moorage.cluster.status_writer import Status, StatusKey, StatusWriter
from moorage.handlers.buffers import Buffers
from moorage.handlers.presence import Presence
from moorage.handlers.provisioning import Provisioning
from moorage.handlers.quotas import Quotas
from moorage.quota.ledger import Ledger
from moorage.status.enforcement import PROVING
from moorage.status.findings import is_provisional
from moorage.status.presence import NO_UNIT, Sighting, Unseen, with_presence

GROUP, VERSION = "moorage.dev", "v1alpha1"
QUOTAS, BUFFERS = "namespacequotas", "capacitybuffers"
KINDS = {QUOTAS: "NamespaceQuota", BUFFERS: "CapacityBuffer"}

logger = logging.getLogger(__name__)


def key_of(plural: str, namespace: str, name: str) -> StatusKey:
    """Return the key under which an object's status is written."""
    return StatusKey(KINDS[plural], plural, namespace, name)


class OperatorState:
    """All that handlers share. `writer` and the callbacks are set by the owner before anything runs."""

    writer: StatusWriter

    def __init__(self, ledger: Ledger, quotas: Quotas, buffers: Buffers) -> None:
        self.ledger = ledger
        self.quotas = quotas
        self.buffers = buffers
        quotas.holdings = buffers.holdings
        self.provisioning: Provisioning | None = None
        """Makes the units; None where nothing is to be made."""
        self.presence: Presence | None = None
        """Tells what is there of each buffer; None where nobody looks."""
        self.specs_changed: Callable[[str], None] = lambda _: None
        """Called with the plural of a kind when a spec of it came, changed or went."""
        self.awaits_buffers: Callable[[str], bool] = lambda _: False
        """Whether there may be buffers of a namespace that have not been taken in."""
        self.share_soon: Callable[[str], None] = lambda _: None
        """Called with a namespace whose room is to be shared out anew, by `share_out`; once for many calls will do."""
        self.labelled: Callable[[StatusKey, Mapping[str, str]], None] = lambda *_: None
        """Called with the labels of one of our objects whenever it was seen."""
        self._uids: dict[StatusKey, str] = {}
        self._described: set[StatusKey] = set()
        """Objects that have had a status since their spec was last taken in."""
        self._waiting: dict[str, set[StatusKey]] = {}
        """By namespace, objects that are to be looked at once its room has been shared out."""

    def __copy__(self) -> OperatorState:
        """kopf copies the memo for each object; they all share this one."""
        return self

    def accept(
        self,
        key: StatusKey,
        *,
        uid: str,
        generation: int,
        spec: dict[str, Any],
        described: bool,
        created: str = "",
        status: Status | None = None,
    ) -> None:
        """Take in the spec of one of our objects; `described` tells whether it has a status already."""
        self._uids[key] = uid
        (self._described.add if described else self._described.discard)(key)
        if key.plural == BUFFERS:
            self.buffers.accept(
                key.namespace, key.name, generation=generation, spec=spec, created=created, status=status
            )
        else:
            self.quotas.accept(key.namespace, key.name, generation=generation, spec=spec)
        self.specs_changed(key.plural)
        self.writer.mark(key)
        self._spec_changed(key.namespace)

    def observe(
        self,
        key: StatusKey,
        *,
        uid: str,
        resource_version: int,
        status: Status,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Take in what the API server holds for one of our objects."""
        if status and self._uids.get(key) == uid:
            self._described.add(key)
        if key.plural == BUFFERS and self.provisioning is not None:
            self.provisioning.observe((key.namespace, key.name), uid=uid, annotations=annotations or {}, status=status)
        self.writer.observe(key, uid=uid, resource_version=resource_version, status=status)

    def adopt(self, key: StatusKey, status: Mapping[str, Any]) -> None:
        """Go on from numbers that only the stored status has: counted by an operator before us, or another replica."""
        if key.plural == QUOTAS:
            self.quotas.adopt(key.namespace, key.name, status)

    def remove(self, key: StatusKey, *, uid: str) -> None:
        """Forget one of our objects, unless it was made anew under the same name: kopf does not order the two."""
        if self._uids.get(key, uid) != uid:
            return
        self._uids.pop(key, None)
        self._described.discard(key)
        self._book(key.plural).remove(key.namespace, key.name)
        if key.plural == BUFFERS and self.provisioning is not None:
            self.provisioning.remove((key.namespace, key.name))
        self.writer.forget(key)
        self._waiting.get(key.namespace, set()).discard(key)
        self.specs_changed(key.plural)
        self._spec_changed(key.namespace)

    def uid(self, key: StatusKey) -> str | None:
        """Return the uid of one of our objects."""
        return self._uids.get(key)

    def known(self) -> dict[StatusKey, str]:
        """Return the uids of the objects that are known now."""
        return dict(self._uids)

    def knows(self, key: StatusKey) -> bool:
        """Whether an object has been taken in."""
        return key in self._uids

    def remove_gone(self, known: Mapping[StatusKey, str], alive: Mapping[StatusKey, str]) -> None:
        """Forget objects that were known before a list of those that are alive, and are not in it (keys to uids).

        Their deletion was missed in a gap of a watch. What came after the list began is not touched.
        """
        for key, uid in known.items():
            if alive.get(key) != uid and self._uids.get(key) == uid:
                logger.info("%s was deleted while nobody watched", key)
                self.remove(key, uid=uid)

    def desired(self, key: StatusKey) -> Status | None:
        """Return the status that one of our objects should have, or None when the one it has shall stay for now.

        An object that was described before, such as by an operator that was restarted, keeps its numbers while they
        are found out anew: whoever reads them, autoscalers at /scale above all, must not take "not yet" for 0.
        """
        if key.plural == QUOTAS:
            if self.writer.held(key).get("buffered") and self._buffers_are_pending(key.namespace):
                self._wait(key)
                return None
            if key in self._described and self.quotas.awaited(key.namespace):
                return None  # with the last quota of its namespace all of them are looked at
            status = self.quotas.desired(key.namespace, key.name)
        else:
            if self.knows(key) and not self.buffers.is_shared(key.namespace):
                self._wait(key)
            status = self._desired_buffer(key.namespace, key.name)
        return None if status is not None and key in self._described and self._follows_soon(key, status) else status

    def _follows_soon(self, key: StatusKey, status: Status) -> bool:
        """Tell whether a status only says that the real one follows in a moment."""
        is_proving = any(each["reason"] == PROVING for each in status["conditions"])
        return is_provisional(status) or (is_proving and self.quotas.is_first_proof(key.namespace, key.name))

    def _buffers_are_pending(self, namespace: str) -> bool:
        if self.quotas.pods_are_refused(namespace):
            return False  # that is to be told, and what buffers hold may stay unknown for as long
        return self.awaits_buffers(namespace) or self.buffers.are_pending(namespace)

    def _desired_buffer(self, namespace: str, name: str) -> Status | None:
        """Return a buffer's status, having had made what it takes; None while what makes its units is not known."""
        status, unit = self.buffers.status(namespace, name), self.buffers.unit(namespace, name)
        if status is not None and unit is not None and self.provisioning is not None:
            spec, template = unit
            status = self.provisioning.complete((namespace, name), spec, template, status)
        if status is not None and self.presence is not None:
            has_unit = unit is not None and bool(unit[1])
            seen = self._seen((namespace, name)) if has_unit else NO_UNIT
            status = with_presence(status, seen, generation=status.observed_generation)
        return msgspec.to_builtins(status) if status is not None else None

    def _seen(self, key: tuple[str, str]) -> Sighting | Unseen:
        """Return what the last look tells of the units that are sought now."""
        assert self.presence is not None
        seen = self.presence.seen(key)
        sought = self.provisioning.sought(key) if self.provisioning is not None else None
        if isinstance(seen, Unseen) or sought is None:
            return seen
        return seen.of(sought.shape, active=sought.allocation.active, standby=sought.allocation.standby)

    def buffer_changed(self, namespace: str, name: str) -> None:
        """Have a buffer looked at again for a reason that is not in its spec."""
        self.writer.mark(key_of(BUFFERS, namespace, name))

    def buffer_due(self, namespace: str, name: str) -> None:
        """Have a buffer sized anew soon; of many in a namespace, what quotas leave is shared out once for all."""
        self._wait(key_of(BUFFERS, namespace, name))
        self.share_soon(namespace)

    def reference_changed(self, reference: AnyReference) -> None:
        """Have the buffers sized anew that refer to an object or to pods."""
        for namespace, name in self.buffers.referring_to(reference):
            self.buffer_due(namespace, name)

    def share_out(self, namespace: str) -> None:
        """Share out anew what the quotas of a namespace leave.

        The buffers that this concerns are sized anew, the quotas tell what buffers hold of them, and what has waited
        for this is looked at.
        """
        before = self.buffers.holdings(namespace)
        for key in self.buffers.share_out(namespace):
            self.writer.mark(key_of(BUFFERS, *key))
        if self.buffers.holdings(namespace) != before:
            for name in self.quotas.names(namespace):
                self.writer.mark(key_of(QUOTAS, namespace, name))
        for waiting in self._waiting.pop(namespace, ()):
            self.writer.mark(waiting)

    def _spec_changed(self, namespace: str) -> None:
        """Have the room of a namespace shared out for all that comes: at a start it is hundreds of objects."""
        self.buffers.unshare(namespace)
        self.share_soon(namespace)

    def _wait(self, key: StatusKey) -> None:
        self._waiting.setdefault(key.namespace, set()).add(key)

    def _book(self, plural: str) -> Quotas | Buffers:
        return self.quotas if plural == QUOTAS else self.buffers


def registry(credentials: CredentialsSource) -> kopf.OperatorRegistry:
    """Return the handlers of our two kinds."""
    handlers = kopf.OperatorRegistry()

    async def login(**_: Any) -> kopf.ConnectionInfo:
        return await credentials.connection()

    async def accept(*, memo: Any, body: kopf.Body, resource: kopf.Resource, **_: Any) -> None:
        meta = body["metadata"]
        key = key_of(resource.plural, meta["namespace"], meta["name"])
        memo.accept(
            key,
            uid=meta["uid"],
            generation=int(meta["generation"]),
            spec=body.get("spec") or {},
            described=bool(body.get("status")),
            created=meta["creationTimestamp"],
            status=dict(body.get("status") or {}),
        )
        memo.adopt(key, body.get("status") or {})

    async def observe(*, memo: Any, type: str | None, body: kopf.Body, resource: kopf.Resource, **_: Any) -> None:
        meta = body["metadata"]
        key = key_of(resource.plural, meta["namespace"], meta["name"])
        if type == "DELETED":
            memo.remove(key, uid=meta["uid"])
            return
        memo.labelled(key, meta.get("labels") or {})
        version = int(meta["resourceVersion"])
        status = body.get("status") or {}
        memo.adopt(key, status)
        memo.observe(
            key,
            uid=meta["uid"],
            resource_version=version,
            status=status,
            annotations=meta.get("annotations") or {},
        )

    # The ids are what the log and kopf's annotations name a handler by.
    kopf.on.login(registry=handlers, id="login")(login)
    for plural in KINDS:
        kopf.on.create(GROUP, VERSION, plural, registry=handlers, id="accept")(accept)
        kopf.on.resume(GROUP, VERSION, plural, registry=handlers, id="accept")(accept)
        kopf.on.update(GROUP, VERSION, plural, registry=handlers, id="accept", field="spec")(accept)
        kopf.on.event(GROUP, VERSION, plural, registry=handlers, id="observe")(observe)
    return handlers


class _Backoffs(Iterable[float]):
    """Seconds between the attempts of a request, without end: a right that one namespace does not give ends nothing."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((1, 2, 4, 8), itertools.repeat(16))


def settings() -> kopf.OperatorSettings:
    """Return kopf's settings; each differs from its default for a reason that `docs/operator.md` tells."""
    result = kopf.OperatorSettings()
    result.peering.standalone = True
    result.scanning.disabled = True
    result.watching.server_timeout = 300
    result.watching.client_timeout = 330
    result.watching.connect_timeout = 10
    result.watching.chunk_size = 250
    result.networking.request_timeout = 30
    result.networking.error_backoffs = _Backoffs()
    result.execution.max_workers = 4
    result.process.ultimate_exiting_timeout = None
    result.persistence.finalizer = f"{GROUP}/finalizer"
    result.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=GROUP)
    result.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    return result
