"""What a pod's affinity and spread say about pods like itself, said about placeholders, which lack its labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from moorage.density.selectors import selects
from moorage.scheduling import LabelSelector

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Term = Mapping[str, Any]


def referring_to_placeholders(
    spec: dict[str, Any], *, labels: Mapping[str, str], namespace: str, placeholders: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the scheduling fields of a pod for a placeholder of it.

    `labels` and `namespace` are the pod's, `placeholders` selects the placeholders. A placeholder keeps away from what
    the pod keeps away from, and from other placeholders where the pod keeps away from its like; it is drawn to other
    placeholders where the pod is drawn to its like, since there may be none of those yet.
    """

    def is_own(term: Term) -> bool:
        return _selects(term, labels) and _covers(term, namespace)

    def translated(term: Term) -> dict[str, Any]:
        return {"topologyKey": term["topologyKey"], "labelSelector": dict(placeholders)}

    result = dict(spec)
    if constraints := spec.get("topologySpreadConstraints"):
        result["topologySpreadConstraints"] = [
            _spread(each, placeholders) if _selects(each, labels) else each for each in constraints
        ]
    affinity = dict(spec.get("affinity") or {})
    if attraction := affinity.get("podAffinity"):
        affinity["podAffinity"] = _map_terms(attraction, lambda term: [translated(term)] if is_own(term) else [term])
    if repulsion := affinity.get("podAntiAffinity"):
        affinity["podAntiAffinity"] = _map_terms(
            repulsion, lambda term: [term, translated(term)] if is_own(term) else [term]
        )
    if affinity:
        result["affinity"] = affinity
    return result


def _selects(term: Term, labels: Mapping[str, str]) -> bool:
    return selects(msgspec.convert(term.get("labelSelector"), LabelSelector | None), labels)


def _covers(term: Term, namespace: str) -> bool:
    """Whether a term looks at a namespace; of selected namespaces only "all" is known."""
    if term.get("namespaceSelector") == {}:
        return True
    named = term.get("namespaces")
    return namespace in named if named else term.get("namespaceSelector") is None


def _spread(constraint: Term, placeholders: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in constraint.items() if name != "matchLabelKeys"}
    return kept | {"labelSelector": dict(placeholders)}


def _map_terms(rules: Mapping[str, Any], change: Callable[[Term], Iterable[Term]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if required := rules.get(_REQUIRED):
        result[_REQUIRED] = [new for term in required for new in change(term)]
    if preferred := rules.get(_PREFERRED):
        result[_PREFERRED] = [
            {**weighted, "podAffinityTerm": new}
            for weighted in preferred
            for new in change(weighted["podAffinityTerm"])
        ]
    return result
