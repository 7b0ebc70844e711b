"""Warnings are given before a unit fails to do what it is meant for."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.backends.choice import Backend, Choice
from moorage.backends.warnings import Place, parse_kubernetes_version, warnings
from tests.unit.backends.templates import plan, template

PLACEHOLDERS = Choice(backend=Backend.PLACEHOLDER)
KARPENTER = Choice(backend=Backend.AUTOSCALER, controller="Karpenter")
CLUSTER_AUTOSCALER = Choice(backend=Backend.AUTOSCALER, controller="Cluster Autoscaler")
DATA = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
SOFT = {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}


def reasons(choice: Choice, spec: dict[str, Any] | None = None, **further: Any) -> list[str]:
    places = further.pop("places", ())
    kubernetes = further.pop("kubernetes", (1, 36))
    found = warnings(plan(template(**(spec or {})), **further), choice, kubernetes=kubernetes, places=places)
    assert all(each.message for each in found)
    return [each.reason for each in found]


@pytest.mark.parametrize("choice", [PLACEHOLDERS, KARPENTER, CLUSTER_AUTOSCALER])
def test_there_are_none_for_a_plain_workload(choice: Choice) -> None:
    assert reasons(choice) == []


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"preemptionPolicy": "Never"}, "PreemptionNever"),
        ({"priority": -10}, "PriorityTooLow"),
        ({"priority": -1000}, "PriorityTooLow"),
        (SOFT, "SoftSpread"),
    ],
)
def test_pods_that_push_nothing_out_are_told_where_units_are_placeholders(spec: dict[str, Any], reason: str) -> None:
    assert reasons(PLACEHOLDERS, spec) == [reason]
    assert reasons(KARPENTER, spec) == []


@pytest.mark.parametrize("priority", [-9, 0, 1000])
def test_pods_of_a_higher_priority_push_placeholders_out(priority: int) -> None:
    assert reasons(PLACEHOLDERS, {"priority": priority}) == []


@pytest.mark.parametrize(
    ("choice", "expected"),
    [(PLACEHOLDERS, ["VolumesIgnored"]), (KARPENTER, ["VolumesIgnored"]), (CLUSTER_AUTOSCALER, [])],
)
def test_volumes_that_a_backend_ignores_are_told(choice: Choice, expected: list[str]) -> None:
    assert reasons(choice, DATA) == expected


@pytest.mark.parametrize(
    ("choice", "kubernetes", "expected"),
    [
        (PLACEHOLDERS, (1, 35), []),
        (PLACEHOLDERS, (1, 34), ["NothingPreloaded"]),
        (PLACEHOLDERS, None, ["NothingPreloaded"]),
        (KARPENTER, (1, 36), ["NothingPreloaded"]),
    ],
)
def test_images_that_nothing_pulls_are_told(choice: Choice, kubernetes: Any, expected: list[str]) -> None:
    assert reasons(choice, preload_images=True, kubernetes=kubernetes) == expected


OWN = {"nodeSelector": {"team": "web"}, "tolerations": [{"key": "team", "operator": "Equal", "value": "web"}]}


def test_a_workload_that_cannot_take_its_own_units_is_told() -> None:
    [found] = warnings(plan(dedicated=True), CLUSTER_AUTOSCALER, kubernetes=None)
    assert found.reason == "WorkloadNotDedicated"
    assert "nodeSelector {moorage.dev/dedicated: web}" in found.message
    assert reasons(CLUSTER_AUTOSCALER, OWN, dedicated=True) == []


@pytest.mark.parametrize(
    ("labels", "taints", "expected"),
    [
        ({"team": "web"}, {("team", "web")}, []),
        ({"team": "web"}, set(), ["OpenToOthers"]),
        ({"team": "web"}, {("gpu", "")}, ["OpenToOthers"]),
        ({"team": "api"}, set(), []),
    ],
    ids=["tainted", "label alone", "another taint", "another node"],
)
def test_nodes_that_let_other_pods_take_the_units_are_told(
    labels: dict[str, str], taints: set[tuple[str, str]], expected: list[str]
) -> None:
    nodes = [Place("node-1", labels, frozenset(taints))]
    assert reasons(CLUSTER_AUTOSCALER, OWN, dedicated=True, places=nodes) == expected


def test_many_open_nodes_are_told_in_short() -> None:
    nodes = [Place(f"node-{at}", {"team": "web"}, frozenset()) for at in range(9)]
    [found] = warnings(plan(template(**OWN), dedicated=True), PLACEHOLDERS, kubernetes=None, places=nodes)
    assert found.message == (
        "other pods can take the units on node-0, node-1, node-2 and 6 more, "
        "which have the label but not the taint team"
    )


@pytest.mark.parametrize(
    ("text", "version"), [("v1.36.3", (1, 36)), ("v1.36.0-gke.2253000", (1, 36)), ("1.28+", (1, 28)), ("dev", None)]
)
def test_versions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert parse_kubernetes_version(text) == version
