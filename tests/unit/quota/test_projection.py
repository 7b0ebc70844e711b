"""The ResourceQuota that stands for a NamespaceQuota: its name, its content, and what somebody else did to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.quota.native import NativeQuota
from moorage.quota.projection import (
    Owner,
    Projection,
    edits,
    projected_name,
    projection,
    removal,
    why_not_in_force,
)
from moorage.quota.scopes import Requirement
from tests.builders import nano

OWNER = Owner("team-a", "team", "uid-1")
HIGH = Requirement("PriorityClass", "In", frozenset({"high", "higher"}))
OTHERS = Requirement("PriorityClass", "NotIn", frozenset({"high", "higher"}))


def project(*requirements: Requirement, **hard: str) -> Projection:
    found = projection(nano(**hard), requirements)
    assert found is not None
    return found


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
            "spec": {"hard": {"pods": "6", "requests.cpu": "1500m", "requests.memory": "2Gi"}},
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
        assert projection(nano(**hard), requirements) is None


class TestEdits:
    WANTED = project(**{"pods": "6", "requests.memory": "2Gi"})

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
