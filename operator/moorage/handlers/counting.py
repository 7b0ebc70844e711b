"""From the feeds of counted objects to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from moorage.cluster.client import JSON, METADATA_ONLY
from moorage.cluster.discovery import Resource
from moorage.objects import AnyObject, Pod, ResourceClaim, Service, VolumeClaim
from moorage.quota.counting import (
    DeviceClasses,
    device_claim_use,
    object_use,
    pod_use,
    service_use,
    volume_claim_use,
)
from moorage.quota.ledger import Ledger
from moorage.quota.names import DEVICE_CLAIMS, PODS, SERVICES, VOLUME_CLAIMS
from moorage.quota.usage import ObjectUse, Shapes

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector for pods that have not ended; one that ends then arrives as deleted."""

_decode_pod = msgspec.json.Decoder(Pod).decode
_decode_service = msgspec.json.Decoder(Service).decode
_decode_volume_claim = msgspec.json.Decoder(VolumeClaim).decode
_decode_device_claim = msgspec.json.Decoder(ResourceClaim).decode
_decode_any = msgspec.json.Decoder(AnyObject).decode

Decode = Callable[[bytes], ObjectUse]


def accepted(resource: Resource) -> str:
    """Return what to ask the API server for: metadata alone where the rest does not count."""
    return JSON if resource.label in (PODS, SERVICES, VOLUME_CLAIMS, DEVICE_CLAIMS) else METADATA_ONLY


def decoder(resource: Resource, shapes: Shapes, classes: DeviceClasses) -> Decode:
    """Return what makes a record of an encoded object of a resource.

    It raises msgspec.MsgspecError or QuantityError for one that cannot be read.
    """
    match resource.label:
        case "pods":
            return lambda encoded: pod_use(_decode_pod(encoded), shapes)
        case "services":
            return lambda encoded: service_use(_decode_service(encoded), shapes)
        case "persistentvolumeclaims":
            return lambda encoded: volume_claim_use(_decode_volume_claim(encoded), shapes)
        case "resourceclaims.resource.k8s.io":
            return lambda encoded: device_claim_use(_decode_device_claim(encoded), classes, shapes)
    return lambda encoded: object_use(_decode_any(encoded), resource.label, resource.kind, shapes)


class LedgerSink:
    """Hands the objects of one feed, of one namespace or of all, to the ledger; `changed` is called after each."""

    def __init__(self, ledger: Ledger, resource: str, *, namespace: str | None, changed: Callable[[], None]) -> None:
        self._ledger = ledger
        self._resource = resource
        self._namespace = namespace
        self._changed = changed

    def replace(self, records: Mapping[str, ObjectUse]) -> None:
        """Hold exactly these objects."""
        self._ledger.replace(records.values(), resource=self._resource, namespace=self._namespace)
        self._changed()

    def put(self, record: ObjectUse) -> None:
        """Hold a new or changed object."""
        self._ledger.put(record)
        self._changed()

    def delete(self, record: ObjectUse) -> None:
        """Drop an object."""
        self._ledger.delete(record.uid, self._resource)
        self._changed()

    def get(self, uid: str) -> ObjectUse | None:
        """Return the record held for an object."""
        return self._ledger.get(uid, self._resource)

    def snapshot(self) -> Mapping[str, ObjectUse]:
        """Return the objects held, by uid."""
        return self._ledger.objects(self._resource, self._namespace)
