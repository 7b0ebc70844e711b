"""Counted objects from documents: as they are when they come from a cluster, as they would be when from a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.cli.convert import convert
from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
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
from moorage.quota.usage import ObjectUse, Shapes
from moorage.resources import with_defaults

_WORKLOADS = {
    ("apps", "Deployment"): "replicas",
    ("apps", "ReplicaSet"): "replicas",
    ("apps", "StatefulSet"): "replicas",
    ("", "ReplicationController"): "replicas",
    ("batch", "Job"): "parallelism",
}
_MOST_PODS = 100_000
"""A manifest that would make more pods is taken for a mistake."""


def read_objects(documents: Iterable[Document], *, namespace: str) -> list[ObjectUse]:
    """Read everything that quotas can count.

    A workload that is a manifest, not an object of a cluster, counts with the pods (and claims) it would make.
    `namespace` is that of documents which name none. Raises BadInput.
    """
    given = list(documents)
    everything = [*given, *(made for each in given for made in _made_by(each, namespace))]
    reader = _Reader(everything, namespace)
    return [reader.read(document, number) for number, document in enumerate(everything)]


class _Names(msgspec.Struct, frozen=True):
    kind: str
    plural: str


class _Definition(msgspec.Struct, frozen=True):
    group: str
    names: _Names


class _Reader:
    def __init__(self, documents: list[Document], namespace: str) -> None:
        self._namespace = namespace
        self._shapes = Shapes()
        self._classes: DeviceClasses = {
            each.name: convert(each, DeviceClass, each.body).spec.extended_resource_name
            for each in documents
            if each.kind == "DeviceClass"
        }
        self._plurals = dict(map(_definition, (each for each in documents if each.kind == "CustomResourceDefinition")))

    def read(self, document: Document, number: int) -> ObjectUse:
        try:
            return self._use(document, number)
        except QuantityError as error:
            raise BadInput(f"{document.label}: {error}") from error

    def _use(self, document: Document, number: int) -> ObjectUse:
        kind, shapes = document.kind, self._shapes
        match (document.group, kind):
            case ("", "Pod"):
                pod = self._stored(convert(document, Pod, document.body), document, number)
                return pod_use(msgspec.structs.replace(pod, spec=with_defaults(pod.spec)), shapes)
            case ("", "Service"):
                return service_use(self._stored(convert(document, Service, document.body), document, number), shapes)
            case ("", "PersistentVolumeClaim"):
                claim = self._stored(convert(document, VolumeClaim, document.body), document, number)
                return volume_claim_use(claim, shapes)
            case ("resource.k8s.io", "ResourceClaim"):
                devices = self._stored(convert(document, ResourceClaim, document.body), document, number)
                return device_claim_use(devices, self._classes, shapes)
        found = self._stored(convert(document, AnyObject, {"metadata": document.metadata}), document, number)
        plural = self._plurals.get((document.group, kind)) or plural_of(kind)
        return object_use(found, f"{plural}.{document.group}" if document.group else plural, kind, shapes)

    def _stored(self, found: Any, document: Document, number: int) -> Any:
        """Fill in what the API server would: where the object is, and an identity."""
        meta: ObjectMeta = found.metadata
        identity = msgspec.structs.replace(
            meta,
            namespace=document.namespace(self._namespace),
            uid=meta.uid or f"document-{number}",
            resource_version="0",
        )
        return msgspec.structs.replace(found, metadata=identity)


def _definition(document: Document) -> tuple[tuple[str, str], str]:
    """Return group and kind of what a definition defines, and its plural."""
    spec = convert(document, _Definition, document.spec)
    return (spec.group, spec.names.kind), spec.names.plural


def plural_of(kind: str) -> str:
    """Guess the resource of a kind as Kubernetes does: `ingresses` for Ingress, `policies` for Policy."""
    lower = kind.lower()
    if lower.endswith("s"):
        return f"{lower}es"
    if lower.endswith("y"):
        return f"{lower[:-1]}ies"
    return f"{lower}s"


def _made_by(document: Document, namespace: str) -> Iterator[Document]:
    """Return what the controller of a workload would make; nothing for one of a cluster, which has its pods too."""
    field = _WORKLOADS.get((document.group, document.kind))
    stored = bool(document.metadata.get("uid"))
    if field is None or stored or not isinstance(document.spec, dict):
        return
    count = document.spec.get(field, 1)
    if not isinstance(count, int) or not 0 <= count <= _MOST_PODS:
        raise BadInput(f"{document.label}: spec.{field} must be a whole number from 0 to {_MOST_PODS}")
    template = document.spec.get("template")
    if not isinstance(template, dict):
        raise BadInput(f"{document.label}: spec.template is missing")
    owner = {"kind": document.kind, "name": document.name, "controller": True}
    for number in range(count):
        name = f"{document.name}-{number}"
        meta = {"name": name, "namespace": document.namespace(namespace), "ownerReferences": [owner]}
        yield Document(document.source, {"kind": "Pod", "metadata": meta, "spec": template.get("spec") or {}})
        for claim in document.spec.get("volumeClaimTemplates") or ():
            own = {**meta, "name": f"{(claim.get('metadata') or {}).get('name', 'data')}-{name}"}
            body = {"kind": "PersistentVolumeClaim", "metadata": own, "spec": claim.get("spec") or {}}
            yield Document(document.source, body)
