"""Where a native ResourceQuota says something else than what is counted."""

import pytest

from moorage.quota.native import Difference, NativeQuota, differences
from moorage.quota.scopes import Requirement
from tests.builders import nano

HIGH = Requirement("PriorityClass", "In", frozenset({"high"}))


def native(*requirements: Requirement, **used: str) -> NativeQuota:
    return NativeQuota("u1", "team-a", "theirs", 1, frozenset(requirements), nano(**used))


def found(theirs: dict[str, str], ours: dict[str, str]) -> list[tuple[str, int, int]]:
    listed = differences(native(**theirs), frozenset(), nano(**ours))
    return [(each.resource, each.used // 10**9, each.counted // 10**9) for each in listed]


def test_equal_numbers_do_not_differ_however_they_are_spelled() -> None:
    assert found({"requests.memory": "1Gi", "pods": "3"}, {"requests.memory": "1048576Ki", "pods": "3"}) == []


def test_every_number_that_differs_is_told_by_name_in_order_in_both_directions() -> None:
    assert found({"pods": "3", "cpu": "1", "secrets": "4"}, {"pods": "2", "cpu": "2", "secrets": "4"}) == [
        ("cpu", 1, 2),
        ("pods", 3, 2),
    ]


def test_a_difference_names_the_native_quota() -> None:
    assert differences(native(pods="3"), frozenset(), nano(pods="2")) == [
        Difference("theirs", "pods", nano(x="3")["x"], nano(x="2")["x"])
    ]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("cpu", "requests.cpu"),
        ("requests.memory", "memory"),
        ("secrets", "count/secrets"),
        ("count/services", "services"),
        ("hugepages-2Mi", "requests.hugepages-2Mi"),
    ],
)
def test_names_that_mean_the_same_are_compared(theirs: str, ours: str) -> None:
    assert found({theirs: "3"}, {ours: "2"}) == [(theirs, 3, 2)]
    assert found({theirs: "3"}, {ours: "3"}) == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"pods": "3"}, {"count/pods": "4"}),
        ({"pods": "3"}, {}),
        ({}, {"pods": "3"}),
        ({"limits.cpu": "3"}, {"requests.cpu": "4"}),
        ({"x.com/gpu": "3"}, {"x.com/gpu": "4"}),
    ],
)
def test_what_only_one_of_them_counts_is_not(theirs: dict[str, str], ours: dict[str, str]) -> None:
    assert found(theirs, ours) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "compared"),
    [
        pytest.param([HIGH], [HIGH], True, id="the same scopes"),
        pytest.param([HIGH, Requirement("Terminating")], [Requirement("Terminating"), HIGH], True, id="in any order"),
        pytest.param([HIGH, HIGH], [HIGH], True, id="said twice"),
        pytest.param([], [HIGH], False, id="only ours has scopes"),
        pytest.param([HIGH], [], False, id="only theirs has"),
        pytest.param([Requirement("PriorityClass")], [HIGH], False, id="another operator"),
    ],
)
def test_only_quotas_that_look_at_the_same_objects_are_compared(
    theirs: list[Requirement], ours: list[Requirement], compared: bool
) -> None:
    assert bool(differences(native(*theirs, pods="3"), frozenset(ours), nano(pods="2"))) is compared
