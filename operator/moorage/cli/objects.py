"""Counted objects from documents: as they are when they come from a cluster, as they would be when from a manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.cli.convert import convert
from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.cli.manifests import Manifests, identity
from moorage.objects import AnyObject, DeviceClass, ObjectMeta, Pod, ResourceClaim, Service, VolumeClaim
from moorage.quantity import QuantityError
from moorage.quota.counting import (
    DeviceClasses,
    device_claim_use,
    object_use,
    pod_use,
    service_use,
    volume_claim_use,
)
from moorage.quota.ledger import Ledger
from moorage.quota.usage import ObjectUse, Shapes

_SINGULAR_ENDS = ("s", "x", "z", "ch", "sh")


def count_objects(documents: Iterable[Document], ledger: Ledger, *, namespace: str) -> None:
    """Put everything that quotas can count into a ledger.

    A manifest counts as the API server would store it, with all that controllers would make of it (see `manifests`).
    `namespace` is that of documents which name none. Raises BadInput.
    """
    given = list(documents)
    manifests = Manifests(given, namespace)
    # What is made comes first: where a manifest says the same name, as for the volume of a pod, it counts as it says.
    everything = [*(made for each in given for made in manifests.made_by(each)), *given]
    reader = Reader(everything, manifests, namespace)
    ledger.set_device_classes(reader.classes)
    for number, document in enumerate(everything):
        ledger.put(reader.read(document, number))


class _Names(msgspec.Struct, frozen=True):
    kind: str
    plural: str


class _DefinitionSpec(msgspec.Struct, frozen=True):
    group: str
    names: _Names


class _Definition(msgspec.Struct, frozen=True):
    spec: _DefinitionSpec


class Reader:
    """Makes typed objects and records of documents, as the API server would store them; raises BadInput.

    `documents` tell of DeviceClasses and definitions; `namespace` is that of documents which name none.
    """

    def __init__(self, documents: Iterable[Document], manifests: Manifests, namespace: str) -> None:
        self._manifests = manifests
        self._namespace = namespace
        self._shapes = Shapes()
        given = list(documents)
        classes = {
            each.name: convert(each, DeviceClass, each.body).spec.extended_resource_name
            for each in given
            if each.kind == "DeviceClass"
        }
        self.classes: DeviceClasses = classes or None
        """None when no document says anything of them."""
        self._plurals = dict(map(_definition, (each for each in given if each.kind == "CustomResourceDefinition")))

    def read(self, document: Document, number: int = 0) -> ObjectUse:
        """Return the record of an object; `number` tells apart those without names."""
        try:
            return self._use(document, number)
        except QuantityError as error:
            raise BadInput(f"{document.label}: {error}") from error

    def pod(self, document: Document, number: int = 0) -> Pod:
        """Return a pod."""
        pod = self._stored(convert(document, Pod, document.body), document, number)
        try:
            return self._manifests.admitted_pod(document, pod)
        except QuantityError as error:
            raise BadInput(f"{document.label}: {error}") from error

    def claim(self, document: Document, number: int = 0) -> VolumeClaim:
        """Return a claim for a volume."""
        claim = self._stored(convert(document, VolumeClaim, document.body), document, number)
        return self._manifests.admitted_claim(document, claim)

    def _use(self, document: Document, number: int) -> ObjectUse:
        kind, shapes = document.kind, self._shapes
        match (document.group, kind):
            case ("", "Pod"):
                return pod_use(self.pod(document, number), shapes)
            case ("", "Service"):
                return service_use(self._stored(convert(document, Service, document.body), document, number), shapes)
            case ("", "PersistentVolumeClaim"):
                return volume_claim_use(self.claim(document, number), shapes)
            case ("resource.k8s.io", "ResourceClaim"):
                devices = self._stored(convert(document, ResourceClaim, document.body), document, number)
                return device_claim_use(devices, self.classes, shapes)
        found = self._stored(convert(document, AnyObject, {"metadata": document.metadata}), document, number)
        plural = self._plurals.get((document.group, kind)) or plural_of(kind)
        label = f"{plural}.{document.group}" if document.group else plural
        return object_use(found, document.resource or label, kind, shapes)

    def _stored(self, found: Any, document: Document, number: int) -> Any:
        """Fill in what the API server would: where the object is, and an identity."""
        meta: ObjectMeta = found.metadata
        known = msgspec.structs.replace(
            meta,
            namespace=document.namespace(self._namespace),
            uid=identity(document, self._namespace) or f"document-{number}",
            resource_version="0",
        )
        return msgspec.structs.replace(found, metadata=known)


def _definition(document: Document) -> tuple[tuple[str, str], str]:
    """Return group and kind of what a definition defines, and its plural."""
    spec = convert(document, _Definition, document.body).spec
    return (spec.group, spec.names.kind), spec.names.plural


def plural_of(kind: str) -> str:
    """Guess the resource of a kind: `ingresses` for Ingress, `policies` for Policy, `gateways` for Gateway.

    As people name them, where Kubernetes' own guess differs; only a definition knows for sure.
    """
    lower = kind.lower()
    if lower == "endpoints":
        return lower
    if lower.endswith(_SINGULAR_ENDS):
        return f"{lower}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{lower[:-1]}ies"
    return f"{lower}s"
