"""Keeps objects as they should be: makes them, puts back what others change, and removes what is not wanted any more.

Objects are applied on the server side. Whether somebody changed one is seen by its generation, which the API server
raises with each change of its spec: comparing specs would take every default and every spelling for a change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.cluster.client import Client
from moorage.cluster.contests import Contests, contested
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.owned import Kind, ObjectKey, OwnedObject, OwnedObjects, read_owned

logger = logging.getLogger(__name__)

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an owner's objects are not as they should be: a condition's reason, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Applied:
    """What was written last, and what the API server made of it."""

    document: Document
    uid: str
    generation: int


@dataclass(slots=True)
class ApplierCounters:
    """What happened since the start."""

    applied: int = 0
    deleted: int = 0
    failures: int = 0


class _NameTakenError(Exception):
    """There is an object of that name that somebody else made."""


class Applier:
    """Makes the objects of each owner what `want` says. `settled` is called with an owner whose trouble changed."""

    def __init__(self, client: Client, objects: OwnedObjects, *, settled: Callable[[str], None]) -> None:
        self.counters = ApplierCounters()
        self._client = client
        self._objects = objects
        self._settled = settled
        self._kinds: dict[str, Kind] = {}
        self._wanted: dict[str, dict[ObjectKey, Document]] = {}
        """By the owner's uid; an owner who is not in it is left alone."""
        self._applied: dict[ObjectKey, _Applied] = {}
        self._contests: Contests[ObjectKey] = Contests(client.backoff)
        self._later: dict[str, asyncio.TimerHandle] = {}
        """When owners are looked at again whose objects somebody keeps changing."""
        self._troubles: dict[str, Trouble] = {}
        self._dirty: set[str] = set()
        self._busy: set[str] = set()
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(8)
        objects.listeners.append(self._mark)

    def know(self, kind: Kind) -> None:
        """Learn where a kind is, or in which other version."""
        self._kinds[kind.kind] = kind

    def want(self, owner_uid: str, documents: list[Document]) -> None:
        """Have exactly these objects for an owner from now on; what was made for it besides is removed."""
        wanted = {key_of(each): each for each in documents}
        if self._wanted.get(owner_uid) != wanted:
            self._wanted[owner_uid] = wanted
            self._mark(owner_uid)

    def leave(self, owner_uid: str) -> None:
        """Leave an owner's objects as they are."""
        self._wanted.pop(owner_uid, None)
        self._dirty.discard(owner_uid)
        if (timer := self._later.pop(owner_uid, None)) is not None:
            timer.cancel()
        self._clear(owner_uid)

    def forget(self, owner_uid: str) -> None:
        """Leave the objects of an owner that is gone to the garbage collector."""
        for key in self._wanted.get(owner_uid, ()):
            self._applied.pop(key, None)
            self._contests.forget(key)
        self.leave(owner_uid)

    def trouble(self, owner_uid: str) -> Trouble | None:
        """Return why an owner's objects are not as they should be, if they are not."""
        return self._troubles.get(owner_uid)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    for owner in self._dirty - self._busy:
                        self._busy.add(owner)
                        group.create_task(self._converge(owner), name=f"objects of {owner}")
        finally:
            for timer in self._later.values():
                timer.cancel()

    def _mark(self, owner_uid: str) -> None:
        if owner_uid in self._wanted and owner_uid not in self._dirty:
            self._dirty.add(owner_uid)
            self._wake.set()

    async def _converge(self, owner: str) -> None:
        attempts = self._client.backoff.attempts()
        try:
            while owner in self._dirty:
                self._dirty.discard(owner)
                try:
                    async with self._slots:
                        await self._converge_once(owner)
                    self._follow_contests(owner)
                    attempts.reset()
                except (ClusterError, _NameTakenError) as error:
                    self.counters.failures += 1
                    self._report(owner, _trouble_of(error))
                    self._retry(owner)
                    await attempts.wait(at_least=getattr(error, "retry_after_seconds", 0.0))
                except Exception:
                    self.counters.failures += 1
                    logger.exception("the objects of %s could not be made, by a bug", owner)
                    self._retry(owner)
                    await attempts.wait()
        finally:
            self._busy.discard(owner)
            if owner in self._dirty:
                self._wake.set()

    def _retry(self, owner: str) -> None:
        if owner in self._wanted:
            self._dirty.add(owner)

    def _follow_contests(self, owner: str) -> None:
        """Tell of objects that somebody keeps changing, and look again when they may be put back or left alone."""
        now = _now()
        keys = list(self._wanted.get(owner, ()))
        told = [
            contested(str(key), key.namespace, group=self._kinds[key.kind].group)
            for key in keys
            if self._contests.is_contested(key, now)
        ]
        if told:
            self._report(owner, Trouble("ChangedByOthers", "; ".join(told)))
        else:
            self._clear(owner)
        times = [self._contests.pause(key, now) or self._contests.peace_in(key, now) for key in keys]
        if (timer := self._later.pop(owner, None)) is not None:
            timer.cancel()
        if seconds := min((each for each in times if each is not None), default=None):
            self._later[owner] = asyncio.get_running_loop().call_later(seconds, self._mark, owner)

    async def _converge_once(self, owner: str) -> None:
        """Remove, then make, so that nothing is there twice.

        Raises the first error, after all has been tried.
        """
        wanted = self._wanted.get(owner)
        if wanted is None:
            return
        errors: list[Exception] = []
        for stored in self._objects.of(owner):
            if stored.key not in wanted:
                try:
                    await self._remove(stored)
                except ClusterError as error:
                    errors.append(error)
        for key, document in wanted.items():
            try:
                await self._apply(owner, key, document)
            except (ClusterError, _NameTakenError) as error:
                errors.append(error)
        if errors:
            raise errors[0]

    async def _remove(self, stored: OwnedObject) -> None:
        kind = self._kinds[stored.key.kind]
        self._applied.pop(stored.key, None)
        self._contests.forget(stored.key)
        logger.info("removing %s in %s, which is not wanted any more", stored.key, stored.key.namespace)
        try:
            await self._client.delete(kind.path(stored.key.namespace, stored.key.name), uid=stored.uid)
        except ApiError as error:
            if not (error.not_found or error.conflict):
                raise
        self.counters.deleted += 1
        self._objects.delete(stored)

    async def _apply(self, owner: str, key: ObjectKey, document: Document) -> None:
        stored, applied = self._objects.get(key), self._applied.get(key)
        is_edit = applied is not None and applied.document == document
        if applied is not None and is_edit and (_is_untouched(stored, applied) or self._contests.pause(key, _now())):
            return
        kind = self._kinds[key.kind]
        path = kind.path(key.namespace, key.name)
        if stored is None or stored.owner_uid != owner:
            await self._require_ours(path, owner, key)
        if is_edit:
            times = self._contests.put_back(key, _now())
            again = f" ({times} times in a row)" if times > 1 else ""
            logger.warning("%s in %s was changed by somebody else and is put back%s", key, key.namespace, again)
        answer = read_owned(await self._client.apply(path, document), key.kind)
        self.counters.applied += 1
        self._applied[key] = _Applied(document, answer.uid, answer.generation)
        self._objects.put(answer)

    async def _require_ours(self, path: str, owner: str, key: ObjectKey) -> None:
        """Make sure that nothing is overwritten that somebody else made. Raises _NameTakenError."""
        try:
            found = read_owned(await self._client.get(path), key.kind)
        except ApiError as error:
            if error.not_found:
                return
            raise
        ours = self._applied.get(key)
        if found.owner_uid != owner and not (ours is not None and ours.uid == found.uid):
            raise _NameTakenError(f"{key} exists and was not made for this buffer; rename one of them")

    def _report(self, owner: str, trouble: Trouble) -> None:
        if owner in self._wanted and self._troubles.get(owner) != trouble:
            logger.warning("objects of %s: %s", owner, trouble.message)
            self._troubles[owner] = trouble
            self._settled(owner)

    def _clear(self, owner: str) -> None:
        if self._troubles.pop(owner, None) is not None:
            self._settled(owner)


def key_of(document: Mapping[str, Any]) -> ObjectKey:
    """Return what an object is known by."""
    meta = document["metadata"]
    return ObjectKey(document["kind"], meta.get("namespace", ""), meta["name"])


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_untouched(stored: OwnedObject | None, applied: _Applied) -> bool:
    """Whether an object is as it was written: its spec by the generation, its metadata by looking."""
    if stored is None or stored.uid != applied.uid or stored.generation != applied.generation:
        return False
    wanted = applied.document["metadata"]
    return all(
        (wanted.get(part) or {}).items() <= (stored.metadata.get(part) or {}).items()
        for part in ("labels", "annotations")
    ) and all(
        any(reference.items() <= each.items() for each in stored.metadata.get("ownerReferences") or ())
        for reference in wanted.get("ownerReferences") or ()
    )


def _trouble_of(error: Exception) -> Trouble:
    if isinstance(error, _NameTakenError):
        return Trouble("NameTaken", str(error))
    if isinstance(error, ApiError) and error.forbidden:
        return Trouble("Forbidden", f"objects cannot be written: {error}")
    return Trouble("WriteFailed", f"objects cannot be written, which is tried again: {error}")
