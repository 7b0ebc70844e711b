"""The API group moorage.dev/v1alpha1 as typed models: the one source of crds/*.yaml."""

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import HYBRID_STRATEGY, CapacityBufferDisplay, CapacityBufferStatus, SizingStatus
from moorage.api.conditions import Condition
from moorage.api.crd import CAPACITY_BUFFER, GROUP, NAMESPACE_QUOTA, VERSION, crd_documents
from moorage.api.limits import LimitEntry
from moorage.api.namespacequota import NamespaceQuotaDisplay, NamespaceQuotaSpec, NamespaceQuotaStatus
from moorage.api.parse import SpecError, parse_capacity_buffer_spec, parse_namespace_quota_spec
from moorage.api.presence import NodeGroup, NodesStatus, Tier
from moorage.api.references import PodTemplateRef, ScalableRef
from moorage.api.scopes import ScopeRequirement, ScopeSelector
from moorage.api.sizing import CapacityBufferSizing
from moorage.api.validate import Problem

__all__ = [
    "CAPACITY_BUFFER",
    "GROUP",
    "HYBRID_STRATEGY",
    "NAMESPACE_QUOTA",
    "VERSION",
    "CapacityBufferDisplay",
    "CapacityBufferSizing",
    "CapacityBufferSpec",
    "CapacityBufferStatus",
    "Condition",
    "LimitEntry",
    "NamespaceQuotaDisplay",
    "NamespaceQuotaSpec",
    "NamespaceQuotaStatus",
    "NodeGroup",
    "NodesStatus",
    "PodTemplateRef",
    "Problem",
    "ScalableRef",
    "ScopeRequirement",
    "ScopeSelector",
    "SizingStatus",
    "SpecError",
    "Tier",
    "crd_documents",
    "parse_capacity_buffer_spec",
    "parse_namespace_quota_spec",
]
