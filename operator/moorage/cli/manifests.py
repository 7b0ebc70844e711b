"""What becomes of manifests in a cluster: what admission fills in, and what controllers make of workloads.

Only of manifests: an object that comes from a cluster (it has a uid) is stored as it is, and what was made of it is
there as well. What a cluster has beside them is taken from the documents too: RuntimeClasses, the default
PriorityClass, the default StorageClass, templates of claims. LimitRanges and webhooks are not applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.cli.convert import convert
from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.objects import Pod, ResourceList, VolumeClaim
from moorage.resources import with_defaults

_WORKLOADS = (
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("", "ReplicationController"),
    ("batch", "Job"),
)
_MOST_PODS = 100_000
"""A manifest that would make more pods is taken for a mistake."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _Overhead(_Part, frozen=True):
    pod_fixed: ResourceList | None = None


class _RuntimeClass(_Part, frozen=True):
    overhead: _Overhead | None = None


class _PriorityClass(_Part, frozen=True):
    global_default: bool | None = None


class _Template(_Part, frozen=True):
    metadata: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None


class _WorkloadSpec(_Part, frozen=True):
    replicas: int | None = None
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    paused: bool | None = None
    template: _Template | None = None
    volume_claim_templates: list[_Template] | None = None


class _Workload(_Part, frozen=True):
    spec: _WorkloadSpec = _WorkloadSpec()


class _Ephemeral(_Part, frozen=True):
    volume_claim_template: _Template | None = None


class _Volume(_Part, frozen=True):
    name: str = ""
    ephemeral: _Ephemeral | None = None


class _DeviceClaimReference(_Part, frozen=True):
    name: str = ""
    resource_claim_template_name: str | None = None


class _PodSpec(_Part, frozen=True):
    runtime_class_name: str | None = None
    volumes: list[_Volume] | None = None
    resource_claims: list[_DeviceClaimReference] | None = None


class _Pod(_Part, frozen=True):
    spec: _PodSpec = _PodSpec()


class _DeviceClaimTemplate(_Part, frozen=True):
    spec: _Template = _Template()


def is_stored(document: Document) -> bool:
    """Whether a document is an object of a cluster, not a manifest."""
    return bool(document.metadata.get("uid"))


def identity(document: Document, namespace: str) -> str:
    """Return what tells an object from others: a manifest that is read twice is one object. Empty without a name."""
    if uid := document.metadata.get("uid"):
        return str(uid)
    name = document.metadata.get("name")
    return f"{document.group}/{document.kind}/{document.namespace(namespace)}/{name}" if name else ""


