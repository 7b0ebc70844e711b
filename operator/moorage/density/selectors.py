"""Which labels a selector chooses, which nodes an affinity allows, and which taints are tolerated.

Follows `labels.Selector` of apimachinery, `nodeaffinity` and `ToleratesTaint` of k8s.io/component-helpers v0.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from moorage.quoting import quoted
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


_TERM = re.compile(
    r"\s*(?:(?P<absent>!\s*)?(?P<key>[^\s,()=!<>]+)"
    r"(?:\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)|\s*(?P<sign>==|=|!=|<|>)\s*(?P<value>[^\s,()=!<>]*))?)\s*"
)
_SIGNS = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """Read a label selector as it stands in a request: `app=web,tier in (a,b),!canary`.

    Raises ValueError for what is none.
    """
    found: list[Requirement] = []
    at = 0 if text.strip() else len(text) + 1
    while at <= len(text):
        match = _TERM.match(text, at)
        if match is None or text[match.end() : match.end() + 1] not in ("", ","):
            raise ValueError(f"{quoted(text)} is not a label selector")
        found.append(_requirement(match))
        at = match.end() + 1
    return tuple(found)


def _requirement(term: re.Match[str]) -> Requirement:
    key, sign = term["key"], term["sign"]
    if term["set"] is not None:
        values = [each.strip() for each in term["values"].split(",")]
        return Requirement(key, "In" if term["set"] == "in" else "NotIn", values)
    if sign is not None:
        return Requirement(key, _SIGNS[sign], [term["value"]])
    return Requirement(key, "DoesNotExist" if term["absent"] else "Exists")
