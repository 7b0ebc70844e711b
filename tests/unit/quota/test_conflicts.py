"""Quotas of one namespace whose limits contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.quantity import canonical
from moorage.quota.bounds import Limits
from moorage.quota.conflicts import conflicts
from moorage.quota.names import is_binary
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


TYPES, NAMES = ("Container", "Pod", "PersistentVolumeClaim"), ("cpu", "memory", "x.com/gpu")
AMOUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4).map(lambda count: count * 10**9), max_size=3)
ENTRIES = st.builds(Limits, st.sampled_from(TYPES), default=AMOUNTS, default_request=AMOUNTS, min=AMOUNTS, max=AMOUNTS)
QUOTAS = st.dictionaries(st.sampled_from("abcdef"), st.lists(ENTRIES, max_size=3), max_size=6)


def said(quota: str, entry: Limits, field: str, name: str, amount: int) -> str:
    return f"{field} {name}={canonical(amount, binary=is_binary(name))} per {entry.type} in {quota}"


def of_two(one: str, given: Limits, other: str, bound: Limits) -> Iterator[str]:
    """What one entry gives or demands that the other refuses, by looking at every value."""
    defaults = {"default": given.default, "defaultRequest": given.default_request}
    if given.type == bound.type or (given.type, bound.type) == ("Container", "Pod"):
        for field, amounts in {"min": given.min, **defaults}.items():
            result = "none can be admitted" if field == "min" else "what is filled in is refused"
            for name, amount in amounts.items():
                if name in bound.max and amount > bound.max[name]:
                    limit = said(other, bound, "max", name, bound.max[name])
                    yield f"{said(one, given, field, name, amount)} is above {limit}: {result}"
    if given.type == bound.type:
        for field, amounts in defaults.items():
            for name, amount in amounts.items():
                if name in bound.min and amount < bound.min[name]:
                    limit = said(other, bound, "min", name, bound.min[name])
                    yield f"{said(one, given, field, name, amount)} is below {limit}: what is filled in is refused"


def pair_by_pair(quotas: Mapping[str, Sequence[Limits]]) -> list[str]:
    entries = [(name, each) for name in sorted(quotas) for each in quotas[name]]
    return [
        message
        for one, given in entries
        for other, bound in entries
        if one != other
        for message in of_two(one, given, other, bound)
    ]


@given(QUOTAS)
def test_they_are_those_that_a_look_at_every_two_entries_finds(quotas: dict[str, list[Limits]]) -> None:
    found = conflicts(quotas)
    together = [each for each in found if " differ, but " in each.message]
    assert [each.message for each in found if each not in together] == pair_by_pair(quotas)


class Counted(dict[str, int]):
    """Amounts that count how often somebody looks at them."""

    looks = 0

    def get(self, *arguments: object) -> int | None:  # type: ignore[override]
        Counted.looks += 1
        return super().get(*arguments)  # type: ignore[call-overload, no-any-return]

    def items(self):  # type: ignore[no-untyped-def]
        Counted.looks += 1
        return super().items()


def test_a_thousand_quotas_cost_a_thousand_looks_not_a_million() -> None:
    entry = limits(default={"cpu": "2"}, default_request={"cpu": "1"}, min={"cpu": "1"}, max={"cpu": "2"})
    counted = replace(
        entry,
        default=Counted(entry.default),
        default_request=Counted(entry.default_request),
        min=Counted(entry.min),
        max=Counted(entry.max),
    )
    Counted.looks = 0
    assert conflicts({f"quota-{number}": [counted] for number in range(1000)}) == ()
    assert Counted.looks <= 20 * 1000