class Manifests:
    """Knows what documents say of the cluster. `namespace` is that of documents which name none.

    Everything here raises BadInput.
    """

    def __init__(self, documents: Iterable[Document], namespace: str) -> None:
        self._namespace = namespace
        self._overheads: dict[str, ResourceList | None] = {}
        self._priority_class: str | None = None
        self._storage_class: str | None = None
        self._device_claims: dict[tuple[str, str], dict[str, Any] | None] = {}
        for each in documents:
            self._note(each)

    def _note(self, document: Document) -> None:
        match (document.group, document.kind):
            case ("node.k8s.io", "RuntimeClass"):
                overhead = convert(document, _RuntimeClass, document.body).overhead
                self._overheads[document.name] = overhead.pod_fixed if overhead is not None else None
            case ("scheduling.k8s.io", "PriorityClass"):
                if convert(document, _PriorityClass, document.body).global_default:
                    self._priority_class = document.name
            case ("storage.k8s.io", "StorageClass"):
                annotations = document.metadata.get("annotations") or {}
                if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
                    self._storage_class = min(document.name, self._storage_class or document.name)
            case ("resource.k8s.io", "ResourceClaimTemplate"):
                place = (document.namespace(self._namespace), document.name)
                self._device_claims[place] = convert(document, _DeviceClaimTemplate, document.body).spec.spec

    def admitted_pod(self, document: Document, pod: Pod) -> Pod:
        """Fill in what admission would, if it is a manifest, and the defaults of the API."""
        spec = pod.spec
        if not is_stored(document):
            runtime_class = convert(document, _Pod, document.body).spec.runtime_class_name
            spec = msgspec.structs.replace(
                spec,
                overhead=self._overheads.get(runtime_class or "") or spec.overhead,
                priority_class_name=spec.priority_class_name or self._priority_class,
            )
        return msgspec.structs.replace(pod, spec=with_defaults(spec))

    def admitted_claim(self, document: Document, claim: VolumeClaim) -> VolumeClaim:
        """Give a claim that asks for no class, not even for none, the default one, if it is a manifest."""
        annotations = claim.metadata.annotations
        asks = claim.spec.storage_class_name is not None or (annotations and annotations.storage_class is not None)
        if asks or is_stored(document):
            return claim
        spec = msgspec.structs.replace(claim.spec, storage_class_name=self._storage_class)
        return msgspec.structs.replace(claim, spec=spec)

    def replicas(self, document: Document) -> int:
        """Return how many pods a workload would have at first."""
        return _pods(document, convert(document, _Workload, document.body).spec)

    def made_by(self, document: Document) -> Iterator[Document]:
        """Return all that controllers would make of a manifest: pods of workloads, claims of pods."""
        if is_stored(document):
            return
        if (document.group, document.kind) in _WORKLOADS:
            made = self._made_by_workload(document, convert(document, _Workload, document.body).spec)
        elif (document.group, document.kind) == ("", "Pod"):
            made = self._made_by_pod(document, convert(document, _Pod, document.body).spec)
        else:
            return
        for each in made:
            yield each
            yield from self.made_by(each)

    def _made_by_workload(self, document: Document, spec: _WorkloadSpec) -> Iterator[Document]:
        if spec.template is None:
            raise BadInput(f"{document.label}: spec.template is missing")
        if document.kind == "Deployment" and not spec.paused:
            name = f"{document.name}-replicas"
            # Its pods are those below: with replicas of its own, they would be made twice.
            own = {"replicas": 0, "template": {}}
            yield self._made(document, "ReplicaSet", name, {"spec": own}, api_version="apps/v1")
        for number in range(_pods(document, spec)):
            stateful = document.kind == "StatefulSet"
            name = f"{document.name}-{number}" if stateful else f"{document.name}-{document.kind.lower()}-{number}"
            yield self._made(document, "Pod", name, {"spec": spec.template.spec or {}})
            for claim in spec.volume_claim_templates or ():
                meta = claim.metadata or {}
                body = {"metadata": {"annotations": meta.get("annotations")}, "spec": claim.spec or {}}
                yield self._made(document, "PersistentVolumeClaim", f"{meta.get('name') or 'data'}-{name}", body)

    def _made_by_pod(self, document: Document, spec: _PodSpec) -> Iterator[Document]:
        for volume in spec.volumes or ():
            if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
                template = volume.ephemeral.volume_claim_template
                body = {
                    "metadata": {"annotations": (template.metadata or {}).get("annotations")},
                    "spec": template.spec,
                }
                yield self._made(document, "PersistentVolumeClaim", f"{document.name}-{volume.name}", body)
        for claim in spec.resource_claims or ():
            place = (document.namespace(self._namespace), claim.resource_claim_template_name or "")
            if (devices := self._device_claims.get(place)) is not None:
                name = f"{document.name}-{claim.name}"
                yield self._made(document, "ResourceClaim", name, {"spec": devices}, api_version="resource.k8s.io/v1")

    def _made(
        self, maker: Document, kind: str, name: str, body: dict[str, Any], *, api_version: str = "v1"
    ) -> Document:
        owner = {
            "kind": maker.kind,
            "name": maker.name,
            "uid": identity(maker, self._namespace),
            "controller": True,
        }
        place = {"name": name, "namespace": maker.namespace(self._namespace), "ownerReferences": [owner]}
        meta = {**(body.get("metadata") or {}), **place}
        return Document(maker.source, {**body, "apiVersion": api_version, "kind": kind, "metadata": meta})


def _pods(document: Document, spec: _WorkloadSpec) -> int:
    """Return how many pods a workload has at first."""
    field = "parallelism" if document.kind == "Job" else "replicas"
    given = getattr(spec, field)
    count: int = 1 if given is None else given
    if not 0 <= count <= _MOST_PODS:
        raise BadInput(f"{document.label}: spec.{field} must be from 0 to {_MOST_PODS}, not {count}")
    if document.kind == "Job" and spec.completions is not None:
        count = min(count, max(spec.completions, 0))
    return 0 if spec.suspend or spec.paused else count
