"""The native ResourceQuotas that exist, as far as they are compared with ours."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from moorage.cluster.records import HeldRecords
from moorage.cluster.wire import parse_resource_version
from moorage.objects import ResourceList
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import Requirement
from moorage.resources import amounts


class _Expression(msgspec.Struct, frozen=True, rename="camel"):
    scope_name: str
    operator: str
    values: list[str] | None = None


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_expressions: list[_Expression] | None = None


class _Labels(msgspec.Struct, frozen=True):
    managed_by: str | None = msgspec.field(default=None, name="app.kubernetes.io/managed-by")


class _Owner(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: _Labels | None = None
    owner_references: list[_Owner] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    hard: ResourceList | None = None
    scopes: list[str] | None = None
    scope_selector: _Selector | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    hard: ResourceList | None = None
    used: ResourceList | None = None


class _ResourceQuota(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_ResourceQuota).decode


def read_native(encoded: bytes) -> NativeQuota:
    """Read a ResourceQuota.

    Raises msgspec.MsgspecError, and QuantityError for an amount that does not parse.
    """
    found = _decode(encoded)
    owner = _owner(found.metadata)
    selector = found.spec.scope_selector
    expressions = selector.match_expressions if selector is not None else None
    return NativeQuota(
        uid=found.metadata.uid,
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        resource_version=parse_resource_version(found.metadata.resource_version),
        requirements=frozenset(
            [
                *(Requirement(scope) for scope in found.spec.scopes or ()),
                *(
                    Requirement(each.scope_name, each.operator, frozenset(each.values or ()))
                    for each in expressions or ()
                ),
            ]
        ),
        used=amounts(found.status.used),
        hard=amounts(found.spec.hard),
        hard_in_force=amounts(found.status.hard),
        is_managed=found.metadata.labels is not None and found.metadata.labels.managed_by == "moorage",
        owner=owner.name if owner is not None else "",
        owner_uid=owner.uid if owner is not None else "",
    )


def _owner(meta: _Meta) -> _Owner | None:
    owners = (each for each in meta.owner_references or () if each.controller and each.kind == "NamespaceQuota")
    return next(owners, None)


class NativeQuotas:
    """Holds native quotas by namespace; `changed` is called with the namespace whose quotas changed."""

    def __init__(self) -> None:
        self.changed: Callable[[str], None] = lambda _: None
        self._quotas: dict[str, dict[str, NativeQuota]] = {}

    def of(self, namespace: str) -> Collection[NativeQuota]:
        """Return the native quotas of a namespace."""
        return self._quotas.get(namespace, {}).values()

    def named(self, namespace: str, name: str) -> NativeQuota | None:
        """Return the native quota of this name."""
        return next((each for each in self.of(namespace) if each.name == name), None)

    def put(self, quota: NativeQuota) -> None:
        """Hold a new or changed quota."""
        self._quotas.setdefault(quota.namespace, {})[quota.uid] = quota
        self.changed(quota.namespace)

    def delete(self, quota: NativeQuota) -> None:
        """Drop a quota."""
        held = self._quotas.get(quota.namespace, {})
        held.pop(quota.uid, None)
        if not held:
            self._quotas.pop(quota.namespace, None)
        self.changed(quota.namespace)


class NativeQuotaSink(HeldRecords[NativeQuota]):
    """Hands the native quotas of one feed, of one namespace or of all, to the book."""

    def __init__(self, quotas: NativeQuotas) -> None:
        super().__init__()
        self._quotas = quotas

    def put(self, record: NativeQuota) -> None:
        """Hold a new or changed quota."""
        super().put(record)
        self._quotas.put(record)

    def delete(self, record: NativeQuota) -> None:
        """Drop a quota."""
        super().delete(record)
        self._quotas.delete(record)
