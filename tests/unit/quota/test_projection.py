"""The ResourceQuota that stands for a NamespaceQuota: its name, its content, and what somebody else did to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.quota.native import NativeQuota
from moorage.quota.projection import (
    NO_PLACEHOLDERS,
    PLACEHOLDERS_ALONE,
    Owner,
    Part,
    Projection,
    edits,
    not_by_class,
    projected_name,
    projection,
    removal,
    why_not_in_force,
)
from moorage.quota.scopes import PLACEHOLDER_CLASS, Requirement
from tests.builders import nano

OWNER = Owner("team-a", "team", "uid-1")
HIGH = Requirement("PriorityClass", "In", frozenset({"high", "higher"}))
OTHERS = Requirement("PriorityClass", "NotIn", frozenset({"high", "higher"}))
MIXED = {
    "pods": "6",
    "requests.cpu": "2",
    "limits.memory": "2Gi",
    "requests.nvidia.com/gpu": "4",
    "requests.ephemeral-storage": "9Gi",
    "hugepages-2Mi": "4Mi",
    "services": "3",
    "count/jobs.batch": "5",
}


def project(*requirements: Requirement, **hard: str) -> Projection:
    found = projection(nano(**hard), requirements)
    assert found is not None
    return found


def names(part: Part, *requirements: Requirement, claimed: frozenset[str] = frozenset()) -> set[str]:
    found = projection(nano(**MIXED), requirements, part, claimed=claimed)
    return {name for name in found.hard if not name.endswith("moorage.dev")} if found is not None else set()


def held(wanted: Projection, **changes: Any) -> NativeQuota:
    """The ResourceQuota as it was made, counted and enforced."""
    fields: dict[str, Any] = {
        "uid": "u",
        "namespace": "team-a",
        "name": "moorage-team",
        "resource_version": 1,
        "requirements": wanted.requirements,
        "used": dict.fromkeys(wanted.hard, 0),
        "hard": wanted.hard,
        "hard_in_force": wanted.hard,
        "is_managed": True,
        "owner_uid": OWNER.uid,
    }
    return NativeQuota(**fields | changes)


class TestName:
    def test_it_is_that_of_the_quota_behind_ours(self) -> None:
        assert projected_name("team") == "moorage-team"

    def test_a_long_name_is_cut_and_stays_unique(self) -> None:
        one, other = projected_name("a" * 253), projected_name("a" * 252 + "b")
        assert len(one) == len(other) == 253
        assert one != other

    @given(st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z"))
    def test_any_name_becomes_one_that_the_api_takes(self, name: str) -> None:
        found = projected_name(name)
        assert len(found) <= 253
        assert found[-1].isalnum()


class TestContent:
    def test_it_has_our_fields_and_no_others(self) -> None:
        assert project(**{"requests.cpu": "1.5", "requests.memory": "2048Mi", "pods": "6"}).document(OWNER) == {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {
                "name": "moorage-team",
                "namespace": "team-a",
                "labels": {"app.kubernetes.io/managed-by": "moorage"},
                "ownerReferences": [
                    {
                        "apiVersion": "moorage.dev/v1alpha1",
                        "kind": "NamespaceQuota",
                        "name": "team",
                        "uid": "uid-1",
                        "controller": True,
                    }
                ],
            },
            "spec": {
                "hard": {"pods": "6", "requests.cpu": "1500m", "requests.memory": "2Gi"},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "NotIn", "values": [PLACEHOLDER_CLASS]}
                    ]
                },
            },
        }

    def test_scopes_become_a_selector_and_a_name_that_stands_for_them(self) -> None:
        spec = project(HIGH, Requirement("NotTerminating"), pods="6").document(OWNER)["spec"]
        assert spec["scopeSelector"] == {
            "matchExpressions": [
                {"scopeName": "NotTerminating", "operator": "Exists"},
                {"scopeName": "PriorityClass", "operator": "In", "values": ["high", "higher"]},
            ]
        }
        mark, pods = spec["hard"]
        assert (mark.startswith("count/"), mark.endswith(".scope.moorage.dev"), pods) == (True, True, "pods")
        assert spec["hard"][mark] == "0"

    def test_other_scopes_have_another_such_name(self) -> None:
        marks = [project(*each, pods="6").hard.keys() - {"pods"} for each in ([HIGH], [OTHERS], [HIGH, OTHERS], [])]
        assert len({tuple(mark) for mark in marks}) == 4
        assert project(HIGH, OTHERS, pods="6") == project(OTHERS, HIGH, OTHERS, pods="6")

    def test_a_quota_without_scopes_needs_no_such_name(self) -> None:
        assert project(pods="6").hard == nano(pods="6")

    def test_names_that_nothing_counts_are_left_out(self) -> None:
        assert project(**{"pods": "6", "nvidia.com/gpu": "4"}).hard == nano(pods="6")

    @pytest.mark.parametrize(
        ("hard", "requirements"),
        [
            pytest.param({}, [], id="no-limit"),
            pytest.param({"nvidia.com/gpu": "4"}, [], id="nothing-that-counts"),
            pytest.param({"pods": "6"}, [Requirement("BestEffort"), Requirement("NotBestEffort")], id="opposites"),
        ],
    )
    def test_there_is_none_where_it_could_limit_nothing(
        self, hard: dict[str, str], requirements: list[Requirement]
    ) -> None:
        assert [projection(nano(**hard), requirements, part) for part in Part] == [None, None, None]


class TestParts:
    def test_pods_are_counted_without_placeholders_under_the_names_that_a_class_can_be_asked_of(self) -> None:
        assert names(Part.PODS) == {"pods", "requests.cpu", "limits.memory", "requests.nvidia.com/gpu"}
        found = projection(nano(**MIXED), [HIGH, OTHERS], Part.PODS)
        assert found is not None
        assert found.requirements == {HIGH, OTHERS}, "placeholders are in none of these classes anyway"

    def test_all_other_names_are_without_scopes(self) -> None:
        """Under a scope the API server refuses some of them, and would count the others as 0."""
        found = projection(nano(**MIXED), [], Part.OTHERS)
        assert found is not None
        assert found.requirements == frozenset()
        assert found.hard == {name: amount for name, amount in nano(**MIXED).items() if name not in names(Part.PODS)}

    def test_what_claims_for_devices_count_under_too_is_not_scoped_since_claims_have_no_class(self) -> None:
        claimed = frozenset({"requests.nvidia.com/gpu"})
        assert names(Part.PODS, claimed=claimed) == names(Part.PLACEHOLDERS, claimed=claimed)
        assert names(Part.PODS, claimed=claimed) == {"pods", "requests.cpu", "limits.memory"}
        assert "requests.nvidia.com/gpu" in names(Part.OTHERS, claimed=claimed)

    def test_what_pods_request_and_no_class_can_be_asked_of_is_told(self) -> None:
        assert not_by_class(MIXED, ()) == {"ephemeral-storage", "hugepages-2Mi"}
        assert not_by_class(MIXED, {"requests.nvidia.com/gpu"}) == {
            "ephemeral-storage",
            "hugepages-2Mi",
            "nvidia.com/gpu",
        }

    def test_placeholders_may_be_as_many_as_buffers_hold(self) -> None:
        held = nano(**{"pods": "3", "requests.cpu": "1500m", "limits.cpu": "9"})
        found = projection(nano(**MIXED), [], Part.PLACEHOLDERS, placeholders=held)
        assert found is not None
        assert found.requirements == {PLACEHOLDERS_ALONE}
        assert found.hard == nano(
            **{"pods": "3", "requests.cpu": "1500m", "limits.memory": "0", "requests.nvidia.com/gpu": "0"}
        )

    def test_without_a_buffer_nobody_can_use_their_class(self) -> None:
        found = projection(nano(pods="6", secrets="1"), [], Part.PLACEHOLDERS)
        assert found is not None
        assert found.hard == nano(pods="0")

    @pytest.mark.parametrize(
        ("scopes", "apart"),
        [
            pytest.param([HIGH], False, id="other-classes"),
            pytest.param([OTHERS], True, id="all-but-other-classes"),
            pytest.param([NO_PLACEHOLDERS], False, id="all-but-theirs"),
            pytest.param([Requirement("PriorityClass")], True, id="any-class"),
            pytest.param([Requirement("PriorityClass", "DoesNotExist")], False, id="no-class"),
            pytest.param([Requirement("PriorityClass", "In", frozenset({"x", PLACEHOLDER_CLASS}))], True, id="theirs"),
            pytest.param([Requirement("Terminating")], True, id="another-scope"),
        ],
    )
    def test_they_are_set_apart_only_where_the_scopes_let_them_through(
        self, scopes: list[Requirement], *, apart: bool
    ) -> None:
        pods = projection(nano(pods="6"), scopes)
        assert pods is not None
        assert (pods.requirements == {*scopes, NO_PLACEHOLDERS} and pods.requirements != {*scopes}) is apart
        assert (projection(nano(pods="6"), scopes, Part.PLACEHOLDERS) is not None) is apart

    @given(st.text("ab.-", min_size=1), st.text("ab.-", min_size=1))
    def test_no_two_have_the_same_name_whatever_quotas_are_called(self, one: str, other: str) -> None:
        found = [projected_name(name, part) for name in {one, other} for part in Part]
        assert len(set(found)) == len(found)


class TestEdits:
    WANTED = Projection(nano(**{"pods": "6", "requests.memory": "2Gi"}), frozenset())

    def test_there_are_none_in_what_was_made(self) -> None:
        assert edits(self.WANTED, held(self.WANTED)) == []

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"hard": nano(**{"pods": "9", "requests.memory": "2Gi"})}, ["hard.pods is 9, not 6"]),
            ({"hard": nano(pods="6")}, ["hard.requests.memory is missing, not 2Gi"]),
            (
                {"hard": nano(**{"pods": "6", "requests.memory": "2Gi", "services": "1"})},
                ["hard.services is 1, not missing"],
            ),
            ({"requirements": frozenset({HIGH})}, ["its scopes are others"]),
        ],
    )
    def test_what_differs_is_named(self, changes: dict[str, Any], said: list[str]) -> None:
        assert edits(self.WANTED, held(self.WANTED, **changes)) == said

    def test_what_is_not_ours_is_taken_out(self) -> None:
        stored = {"hard": {"pods": "6", "requests.memory": "2Gi", "services": "1"}, "scopeSelector": {"a": "b"}}
        assert removal(self.WANTED, stored) == {"spec": {"hard": {"services": None}, "scopeSelector": None}}

    def test_nothing_is_taken_out_of_what_is_ours(self) -> None:
        assert removal(self.WANTED, self.WANTED.document(OWNER)["spec"]) is None
        scoped = project(HIGH, pods="6")
        assert removal(scoped, scoped.document(OWNER)["spec"]) is None


class TestInForce:
    WANTED = project(HIGH, pods="6")

    def test_it_is_once_status_says_the_same_and_all_is_counted(self) -> None:
        assert why_not_in_force(self.WANTED, held(self.WANTED)) == ""

    def test_the_name_that_stands_for_scopes_need_not_be_counted(self) -> None:
        assert why_not_in_force(self.WANTED, held(self.WANTED, used=nano(pods="0"))) == ""

    def test_it_is_not_while_status_lags(self) -> None:
        lagging = held(self.WANTED, hard_in_force={**self.WANTED.hard, **nano(pods="5")})
        assert why_not_in_force(self.WANTED, lagging) == "its status does not say pods yet"

    def test_it_is_not_while_something_is_not_counted(self) -> None:
        assert why_not_in_force(self.WANTED, held(self.WANTED, used={})) == "the API server does not count pods"

    def test_that_of_placeholders_is_while_it_follows_the_size_of_buffers(self) -> None:
        wanted = Projection(nano(pods="5"), frozenset({PLACEHOLDERS_ALONE}), Part.PLACEHOLDERS)
        assert why_not_in_force(wanted, held(wanted, hard_in_force=nano(pods="2"))) == ""
        assert why_not_in_force(wanted, held(wanted, hard_in_force={})) == "its status does not say pods yet"
