"""Which kinds of objects a quota covers: pods of a priority class or with affinity elsewhere, claims of a class.

An admin may demand that such objects are only made in namespaces that have a quota for them, as with the
`limitedResources` of the API server. A quota covers objects when it counts each of them, whatever else it is about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from moorage.quota.names import PODS, STORAGE_CLASS_SUFFIXES, counted
from moorage.quota.scopes import Requirement

PRIORITY_CLASS, STORAGE_CLASS = "priority-class", "storage-class"
CROSS_NAMESPACE_AFFINITY = "cross-namespace-affinity"

COVERS = "covers.moorage.dev/"
"""Domain of the labels of quotas that cover something."""

ENFORCED = "moorage.dev/enforced"
"""Label of the namespaces whose quotas say something about single objects; the policies look at no others."""

_LONGEST = 63
"""Of the name in a label, without its domain."""


def coverage(kind: str, name: str = "") -> str:
    """Return the name of a label for what is covered, such as `priority-class.high`; long names are cut."""
    whole = f"{kind}.{name}" if name else kind
    if len(whole) <= _LONGEST:
        return whole
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{whole[: _LONGEST - 11].rstrip('.-')}-{digest}"


def covered(names: Iterable[str], requirements: Iterable[Requirement]) -> frozenset[str]:
    """Return what a quota covers that limits these names of `hard`, as names of labels."""
    return frozenset(_covered(list(names), list(requirements)))


def _covered(names: list[str], requirements: list[Requirement]) -> Iterator[str]:
    limits_pods = any((what := counted(name)) is not None and PODS in what.resources for name in names)
    match requirements:
        case []:
            for name in names:
                for suffix in STORAGE_CLASS_SUFFIXES:
                    if name.endswith(suffix):
                        yield coverage(STORAGE_CLASS, name.removesuffix(suffix))
        case [Requirement(scope="PriorityClass", operator="In", values=classes)] if limits_pods:
            yield from (coverage(PRIORITY_CLASS, each) for each in classes)
        case [Requirement(scope="CrossNamespacePodAffinity")] if limits_pods:
            yield CROSS_NAMESPACE_AFFINITY
