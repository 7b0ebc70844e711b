"""Follows one object that buffers refer to: its pod template and, for a workload, its size.

The object is watched on its own (a field selector on its name), or with all of its kind in the namespace when buffers
refer to several of these. Its template is tried on the API server. A workload without a template has one in its pods,
which its /scale selects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource, find_kind
from moorage.cluster.errors import ClusterError
from moorage.cluster.reference import PENDING, Reference
from moorage.cluster.scale import read_scale
from moorage.cluster.selected_pods import OneSelection, SelectedPod
from moorage.cluster.shared_feed import SharedFeed, SharedFeeds, Wanted
from moorage.cluster.templates import template_spec
from moorage.cluster.unit_shape import UnitShape
from moorage.cluster.wire import parse_resource_version
from moorage.status.findings import RESOLVING
from moorage.status.workload import Unresolved, Workload

logger = logging.getLogger(__name__)

_SEARCH_AGAIN_SECONDS = 10.0
"""How often a kind that is not served is looked for: its CRD may come later."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    template: msgspec.Raw = msgspec.Raw(b"null")
    parallelism: int | None = None


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    """As much of any referenced object as a buffer needs; a custom kind's fields may mean something else."""

    metadata: _Meta = _Meta()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    template: msgspec.Raw = msgspec.Raw(b"null")


class ObjectRecord(msgspec.Struct, frozen=True):
    """What is kept of a referenced object."""

    name: str
    uid: str
    resource_version: int
    generation: int
    template: bytes
    """Its pod template in JSON; empty when it has none."""
    parallelism: int | None


_decode_object = msgspec.json.Decoder(_Object).decode
_decode_spec = msgspec.json.Decoder(_Spec).decode


def decode_referenced(encoded: bytes) -> ObjectRecord:
    """Read a PodTemplate, a workload or a custom object.

    A custom kind's `spec` and `template` may be anything; what is no pod template counts as none. Raises
    msgspec.MsgspecError when even the metadata cannot be read.
    """
    found = _decode_object(encoded)
    spec = _Spec()
    with suppress(msgspec.MsgspecError):
        spec = _decode_spec(found.spec)
    return ObjectRecord(
        name=found.metadata.name,
        uid=found.metadata.uid,
        resource_version=parse_resource_version(found.metadata.resource_version),
        generation=found.metadata.generation,
        template=_template(found.template) or _template(spec.template),
        parallelism=spec.parallelism,
    )


def _template(encoded: msgspec.Raw) -> bytes:
    with suppress(msgspec.MsgspecError):
        if template_spec(bytes(encoded)) is not None:
            return bytes(encoded)
    return b""


class _KindChangedError(Exception):
    """A kind is no longer served as it was: its definition was deleted or has other versions."""


