"""Label selectors, node selectors and tolerations choose as Kubernetes' own do."""

from __future__ import annotations

import msgspec
import pytest

from moorage.density.selectors import allows, holds, selects, untolerated
from moorage.scheduling import LabelSelector, NodeSelector, Requirement, Taint, Toleration

LABELS = {"app": "web", "cores": "8", "bare": ""}


@pytest.mark.parametrize(
    ("operator", "key", "values", "expected"),
    [
        ("In", "app", ["web", "api"], True),
        ("In", "app", ["api"], False),
        ("In", "missing", ["web"], False),
        ("NotIn", "app", ["api"], True),
        ("NotIn", "app", ["web"], False),
        ("NotIn", "missing", ["web"], True),
        ("Exists", "bare", [], True),
        ("Exists", "missing", [], False),
        ("DoesNotExist", "missing", [], True),
        ("DoesNotExist", "bare", [], False),
        ("Gt", "cores", ["7"], True),
        ("Gt", "cores", ["8"], False),
        ("Lt", "cores", ["9"], True),
        ("Lt", "cores", ["8"], False),
        ("Gt", "app", ["7"], False),
        ("Gt", "missing", ["7"], False),
        ("Lt", "missing", ["7"], False),
        ("Gt", "cores", ["seven"], False),
        ("Gt", "cores", [], False),
        ("Like", "app", ["web"], False),
    ],
)
def test_a_line_of_a_selector(operator: str, key: str, values: list[str], expected: bool) -> None:
    assert holds(Requirement(key=key, operator=operator, values=values), LABELS) is expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "front"}}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "cores", "operator": "Exists"}]}, True),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "cores", "operator": "DoesNotExist"}]}, False),
    ],
    ids=["none chooses nothing", "empty chooses all", "one label", "two labels", "all lines hold", "one does not"],
)
def test_a_label_selector_needs_all_its_lines(selector: object, expected: bool) -> None:
    given = None if selector is None else msgspec.convert(selector, LabelSelector)
    assert selects(given, LABELS) is expected


WEB, API = ({"matchExpressions": [{"key": "app", "operator": "In", "values": [name]}]} for name in ("web", "api"))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([WEB], True),
        ([API], False),
        ([API, WEB], True),
        ([], False),
        ([{}], False),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}], True),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]}], False),
    ],
    ids=["holds", "does not", "any term", "no terms", "an empty term", "by name", "by another name"],
)
def test_a_node_selector_needs_any_of_its_terms(terms: list[object], expected: bool) -> None:
    selector = msgspec.convert({"nodeSelectorTerms": terms}, NodeSelector)
    assert allows(selector, LABELS, "node-1") is expected


def test_without_a_node_selector_every_node_is_allowed() -> None:
    assert allows(None, {}, "node-1")


GPU_TAINT = Taint(key="gpu", value="true", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "value": "true", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "true"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "gpu", "value": "false"}, False),
        ({"key": "gpu"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Near", "value": "true"}, False),
    ],
)
def test_a_toleration(toleration: dict[str, str], tolerated: bool) -> None:
    given = [msgspec.convert(toleration, Toleration)]
    assert untolerated([GPU_TAINT], given) == (None if tolerated else GPU_TAINT)


def test_a_preferred_taint_keeps_nobody_away() -> None:
    assert untolerated([Taint(key="gpu", effect="PreferNoSchedule")], []) is None


def test_every_taint_must_be_tolerated_and_the_first_that_is_not_is_named() -> None:
    other = Taint(key="spot", effect="NoExecute")
    assert untolerated([GPU_TAINT, other], [Toleration(key="gpu", operator="Exists")]) == other
    assert str(GPU_TAINT) == "gpu=true:NoSchedule"
    assert str(other) == "spot:NoExecute"
