"""A spec from a file is read into the typed model, or refused with every fault and its path."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api import (
    CapacityBufferSizing,
    CapacityBufferSpec,
    LimitEntry,
    NamespaceQuotaSpec,
    ScalableRef,
    ScopeRequirement,
    ScopeSelector,
    SpecError,
    parse_capacity_buffer_spec,
    parse_namespace_quota_spec,
)
from tests.unit.api.buffer_cases import BUFFERS
from tests.unit.api.case import Case
from tests.unit.api.limits_cases import ENFORCEMENT, LIMITS
from tests.unit.api.quota_cases import QUOTAS
from tests.unit.api.upstream_cases import admission_rows, is_accepted, spec_of


def problems_of(parse: Any, spec: Any) -> set[tuple[str, str]]:
    try:
        parse(spec)
    except SpecError as error:
        return {(problem.path, problem.message) for problem in error.problems}
    return set()


@pytest.mark.parametrize("case", [*QUOTAS, *LIMITS, *ENFORCEMENT], ids=str)
def test_quota_specs_get_their_verdict(case: Case) -> None:
    assert problems_of(parse_namespace_quota_spec, case.spec) == set(case.problems)


@pytest.mark.parametrize("case", BUFFERS, ids=str)
def test_buffer_specs_get_their_verdict(case: Case) -> None:
    assert problems_of(parse_capacity_buffer_spec, case.spec) == set(case.problems)


def test_a_quota_spec_becomes_a_model() -> None:
    spec = {
        "hard": {"pods": 3, "requests.cpu": "2"},
        "scopes": ["NotTerminating"],
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]},
    }
    expression = ScopeRequirement(scope_name="PriorityClass", operator="In", values=("high",))
    assert parse_namespace_quota_spec(spec) == NamespaceQuotaSpec(
        hard={"pods": 3, "requests.cpu": "2"},
        scopes=("NotTerminating",),
        scope_selector=ScopeSelector(match_expressions=(expression,)),
    )


def test_limits_become_a_model() -> None:
    spec = {
        "limits": [{"type": "Container", "defaultRequest": {"cpu": "200m"}, "maxLimitRequestRatio": {"cpu": 2}}],
        "enforcement": "Audit",
    }
    entry = LimitEntry(type="Container", default_request={"cpu": "200m"}, max_limit_request_ratio={"cpu": 2})
    assert parse_namespace_quota_spec(spec) == NamespaceQuotaSpec(limits=(entry,), enforcement="Audit")


@pytest.mark.parametrize(
    ("spec", "enforced"), [({}, True), ({"enforcement": "Enforce"}, True), ({"enforcement": "Audit"}, False)]
)
def test_a_quota_is_enforced_unless_it_is_only_watched(spec: dict[str, Any], enforced: bool) -> None:
    assert parse_namespace_quota_spec(spec).is_enforced == enforced


def test_a_buffer_spec_becomes_a_model() -> None:
    spec = {
        "scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"},
        "sizing": {"scaleUpRate": "0.5", "standbyResumeLatency": "30s", "coldNodeLatency": "90s"},
        "limits": {"cpu": 4},
        "percentage": 20,
    }
    assert parse_capacity_buffer_spec(spec) == CapacityBufferSpec(
        scalable_ref=ScalableRef(api_group="apps", kind="Deployment", name="web"),
        sizing=CapacityBufferSizing(scale_up_rate="0.5", standby_resume_latency="30s", cold_node_latency="90s"),
        limits={"cpu": 4},
        percentage=20,
    )


def test_whole_numbers_with_a_point_are_integers_as_kubectl_sends_them() -> None:
    assert parse_namespace_quota_spec({"hard": {"pods": 3.0}}).hard == {"pods": 3}
    assert parse_capacity_buffer_spec({"replicas": 3.0}).replicas == 3


def test_fields_without_a_value_count_as_left_out() -> None:
    assert parse_namespace_quota_spec({"hard": {"pods": 1}, "scopes": None}) == NamespaceQuotaSpec(hard={"pods": 1})


def test_a_limit_without_a_value_is_refused_as_by_server_side_apply() -> None:
    with pytest.raises(SpecError) as caught:
        parse_namespace_quota_spec({"hard": {"cpu": None}})
    assert str(caught.value) == "spec.hard[cpu]: must be an integer or a string, not null"


def test_fields_of_a_newer_definition_can_be_left_aside() -> None:
    spec = {"hard": {"pods": 1}, "fromTheFuture": True, "scopeSelector": {"alsoNew": 1}}
    assert parse_namespace_quota_spec(spec, allow_unknown=True) == NamespaceQuotaSpec(
        hard={"pods": 1}, scope_selector=ScopeSelector()
    )


def test_an_unknown_field_far_from_any_other_lists_the_known_ones() -> None:
    with pytest.raises(SpecError) as caught:
        parse_capacity_buffer_spec({"scalableRef": {"kind": "Deployment", "name": "web", "zzz": 1}})
    assert str(caught.value) == "spec.scalableRef.zzz: unknown field; known here: apiGroup, kind, name"


@pytest.mark.parametrize("spec", [None, [], "cpu", 3], ids=repr)
def test_a_spec_that_is_no_object_is_refused(spec: Any) -> None:
    with pytest.raises(SpecError, match="spec: must be of type object, not"):
        parse_namespace_quota_spec(spec)


def test_the_error_tells_the_first_fault_apart_and_all_of_them_as_text() -> None:
    with pytest.raises(SpecError) as caught:
        parse_capacity_buffer_spec({"replicas": -1, "percentage": -2})
    assert (caught.value.path, caught.value.message) == ("spec.replicas", "must be at least 0")
    assert str(caught.value) == "spec.replicas: must be at least 0; spec.percentage: must be at least 0"


@pytest.mark.parametrize("row", admission_rows(), ids=lambda row: row["id"])
def test_upstream_specs_get_the_verdict_of_upstream(row: dict[str, str]) -> None:
    assert (problems_of(parse_capacity_buffer_spec, spec_of(row)) == set()) == is_accepted(row), row["note"]


@pytest.mark.parametrize("kind", [[], {}, [[]], 1, None])
def test_the_type_of_an_entry_may_be_anything_and_is_told(kind: Any) -> None:
    spec = {"hard": {"pods": 1}, "limits": [{"type": kind, "max": {"cpu": 1}}, {"type": kind, "max": {"cpu": 1}}]}
    assert "spec.limits[0].type" in {path for path, _ in problems_of(parse_namespace_quota_spec, spec)}
