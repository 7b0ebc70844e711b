"""Watches every resource that a quota counts, for as long as one does, and says how well each is known."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource, find_resource, is_aggregated
from moorage.cluster.errors import ClusterError
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.records import LookedOverRecords
from moorage.cluster.wire import parse_resource_version
from moorage.handlers.counting import UNFINISHED, LedgerSink, accepted, decoder
from moorage.handlers.residents import PodSink, Residents
from moorage.objects import DeviceClass
from moorage.quota.ledger import Ledger
from moorage.quota.names import DEVICE_CLAIMS, PODS
from moorage.quota.usage import ObjectUse, Shapes
from moorage.status.namespacequota import Trouble, View

logger = logging.getLogger(__name__)

STALE_SECONDS = 90.0
"""A feed that has heard nothing for so long is not believed: bookmarks come about every 60 seconds."""

LOOK_AGAIN_SECONDS = 10.0
"""How often a resource that is not served is looked for: its definition may come later."""

_LISTING = View(complete=False)
_DEVICE_CLASSES = "/apis/resource.k8s.io/{version}/deviceclasses"


class Watched:
    """One resource: found by discovery, then fed to the ledger, from one namespace each or from all."""

    def __init__(self, label: str, watches: Watches) -> None:
        self.label = label
        self.feeds: dict[str | None, Feed[ObjectUse]] = {}
        """By namespace; None for all of them."""
        self._watches = watches
        self._resource: Resource | None = None
        self._absent: View | None = None
        self._aggregated = False
        self._classes: _DeviceClassSink | None = None
        self._began = time.monotonic()
        self._hindrance = ""
        """Why it cannot be looked up."""

    def view(self, namespace: str | None = None) -> View:
        """Return how well its objects are known at this moment: in one namespace, or everywhere that is watched."""
        if self._absent is not None:
            return self._absent
        chosen = [feed for place, feed in self.feeds.items() if place is None or namespace in (None, place)]
        feeds: list[Feed[Any]] = [*chosen, *([self._classes.feed] if self._classes is not None else [])]
        trouble, message = next(filter(None, (self._trouble(feed) for feed in feeds)), (None, ""))
        complete = bool(self.feeds) and all(feed.synced for feed in feeds)
        if trouble is None and not complete and time.monotonic() - self._began > STALE_SECONDS:
            why = self._hindrance or next((feed.state for feed in feeds if not feed.synced), "starting")
            trouble = Trouble.STALE
            message = f"{self.label} could not be listed for more than {STALE_SECONDS:.0f} seconds ({why})"
        return View(
            complete=complete,
            finished_too=all(feed.held_selector == "" for feed in chosen),
            trouble=trouble,
            message=message,
            aggregated=self._aggregated,
        )

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self._began = time.monotonic()
            await self._watch(await self._find())

    async def _watch(self, resource: Resource) -> None:
        """Watch a resource until it is served under another version."""
        self._resource = resource
        async with asyncio.TaskGroup() as tasks:
            running = []
            if self.label == DEVICE_CLAIMS and self._watches.clusterwide:
                self._classes = _DeviceClassSink(self._watches.client, resource, changed=self._classes_changed)
                running.append(tasks.create_task(self._classes.feed.run(), name="feed deviceclasses"))
                await self._classes.feed.wait_synced()
            self.feeds = {place: self._feed(resource, place) for place in self._watches.places}
            running += [tasks.create_task(feed.run(), name=f"feed {feed.path}") for feed in self.feeds.values()]
            await self._moved_from(resource)
            for task in running:
                task.cancel()

    async def _moved_from(self, resource: Resource) -> None:
        """Wait until a resource whose version is gone is served under another: its definition was replaced."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            if any(feed.refusal is not None and feed.refusal.not_found for feed in self.feeds.values()):
                with contextlib.suppress(ClusterError):
                    found = await find_resource(self._watches.client, self.label)
                    if found is not None and found.version != resource.version:
                        return

    def _feed(self, resource: Resource, namespace: str | None) -> Feed[ObjectUse]:
        watches = self._watches
        classes = self._classes.classes if self._classes is not None else None
        return Feed(
            watches.client,
            resource.path(namespace),
            decoder(resource, watches.shapes, classes),
            self._sink(namespace),
            field_selector=watches.pod_selector if self.label == PODS else "",
            accept=accepted(resource),
            pace=watches.pace,
        )

    def _sink(self, namespace: str | None) -> LedgerSink:
        watches = self._watches
        if self.label == PODS:
            return PodSink(watches.ledger, watches.residents, namespace=namespace, changed=watches.changed)
        return LedgerSink(watches.ledger, self.label, namespace=namespace, changed=watches.changed)

    async def _find(self) -> Resource:
        attempts = self._watches.client.backoff.attempts()
        while True:
            try:
                resource = await find_resource(self._watches.client, self.label)
                aggregated = resource is not None and await self._watches.is_aggregated(resource)
            except ClusterError as error:
                self._hindrance = str(error)
                await attempts.wait(at_least=error.retry_after_seconds)
                continue
            self._hindrance = ""
            if resource is not None:
                self._absent, self._aggregated = None, aggregated
                return resource
            if self.label == DEVICE_CLAIMS:
                # Extended resources are counted of claims too, and a cluster without claims has none.
                self._absent = View()
            else:
                message = f"the cluster serves no namespaced resource {self.label}; it is counted once it does"
                self._absent = View(complete=False, trouble=Trouble.NOT_SERVED, message=message)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def _trouble(self, feed: Feed[Any]) -> tuple[Trouble, str] | None:
        refusal = feed.refusal
        if refusal is not None and refusal.not_found:
            return Trouble.NOT_SERVED, f"{self.label} is not served any more; it is counted again once it is"
        if refusal is not None:
            rule = self._resource.rule("list", "watch") if self._resource is not None else ""
            if self._classes is not None and feed is self._classes.feed:
                rule = rule.replace("resourceclaims", "deviceclasses")
            return Trouble.FORBIDDEN, f"{self.label} cannot be read ({refusal}): {rule}"
        if feed.synced and feed.last_byte_at is not None and time.monotonic() - feed.last_byte_at > STALE_SECONDS:
            silence = f"nothing has been heard of {self.label} for more than {STALE_SECONDS:.0f} seconds"
            return Trouble.STALE, f"{silence} ({feed.state})"
        return None

    def _classes_changed(self) -> None:
        if self._classes is not None:
            self._watches.ledger.set_device_classes(self._classes.classes)
            self._watches.changed()
        for feed in self.feeds.values():
            feed.relist("device classes changed, and with them what claims count for")


