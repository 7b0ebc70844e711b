"""Follows the objects that buffers refer to: their pod template and, for workloads, their size.

Each referenced object is watched on its own (a field selector on its name), however many buffers refer to it, and for
as long as one does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource, find_kind
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.wire import parse_resource_version
from moorage.objects import PodSpec, PodTemplate
from moorage.status.findings import RESOLVING
from moorage.status.workload import Unresolved, Workload

logger = logging.getLogger(__name__)

_SEARCH_AGAIN_SECONDS = 10.0
"""How often a kind that is not served is looked for: its CRD may come later."""

_PENDING = Unresolved(RESOLVING, "the referenced object is being read", pending=True)


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a buffer names; `group` None or empty: see `discovery`."""

    namespace: str
    group: str | None
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    template: PodTemplate | None = None
    parallelism: int | None = None


class _Referenced(msgspec.Struct, frozen=True, rename="camel"):
    """As much of any referenced object as a buffer needs; a custom kind's fields may mean something else."""

    metadata: _Meta = _Meta()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    template: msgspec.Raw = msgspec.Raw(b"null")


class ReferencedObject(msgspec.Struct, frozen=True):
    """What is kept of a referenced object."""

    uid: str
    resource_version: int
    template: PodSpec | None
    parallelism: int | None
    encoded: bytes = b""


_decode_referenced = msgspec.json.Decoder(_Referenced).decode
_decode_spec = msgspec.json.Decoder(_Spec).decode
_decode_template = msgspec.json.Decoder(PodTemplate | None).decode


def decode_referenced(encoded: bytes) -> ReferencedObject:
    """Read a PodTemplate, a workload or a custom object.

    A custom kind's `spec` and `template` may be anything; what is no pod template counts as none. Raises
    msgspec.MsgspecError when even the metadata cannot be read.
    """
    found = _decode_referenced(encoded)
    spec, template = _Spec(), None
    with suppress(msgspec.MsgspecError):
        spec = _decode_spec(found.spec)
    with suppress(msgspec.MsgspecError):
        template = _decode_template(found.template)
    raw = bytes(found.template) if template is not None else b""
    if template is None and spec.template is not None:
        raw = msgspec.json.encode(msgspec.json.decode(found.spec)["template"])
    template = template or spec.template
    return ReferencedObject(
        uid=found.metadata.uid,
        resource_version=parse_resource_version(found.metadata.resource_version),
        template=template.spec if template is not None else None,
        parallelism=spec.parallelism,
        encoded=raw,
    )


class _KindChangedError(Exception):
    """A kind is no longer served as it was: its definition was deleted or has other versions."""


