"""What a quota covers whole, and the labels that tell it."""

from __future__ import annotations

import pytest

from moorage.quota.coverage import coverage, covered
from moorage.quota.scopes import Requirement

IN_CLASSES = Requirement("PriorityClass", "In", frozenset({"high", "higher"}))
ACROSS = Requirement("CrossNamespacePodAffinity")
GOLD = "gold.storageclass.storage.k8s.io"


@pytest.mark.parametrize(
    ("names", "requirements", "found"),
    [
        pytest.param(["pods"], [IN_CLASSES], {"priority-class.high", "priority-class.higher"}, id="classes"),
        pytest.param(["requests.cpu"], [IN_CLASSES], {"priority-class.high", "priority-class.higher"}, id="by-cpu"),
        pytest.param(["pods"], [ACROSS], {"cross-namespace-affinity"}, id="affinity"),
        pytest.param(
            [f"{GOLD}/requests.storage", f"{GOLD}/persistentvolumeclaims", "pods"],
            [],
            {"storage-class.gold"},
            id="storage-class",
        ),
        pytest.param(["pods"], [], set(), id="no-scope-names-no-class"),
        pytest.param([], [IN_CLASSES], set(), id="nothing-limited"),
        pytest.param(["count/x.example.com"], [IN_CLASSES], set(), id="nothing-of-pods-limited"),
        pytest.param(["pods"], [IN_CLASSES, ACROSS], set(), id="only-some-of-the-pods"),
        pytest.param(["pods"], [Requirement("PriorityClass", "NotIn", frozenset({"low"}))], set(), id="not-named"),
        pytest.param(["pods"], [Requirement("PriorityClass")], set(), id="any-class-is-not-named"),
        pytest.param([f"{GOLD}/requests.storage"], [Requirement("VolumeAttributesClass")], set(), id="some-claims"),
    ],
)
def test_a_quota_covers_what_it_counts_without_exception(
    names: list[str], requirements: list[Requirement], found: set[str]
) -> None:
    assert covered(names, requirements) == found


def test_labels_of_long_names_are_short_and_unique() -> None:
    one, other = coverage("priority-class", "a" * 253), coverage("priority-class", "a" * 252 + "b")
    assert len(one) == len(other) == 63
    assert one != other
