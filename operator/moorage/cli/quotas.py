"""Quotas and pod templates from documents, as the core takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from moorage.api import SpecError, parse_namespace_quota_spec
from moorage.cli.convert import convert
from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.objects import Pod, PodTemplate, ResourceList
from moorage.quota.bounds import Limits
from moorage.resources import amounts, nano_of
from moorage.status.namespacequota import QuotaRules, quota_rules

QUOTA_KINDS = ("NamespaceQuota", "ResourceQuota")


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota from a file or a cluster."""

    namespace: str
    name: str
    kind: str
    rules: QuotaRules
    buffered: Mapping[str, int] = field(default_factory=dict)
    """What its status says that units of buffers use; a file of objects tells nothing of most of them."""


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
    return Quota(document.namespace(namespace), document.name, document.kind, rules, _buffered(document))


def _buffered(document: Document) -> dict[str, int]:
    status = document.body.get("status")
    found = status.get("buffered") if isinstance(status, dict) else None
    try:
        return {str(name): nano_of(value) for name, value in (found or {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise BadInput(f"{document.label}: status.buffered: {error}") from error


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    type: str
    default: ResourceList = {}
    default_request: ResourceList = {}
    min: ResourceList = {}
    max: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class _LimitRange(msgspec.Struct, frozen=True):
    limits: tuple[_Entry, ...] = ()


def read_limit_range(document: Document) -> tuple[Limits, ...]:
    """Read the entries of a LimitRange.

    Raises BadInput.
    """
    found = convert(document, _LimitRange, document.spec or {})
    try:
        return tuple(
            Limits(
                each.type,
                default=amounts(each.default),
                default_request=amounts(each.default_request),
                min=amounts(each.min),
                max=amounts(each.max),
                max_limit_request_ratio=amounts(each.max_limit_request_ratio),
            )
            for each in found.limits
        )
    except ValueError as error:
        raise BadInput(f"{document.label}: spec.limits: {error}") from error


def read_template(document: Document) -> PodTemplate:
    """Read the pod template of a PodTemplate, a workload or a pod.

    Raises BadInput.
    """
    body, spec = document.body, document.spec
    if document.kind == "Pod":
        return PodTemplate(spec=convert(document, Pod, body).spec)
    template = body.get("template") or (spec.get("template") if isinstance(spec, dict) else None)
    if template is None:
        raise BadInput(f"{document.label}: there is no pod template; give a PodTemplate, a workload or a Pod")
    return convert(document, PodTemplate, template)
