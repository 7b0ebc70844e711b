"""Quotas of one namespace whose limits contradict each other."""

from __future__ import annotations

import pytest

from moorage.quota.bounds import Limits
from moorage.quota.conflicts import conflicts
from tests.builders import limits

MAX = limits(max={"cpu": "1", "memory": "1Gi"})


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        pytest.param(
            limits(default={"cpu": "2"}),
            MAX,
            "default cpu=2 per Container in a is above max cpu=1 per Container in b: what is filled in is refused",
            id="a limit filled in above the maximum",
        ),
        pytest.param(
            limits(default_request={"memory": "2Gi"}),
            MAX,
            "defaultRequest memory=2Gi per Container in a is above max memory=1Gi per Container in b: what is "
            "filled in is refused",
            id="a request filled in above the maximum",
        ),
        pytest.param(
            limits(default_request={"cpu": "100m"}),
            limits(min={"cpu": "200m"}),
            "defaultRequest cpu=100m per Container in a is below min cpu=200m per Container in b: what is filled in "
            "is refused",
            id="a request filled in below the minimum",
        ),
        pytest.param(
            limits(min={"cpu": "2"}),
            MAX,
            "min cpu=2 per Container in a is above max cpu=1 per Container in b: none can be admitted",
            id="the minimum above the maximum",
        ),
        pytest.param(
            limits("PersistentVolumeClaim", min={"storage": "2Gi"}),
            limits("PersistentVolumeClaim", max={"storage": "1Gi"}),
            "min storage=2Gi per PersistentVolumeClaim in a is above max storage=1Gi per PersistentVolumeClaim in "
            "b: none can be admitted",
            id="of claims",
        ),
        pytest.param(
            limits(default={"cpu": "2"}),
            limits("Pod", max={"cpu": "1"}),
            "default cpu=2 per Container in a is above max cpu=1 per Pod in b: what is filled in is refused",
            id="a container above its pod",
        ),
        pytest.param(
            limits(default={"cpu": "4"}),
            limits(default_request={"cpu": "1"}, ratio={"cpu": "2"}),
            "default cpu=4 per Container in a and defaultRequest cpu=1 per Container in b are further apart than "
            "maxLimitRequestRatio cpu=2 per Container in b allows: what is filled in is refused",
            id="defaults further apart than the ratio",
        ),
        pytest.param(
            limits(default={"x.com/gpu": "2"}),
            limits(default={"x.com/gpu": "1"}, default_request={"x.com/gpu": "1"}),
            "default x.com/gpu=2 per Container in a and defaultRequest x.com/gpu=1 per Container in b differ, but "
            "x.com/gpu cannot be overcommitted: what is filled in is invalid",
            id="unequal amounts of what cannot be overcommitted",
        ),
    ],
)
def test_these_contradict_each_other(one: Limits, other: Limits, message: str) -> None:
    (found,) = conflicts({"a": [one], "b": [other]})
    assert (found.quotas, found.message) == (("a", "b"), message)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(limits(default={"cpu": "1"}), MAX, id="the maximum itself"),
        pytest.param(limits(default={"memory": "1Gi"}), limits(default_request={"memory": "2Gi"}), id="raised limits"),
        pytest.param(limits(default={"cpu": "2"}), limits(max={"memory": "1"}), id="other resources"),
        pytest.param(limits("Pod", min={"cpu": "2"}), MAX, id="a pod may have several containers"),
        pytest.param(limits(max={"cpu": "2"}), MAX, id="the lower maximum holds"),
        pytest.param(
            limits(default={"cpu": "2"}),
            limits(default_request={"cpu": "1"}, ratio={"cpu": "2"}),
            id="the ratio itself",
        ),
        pytest.param(limits(default={"cpu": "2"}), limits(ratio={"cpu": "1"}), id="a limit that becomes the request"),
    ],
)
def test_these_do_not(one: Limits, other: Limits) -> None:
    assert conflicts({"a": [one], "b": [other]}) == ()


def test_one_quota_is_the_business_of_the_api_server() -> None:
    assert conflicts({"a": [limits(default={"cpu": "2"}, max={"cpu": "1"})]}) == ()


def test_a_default_that_is_not_in_force_is_compared_too() -> None:
    found = conflicts({"a": [limits(default={"cpu": "1"})], "b": [limits(default={"cpu": "2"})], "c": [MAX]})
    assert [each.quotas for each in found] == [("b", "c")]


def test_three_can_have_a_part_in_one() -> None:
    quotas = {
        "c": [limits(default={"cpu": "4"})],
        "a": [limits(default_request={"cpu": "1"})],
        "b": [limits(ratio={"cpu": "2"})],
    }
    assert [each.quotas for each in conflicts(quotas)] == [("a", "b", "c")]
