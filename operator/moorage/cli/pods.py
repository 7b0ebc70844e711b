"""Pods and quotas from documents, as the core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from moorage.api import SpecError, parse_namespace_quota_spec
from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.objects import Pod, PodTemplate
from moorage.quantity import QuantityError
from moorage.quota.usage import PodReader, PodUse
from moorage.resources import with_defaults
from moorage.status.namespacequota import QuotaRules, quota_rules

QUOTA_KINDS = ("NamespaceQuota", "ResourceQuota")


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota from a file or a cluster."""

    namespace: str
    name: str
    kind: str
    rules: QuotaRules


def read_pod(document: Document, reader: PodReader, *, namespace: str, number: int) -> PodUse:
    """Read a pod; what a manifest leaves out is filled in as the API server would.

    Raises BadInput.
    """
    pod = _convert(document, Pod, document.body)
    try:
        filled = msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(
                pod.metadata,
                namespace=document.namespace(namespace),
                uid=pod.metadata.uid or f"document-{number}",
                resource_version="0",
            ),
            spec=with_defaults(pod.spec),
        )
        return reader.read(filled)
    except QuantityError as error:
        raise BadInput(f"{document.label}: {error}") from error


def read_quota(document: Document, *, namespace: str) -> Quota:
    """Read a NamespaceQuota or a native ResourceQuota.

    Raises BadInput.
    """
    spec = document.spec
    if document.kind == "ResourceQuota" and isinstance(spec, dict):
        spec = {name: spec[name] for name in ("hard", "scopes", "scopeSelector") if name in spec}
    try:
        rules = quota_rules(parse_namespace_quota_spec(spec, allow_unknown=document.kind == "ResourceQuota"))
    except SpecError as error:
        raise BadInput(f"{document.label}: {error}") from error
    return Quota(document.namespace(namespace), document.name, document.kind, rules)


def read_template(document: Document) -> PodTemplate:
    """Read the pod template of a PodTemplate, a workload or a pod.

    Raises BadInput.
    """
    body, spec = document.body, document.spec
    if document.kind == "Pod":
        return PodTemplate(spec=_convert(document, Pod, body).spec)
    template = body.get("template") or (spec.get("template") if isinstance(spec, dict) else None)
    if template is None:
        raise BadInput(f"{document.label}: there is no pod template; give a PodTemplate, a workload or a Pod")
    return _convert(document, PodTemplate, template)


_Model = TypeVar("_Model")


def _convert(document: Document, model: type[_Model], value: Any) -> _Model:
    try:
        return msgspec.convert(value, model, strict=True)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        where = f"{place.rstrip('`').lstrip('.')}: " if place else ""
        raise BadInput(f"{document.label}: {where}{problem}") from error
