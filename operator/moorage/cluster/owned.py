"""The objects that are made for our own, as they are stored: watched by label, found by name or by owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.cluster.wire import parse_resource_version

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of objects that are made, and where the API server has it."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """As objects say it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None, name: str = "") -> str:
        """Return the path of the collection in a namespace or in all, or of an object."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"
        return f"{place}/{name}" if name else place

    def rule(self, verbs: str) -> str:
        """Say which RBAC rule gives the operator these verbs."""
        group = self.group or '""'
        return f"give the operator's ClusterRole {verbs} on {self.plural} in API group {group}"


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """An object by its kind and name; the kind without its version, which may change."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class OwnedObject(msgspec.Struct, frozen=True):
    """An object as it is stored."""

    uid: str
    resource_version: int
    key: ObjectKey
    owner_uid: str
    """The object that controls it; empty when none does."""
    generation: int
    body: Body

    @property
    def metadata(self) -> Body:
        """Its metadata, without managed fields."""
        found: Body = self.body["metadata"]
        return found


_decode = msgspec.json.Decoder(dict[str, Any]).decode


def read_owned(body: Body, kind: str) -> OwnedObject:
    """Read an object."""
    meta = body["metadata"]
    meta.pop("managedFields", None)
    owners = meta.get("ownerReferences") or ()
    return OwnedObject(
        uid=meta["uid"],
        resource_version=parse_resource_version(meta.get("resourceVersion", "")),
        key=ObjectKey(kind, meta.get("namespace", ""), meta["name"]),
        owner_uid=next((each["uid"] for each in owners if each.get("controller")), ""),
        generation=int(meta.get("generation") or 0),
        body=body,
    )


def owned_decoder(kind: str) -> Callable[[bytes], OwnedObject]:
    """Return what makes a record of an encoded object."""
    return lambda encoded: read_owned(_decode(encoded), kind)


class OwnedObjects:
    """All that were made, by feeds and by what the API server answers when one is written.

    What is in `listeners` is called with the uid of the owner whose object came, changed or went.
    """

    def __init__(self) -> None:
        self.listeners: list[Callable[[str], None]] = []
        self._by_key: dict[ObjectKey, OwnedObject] = {}
        self._by_owner: dict[str, set[ObjectKey]] = {}

    def get(self, key: ObjectKey) -> OwnedObject | None:
        """Return an object, or None."""
        return self._by_key.get(key)

    def of(self, owner_uid: str) -> list[OwnedObject]:
        """Return the objects that an owner controls."""
        return [self._by_key[key] for key in sorted(self._by_owner.get(owner_uid, ()), key=str)]

    def put(self, found: OwnedObject) -> None:
        """Take in an object as it is now, unless a newer version of it is held."""
        held = self._by_key.get(found.key)
        if held is not None and held.uid == found.uid and held.resource_version > found.resource_version:
            return
        self._drop(held)
        self._by_key[found.key] = found
        self._by_owner.setdefault(found.owner_uid, set()).add(found.key)
        self._tell({found.owner_uid, held.owner_uid if held is not None else found.owner_uid})

    def delete(self, gone: OwnedObject) -> None:
        """Forget an object, unless it was made anew meanwhile."""
        held = self._by_key.get(gone.key)
        if held is not None and held.uid == gone.uid:
            self._drop(held)
            self._tell({held.owner_uid})

    def _tell(self, owners: set[str]) -> None:
        for listener in self.listeners:
            for owner in owners:
                listener(owner)

    def _drop(self, held: OwnedObject | None) -> None:
        if held is None:
            return
        self._by_key.pop(held.key, None)
        keys = self._by_owner.get(held.owner_uid, set())
        keys.discard(held.key)
        if not keys:
            self._by_owner.pop(held.owner_uid, None)


class OwnedSink:
    """Hands the objects of one feed on."""

    def __init__(self, objects: OwnedObjects) -> None:
        self._objects = objects
        self._records: dict[str, ObjectKey] = {}
        """By uid."""

    def replace(self, records: Mapping[str, OwnedObject]) -> None:
        """Hold exactly these objects."""
        for uid in self._records.keys() - records.keys():
            if (held := self.get(uid)) is not None:
                self._objects.delete(held)
        self._records = {}
        for record in records.values():
            self.put(record)

    def put(self, record: OwnedObject) -> None:
        """Hold a new or changed object."""
        self._records[record.uid] = record.key
        self._objects.put(record)

    def delete(self, record: OwnedObject) -> None:
        """Drop an object."""
        self._records.pop(record.uid, None)
        self._objects.delete(record)

    def get(self, uid: str) -> OwnedObject | None:
        """Return the record held for an object."""
        key = self._records.get(uid)
        held = self._objects.get(key) if key is not None else None
        return held if held is not None and held.uid == uid else None

    def snapshot(self) -> Mapping[str, OwnedObject]:
        """Return the objects held, by uid."""
        return {uid: held for uid in self._records if (held := self.get(uid)) is not None}