class _Followed:
    """One referenced object: the sink of its feed, and what is known of it."""

    def __init__(self, reference: Reference, client: Client, on_change: Callable[[Reference], None]) -> None:
        self.reference = reference
        self.known: Workload | Unresolved = _PENDING
        self._client = client
        self._on_change = on_change
        self._object: ReferencedObject | None = None
        self._changed = asyncio.Event()
        self._resource: Resource | None = None

    # The sink of the feed

    def replace(self, records: Mapping[str, ReferencedObject]) -> None:
        self._take(next(iter(records.values()), None))

    def put(self, record: ReferencedObject) -> None:
        self._take(record)

    def delete(self, record: ReferencedObject) -> None:
        self._take(None)

    def get(self, uid: str) -> ReferencedObject | None:
        return self._object if self._object is not None and self._object.uid == uid else None

    def snapshot(self) -> Mapping[str, ReferencedObject]:
        return {self._object.uid: self._object} if self._object is not None else {}

    def _take(self, record: ReferencedObject | None) -> None:
        self._object = record
        self._changed.set()

    # The life of it

    async def run(self) -> None:
        """Follow the object until cancelled; nothing that the server does ends this."""
        while True:
            self._resource = await self._find()
            try:
                await self._follow(self._resource)
            except* _KindChangedError:
                logger.info("%s in %s is to be looked up anew", self.reference, self.reference.namespace)

    async def _follow(self, resource: Resource) -> None:
        feed: Feed[ReferencedObject] = Feed(
            self._client,
            resource.path(self.reference.namespace),
            decode_referenced,
            self,
            field_selector=f"metadata.name={self.reference.name}",
            pace=Pace(verify=0),
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(feed.run())
            tasks.create_task(self._watch_refusals(feed, resource))
            while True:
                await self._changed.wait()
                self._changed.clear()
                await self._resolve()

    async def _find(self) -> Resource:
        reference = self.reference
        attempts = self._client.backoff.attempts()
        while True:
            try:
                resource = await find_kind(self._client, reference.group, reference.kind)
            except ClusterError as error:
                logger.warning("%s in %s cannot be looked up: %s", reference, reference.namespace, error)
                await attempts.wait(at_least=error.retry_after_seconds)
                continue
            if resource is not None:
                return resource
            group = f" in API group {reference.group}" if reference.group else ""
            self._settle(Unresolved("KindNotServed", f"the cluster serves no namespaced kind {reference.kind}{group}"))
            await asyncio.sleep(_SEARCH_AGAIN_SECONDS)

    async def _watch_refusals(self, feed: Feed[ReferencedObject], resource: Resource) -> None:
        """Say so while we may not read the object, or raise _KindChangedError when nobody may."""
        refused = False
        while True:
            if feed.refusal is not None and not refused:
                if await self._is_no_longer_served(resource):
                    raise _KindChangedError
                rule = resource.rule("list", "watch")
                self._settle(Unresolved("Forbidden", f"{self.reference} cannot be read: {feed.refusal}; {rule}"))
            elif refused and feed.refusal is None:
                self._changed.set()
            refused = feed.refusal is not None
            await asyncio.sleep(1)

    async def _is_no_longer_served(self, resource: Resource) -> bool:
        try:
            return await find_kind(self._client, self.reference.group, self.reference.kind) != resource
        except ClusterError:
            return False

    async def _resolve(self) -> None:
        found = self._object
        if found is None:
            missing = "TemplateNotFound" if self.reference.kind == "PodTemplate" else "WorkloadNotFound"
            self._settle(Unresolved(missing, f"there is no {self.reference} in namespace {self.reference.namespace}"))
            return
        attempts = self._client.backoff.attempts()
        while self._object is found:
            try:
                known = await self._workload(found)
                self._settle(known)
                if not isinstance(known, Unresolved) or known.reason != "Forbidden":
                    return
                await attempts.wait()  # no event tells that a right was given
            except ClusterError as error:
                logger.warning("the scale of %s cannot be read: %s", self.reference, error)
                await attempts.wait(at_least=error.retry_after_seconds)

    async def _workload(self, found: ReferencedObject) -> Workload | Unresolved:
        assert self._resource is not None
        if self.reference.kind == "PodTemplate" and not self._resource.group:
            return Workload(found.template, encoded=found.encoded)
        if self.reference.kind == "Job" and self._resource.group == "batch":
            parallelism = found.parallelism if found.parallelism is not None else 1
            return Workload(found.template, parallelism, encoded=found.encoded)
        if not self._resource.has_scale:
            return Unresolved(
                "ScaleUnsupported",
                f"{self._resource.label} have no /scale, so the size of {self.reference} is not known; refer to a kind "
                f"with a scale subresource, to a Job, or to a PodTemplate (spec.podTemplateRef)",
            )
        path = f"{self._resource.path(self.reference.namespace)}/{self.reference.name}/scale"
        try:
            scale: dict[str, Any] = await self._client.get(path)
        except ApiError as error:
            if error.forbidden:
                rule = self._resource.rule("get", subresource="/scale")
                return Unresolved("Forbidden", f"the scale of {self.reference} cannot be read: {error}; {rule}")
            if error.not_found:
                return Unresolved("WorkloadNotFound", f"{self.reference} has no scale: {error}")
            raise
        return Workload(found.template, int((scale.get("spec") or {}).get("replicas") or 0), encoded=found.encoded)

    def _settle(self, known: Workload | Unresolved) -> None:
        if known != self.known:
            self.known = known
            self._on_change(self.reference)


class References:
    """All objects that buffers refer to. `on_change` is called with the reference whose object changed."""

    def __init__(self, client: Client, on_change: Callable[[Reference], None]) -> None:
        self._client = client
        self._on_change = on_change
        self._followed: dict[Reference, tuple[_Followed, asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._wanted: set[Reference] = set()

    def want(self, references: Iterable[Reference]) -> None:
        """Follow exactly these from now on."""
        self._wanted = set(references)
        self._arrange()

    def known(self, reference: Reference) -> Workload | Unresolved:
        """Return what is known of an object."""
        followed = self._followed.get(reference)
        return followed[0].known if followed is not None else _PENDING

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._arrange()
            await asyncio.get_running_loop().create_future()

    def _arrange(self) -> None:
        if self._tasks is None:
            return
        for reference in self._wanted - self._followed.keys():
            followed = _Followed(reference, self._client, self._on_change)
            task = self._tasks.create_task(self._guard(followed), name=f"follow {reference}")
            self._followed[reference] = (followed, task)
        for reference in self._followed.keys() - self._wanted:
            _, task = self._followed.pop(reference)
            task.cancel()

    async def _guard(self, followed: _Followed) -> None:
        """Keep a bug in following one object from ending the operator."""
        attempts = self._client.backoff.attempts()
        while True:
            try:
                await followed.run()
            except Exception:
                logger.exception("following %s failed by a bug; starting over", followed.reference)
                await attempts.wait()