class Watches:
    """All that is watched for quotas: `want` says what, `view` how well it is known.

    `changed` is called after each change of the ledger.
    """

    def __init__(
        self, client: Client, ledger: Ledger, *, namespaces: Iterable[str], changed: Callable[[], None], pace: Pace
    ) -> None:
        self.client = client
        self.ledger = ledger
        self.places: tuple[str | None, ...] = tuple(namespaces) or (None,)
        """The namespaces that are watched, each for itself; None for all."""
        self.changed = changed
        self.pace = pace
        self.residents = Residents(ledger)
        self.shapes = Shapes()
        self.pod_selector = UNFINISHED
        self._watched: dict[str, tuple[Watched, asyncio.Task[None] | None]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def want(self, resources: Iterable[str], *, finished_pods: bool) -> None:
        """Watch exactly these resources from now on, pods always; finished pods only when they count."""
        wanted = {PODS, *resources}
        for label in wanted - self._watched.keys():
            self._watched[label] = (Watched(label, self), None)
        for label in self._watched.keys() - wanted:
            _, task = self._watched.pop(label)
            if task is not None:
                task.cancel()
            self.ledger.replace([], resource=label)
        self.pod_selector = "" if finished_pods else UNFINISHED
        for feed in self._watched[PODS][0].feeds.values():
            feed.set_field_selector(self.pod_selector)
        self._arrange()

    def want_labels(self, keys: frozenset[str] | None) -> bool:
        """Keep at least these labels of pods from now on, None for none at all.

        Tells whether pods are listed anew, since there are labels among them that were not kept before.
        """
        held = self.shapes.label_keys
        if keys is None or (held is not None and keys <= held):
            self.shapes.label_keys = keys if keys is None else held
            return False
        self.shapes.label_keys = keys | (held or frozenset())
        for feed in self.pod_feeds:
            feed.relist("further labels of pods are needed")
        return True

    def view(self, resource: str, namespace: str | None = None) -> View:
        """Return how well a resource is known, in one namespace or everywhere that is watched."""
        watched = self._watched.get(resource)
        return watched[0].view(namespace) if watched is not None else _LISTING

    def views(self) -> Mapping[tuple[str, str | None], View]:
        """Return how well each watched resource is known, by resource and place (a namespace, or None for all)."""
        return {
            (label, place): watched.view(place)
            for label, (watched, _) in self._watched.items()
            for place in self.places
        }

    def feeds_of(self, resource: str, namespace: str | None = None) -> list[Feed[ObjectUse]]:
        """Return the feeds of a resource that tell of a namespace, or all of them."""
        watched = self._watched.get(resource)
        if watched is None:
            return []
        return [feed for place, feed in watched[0].feeds.items() if place is None or namespace in (None, place)]

    @property
    def clusterwide(self) -> bool:
        """Whether all namespaces are watched; what belongs to none of them is read only then."""
        return self.places == (None,)

    async def is_aggregated(self, resource: Resource) -> bool:
        """Whether a resource is served by an aggregated API server, as far as we may find out."""
        return self.clusterwide and await is_aggregated(self.client, resource)

    @property
    def pod_feeds(self) -> list[Feed[ObjectUse]]:
        """The feeds of pods that run now."""
        return list(self._watched[PODS][0].feeds.values())

    @property
    def feeds(self) -> list[Feed[ObjectUse]]:
        """The feeds that run now."""
        return [feed for watched, _ in self._watched.values() for feed in watched.feeds.values()]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._arrange()
            await asyncio.get_running_loop().create_future()

    def _arrange(self) -> None:
        if self._tasks is None:
            return
        for label, (watched, task) in self._watched.items():
            if task is None:
                guard = self._tasks.create_task(self._guard(watched), name=f"watch {label}")
                self._watched[label] = (watched, guard)

    async def _guard(self, watched: Watched) -> None:
        """Keep a bug in watching one resource from ending the operator."""
        attempts = self.client.backoff.attempts()
        try:
            while True:
                try:
                    await watched.run()
                except Exception:
                    logger.exception("watching %s failed by a bug; starting over", watched.label)
                    await attempts.wait()
        finally:
            if watched.label not in self._watched:
                # Feeds end a moment after they are told to, and may have taken something in meanwhile.
                self.ledger.replace([], resource=watched.label)


class _ClassRecord(msgspec.Struct, frozen=True):
    uid: str
    resource_version: int
    name: str
    extended_resource_name: str | None


_decode_class = msgspec.json.Decoder(DeviceClass).decode


def _read_class(encoded: bytes) -> _ClassRecord:
    found = _decode_class(encoded)
    meta = found.metadata
    version = parse_resource_version(meta.resource_version)
    return _ClassRecord(meta.uid, version, meta.name, found.spec.extended_resource_name)


class _DeviceClassSink(LookedOverRecords[_ClassRecord]):
    """Keeps which DeviceClasses there are; claims are counted by them."""

    def __init__(self, client: Client, claims: Resource, *, changed: Callable[[], None]) -> None:
        super().__init__()
        self.classes: dict[str, str | None] = {}
        self._changed = changed
        path = _DEVICE_CLASSES.format(version=claims.version)
        self.feed: Feed[_ClassRecord] = Feed(client, path, _read_class, self, pace=Pace(verify=0))

    def _look(self) -> None:
        classes = {record.name: record.extended_resource_name for record in self._records.values()}
        if classes != self.classes:
            # In place: the decoder of claims looks here.
            self.classes.clear()
            self.classes.update(classes)
            self._changed()
