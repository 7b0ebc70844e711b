"""Policies that an admin may add: some objects are admitted only where a NamespaceQuota covers them.

The effect of the API server's `limitedResources` without its flags. The operator labels the quotas that cover
something. A policy that demands a parameter demands it of everything it matches, whatever its conditions say; so what
is to be covered gets a label when it is made, and the policy matches that. Whoever sets it by hand only binds himself.
"""

from __future__ import annotations

from dataclasses import dataclass

from moorage.admission.policies.documents import Document, Rule, demanding_policy, marking_policy
from moorage.admission.policies.scopes import crosses_namespaces
from moorage.quota.coverage import COVERS, CROSS_NAMESPACE_AFFINITY, PRIORITY_CLASS, STORAGE_CLASS, coverage

NEEDS = "needs-quota.moorage.dev/"
"""Domain of the labels of what is to be covered."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What is to be covered: a label name, the resource of such objects, and CEL for which of them."""

    covered: str
    resource: str
    condition: str


def of_priority_class(name: str) -> Demand:
    """Pods of a priority class."""
    condition = f'object.spec.?priorityClassName.orValue("") == "{name}"'
    return Demand(coverage(PRIORITY_CLASS, name), "pods", condition)


def of_storage_class(name: str) -> Demand:
    """Claims of a storage class, also by the annotation that came before the field."""
    condition = (
        'object.metadata.?annotations[?"volume.beta.kubernetes.io/storage-class"]'
        f'.orValue(object.spec.?storageClassName.orValue("")) == "{name}"'
    )
    return Demand(coverage(STORAGE_CLASS, name), "persistentvolumeclaims", condition)


def of_affinity() -> Demand:
    """Pods with affinity terms that name or select other namespaces."""
    return Demand(CROSS_NAMESPACE_AFFINITY, "pods", crosses_namespaces("object"))


def documents(demand: Demand) -> tuple[Document, ...]:
    """Return the policies that make a demand, and their bindings."""
    rules = (Rule((demand.resource,), ("CREATE",)),)
    label = NEEDS + demand.covered
    name = f"moorage-covered.{demand.covered.lower()}"
    return (
        *marking_policy(name, rules=rules, condition=demand.condition, label=label),
        *demanding_policy(name, rules=rules, label=label, of_quotas=COVERS + demand.covered),
    )
