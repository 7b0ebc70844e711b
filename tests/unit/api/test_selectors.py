"""A selector of pods as the API server takes it in a request."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api import parse_capacity_buffer_spec
from moorage.api.labels import unit_selector


def text(selector: dict[str, Any]) -> str:
    spec = parse_capacity_buffer_spec({"selector": selector})
    assert spec.selector is not None
    return spec.selector.text


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchLabels": {"b": "2", "a.io/x": ""}}, "a.io/x=,b=2"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, "a in (x,y)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a"),
        ({"matchLabels": {"b": "2"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a,b=2"),
    ],
)
def test_is_spelled_in_one_way(selector: dict[str, Any], expected: str) -> None:
    assert text(selector) == expected


@pytest.mark.parametrize("name", ["web", "w" * 63])
def test_the_units_of_a_buffer_are_found_by_its_name(name: str) -> None:
    assert unit_selector(name) == f"moorage.dev/buffer={name}"


@pytest.mark.parametrize("name", ["w" * 64, "w" * 253, "a." * 40 + "b"])
def test_a_name_that_is_too_long_for_a_label_is_cut_and_stays_its_own(name: str) -> None:
    label, _, value = unit_selector(name).partition("=")
    assert label == "moorage.dev/buffer"
    assert len(value) <= 63
    assert value[-1].isalnum()
    assert value.startswith(name[:50].rstrip("."))
    assert unit_selector(name + "x") != unit_selector(name)