class FollowedObject:
    """The sink of a feed of `feeds`, and what is known of the object; `on_change` is called when that changes."""

    def __init__(
        self,
        reference: Reference,
        client: Client,
        feeds: SharedFeeds[ObjectRecord],
        pods: SharedFeeds[SelectedPod],
        *,
        turns: asyncio.Semaphore,
        on_change: Callable[[], None],
    ) -> None:
        self.reference = reference
        self.known: Workload | Unresolved = PENDING
        self._client = client
        self._feeds = feeds
        self._on_change = on_change
        self._object: ObjectRecord | None = None
        self._listed = False
        """Whether it is known if there is such an object."""
        self._generation = 0
        """Of the object when it had the template that its shape is of: a new one has to be tried before it counts."""
        self._changed = asyncio.Event()
        self._pods = OneSelection(pods, reference.namespace, on_change=self._changed.set)
        self._shape = UnitShape(client, reference.namespace, turns=turns, on_change=self._note_change)

    # The sink of the feed

    def replace(self, records: Mapping[str, ObjectRecord]) -> None:
        """Hold this object, or none."""
        self._listed = True
        self._take(next(iter(records.values()), None))

    def put(self, record: ObjectRecord) -> None:
        """Hold the object in a new version."""
        self._take(record)

    def delete(self, record: ObjectRecord) -> None:
        """Drop the object."""
        self._take(None)

    def get(self, uid: str) -> ObjectRecord | None:
        """Return the record held for a uid."""
        return self._object if self._object is not None and self._object.uid == uid else None

    def snapshot(self) -> Mapping[str, ObjectRecord]:
        """Return the record held, by uid."""
        return {self._object.uid: self._object} if self._object is not None else {}

    def _take(self, record: ObjectRecord | None) -> None:
        self._object = record
        self._shape.want(record.template if record is not None else b"")
        self._note_change()

    def _note_change(self) -> None:
        if self._object is not None and self._object.template == self._shape.tried:
            self._generation = self._object.generation
        self._changed.set()

    # The life of it

    async def run(self) -> None:
        """Follow the object until cancelled; nothing that the server does ends this."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._shape.run())
            while True:
                resource = await self._find()
                try:
                    await self._follow(resource)
                except* _KindChangedError:
                    logger.info("%s in %s is to be looked up anew", self.reference, self.reference.namespace)

    async def _follow(self, resource: Resource) -> None:
        path, name = resource.path(self.reference.namespace), self.reference.name
        wanted: Wanted[ObjectRecord] = Wanted(lambda found: found.name == name, field_selector=f"metadata.name={name}")
        self._listed = False
        feed = self._feeds.join(path, self, wanted)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch_refusals(feed, resource))
                while True:
                    await self._changed.wait()
                    self._changed.clear()
                    await self._resolve(resource)
        finally:
            self._feeds.leave(path, self)
            self._pods.close()

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

    async def _watch_refusals(self, feed: SharedFeed[ObjectRecord], resource: Resource) -> None:
        """Say so while we may not read the object or its pods, or raise _KindChangedError when nobody may."""
        refused = pods_refused = False
        while True:
            if feed.refusal is not None and not refused:
                if await self._is_no_longer_served(resource):
                    raise _KindChangedError
                rule = resource.rule("list", "watch")
                self._settle(Unresolved("Forbidden", f"{self.reference} cannot be read: {feed.refusal}; {rule}"))
            elif refused and feed.refusal is None:
                self._changed.set()
            refused = feed.refusal is not None
            if pods_refused != self._pods.is_refused:
                pods_refused = self._pods.is_refused
                self._changed.set()
            await asyncio.sleep(1)

    async def _is_no_longer_served(self, resource: Resource) -> bool:
        try:
            return await find_kind(self._client, self.reference.group, self.reference.kind) != resource
        except ClusterError:
            return False

    async def _resolve(self, resource: Resource) -> None:
        if not self._listed:
            return  # such as when a right was given and the list is on its way
        found = self._object
        if found is None:
            missing = "TemplateNotFound" if self.reference.kind == "PodTemplate" else "WorkloadNotFound"
            self._settle(Unresolved(missing, f"there is no {self.reference} in namespace {self.reference.namespace}"))
            return
        attempts = self._client.backoff.attempts()
        while self._object is found:
            try:
                known = await self._workload(found, resource)
                self._settle(known)
                if not isinstance(known, Unresolved) or known.reason != "Forbidden":
                    return
                await attempts.wait()  # no event tells that a right was given
            except ClusterError as error:
                logger.warning("the scale of %s cannot be read: %s", self.reference, error)
                await attempts.wait(at_least=error.retry_after_seconds)

    async def _workload(self, found: ObjectRecord, resource: Resource) -> Workload | Unresolved:
        shape = self._shape.known
        if shape is None:
            return PENDING
        if self.reference.kind == "PodTemplate" and not resource.group:
            return Workload(shape.spec, None, shape.encoded, shape.admission, self._generation)
        if self.reference.kind == "Job" and resource.group == "batch":
            replicas = found.parallelism if found.parallelism is not None else 1
            selector = f"batch.kubernetes.io/job-name={self.reference.name}"
            return Workload(shape.spec, replicas, shape.encoded, shape.admission, selector=selector)
        scale = await read_scale(self._client, resource, self.reference)
        if isinstance(scale, Unresolved):
            return scale
        if not found.template and scale.selector:
            shape = self._pods.shape(scale.selector)
            if shape is None:
                return Unresolved(RESOLVING, f"the pods of {self.reference} are being read", pending=True)
        return Workload(shape.spec, scale.replicas, shape.encoded, shape.admission, selector=scale.selector)

    def _settle(self, known: Workload | Unresolved) -> None:
        if known != self.known:
            self.known = known
            self._on_change()
