"""Which labels a selector chooses, which nodes an affinity allows, and which taints are tolerated.

Follows `labels.Selector` of apimachinery, `nodeaffinity` and `ToleratesTaint` of k8s.io/component-helpers v0.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from moorage.scheduling import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement, Taint, Toleration

_INTEGER = re.compile(r"[+-]?[0-9]+")
_BLOCKING = ("NoSchedule", "NoExecute")


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector chooses an object with these labels; None chooses nothing, an empty one everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in (selector.match_labels or {}).items()) and all(
        holds(each, labels) for each in selector.match_expressions or ()
    )


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether one line of a selector holds for these labels; an operator that is not known never does."""
    value, values = labels.get(requirement.key), requirement.values or ()
    match requirement.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement.operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: Iterable[str]) -> bool:
    """Compare whole numbers; what is none never holds."""
    texts = [value or "", *values]
    if len(texts) != 2 or not all(_INTEGER.fullmatch(each) for each in texts):
        return False
    label, bound = (int(each) for each in texts)
    return label > bound if operator == "Gt" else label < bound


def allows(selector: NodeSelector | None, labels: Mapping[str, str], name: str) -> bool:
    """Whether any term of a node selector chooses a node with these labels and this name; None allows all."""
    if selector is None:
        return True
    return any(_term_holds(term, labels, name) for term in selector.node_selector_terms or ())


def _term_holds(term: NodeSelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(holds(each, labels) for each in term.match_expressions or ()) and all(
        holds(each, {"metadata.name": name}) for each in term.match_fields or ()
    )


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps a pod with these tolerations away, or None.

    A PreferNoSchedule taint keeps nobody away.
    """
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in _BLOCKING and not any(_tolerates(each, taint) for each in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if not toleration.key:
        return False
    return toleration.operator in (None, "", "Equal") and (toleration.value or "") == taint.value
