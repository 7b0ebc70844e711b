"""What is read of HorizontalPodAutoscalers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage.buffer.burst import DEFAULT_POLICIES, ScalingPolicy, Unit
from moorage.cluster.autoscalers import read_autoscalers


def read(behavior: dict[str, Any] | None = None) -> Any:
    spec: dict[str, Any] = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 200}
    if behavior is not None:
        spec["behavior"] = {"scaleUp": behavior}
    return read_autoscalers(json.dumps({"items": [{"spec": spec}]}).encode())["Deployment", "web"]


def test_without_a_behavior_the_defaults_hold() -> None:
    found = read()
    assert (found.most, found.policies, found.select_least) == (200, DEFAULT_POLICIES, False)


@pytest.mark.parametrize(
    ("behavior", "policies", "least"),
    [
        ({"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}, (ScalingPolicy(Unit.PODS, 4, 60),), False),
        (
            {"policies": [{"type": "Percent", "value": 10, "periodSeconds": 30}], "selectPolicy": "Min"},
            (ScalingPolicy(Unit.PERCENT, 10, 30),),
            True,
        ),
        ({"selectPolicy": "Disabled"}, (), False),
        ({"stabilizationWindowSeconds": 0}, DEFAULT_POLICIES, False),
    ],
)
def test_policies_are_read(behavior: dict[str, Any], policies: tuple[ScalingPolicy, ...], least: bool) -> None:
    found = read(behavior)
    assert (found.policies, found.select_least) == (policies, least)


def test_no_autoscalers_are_none() -> None:
    assert read_autoscalers(b'{"items": []}') == {}
