"""Where a buffer's units go, and which objects there are for them."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.backends.allocation import Allocation, allocate, documents
from moorage.backends.choice import Backend, Choice, Standby
from tests.unit.backends.templates import plan

PLACEHOLDERS = Choice(backend=Backend.PLACEHOLDER)
NOTHING = Choice(backend=Backend.NONE)
SUPPORTED, ASKED = (
    Choice(backend=Backend.AUTOSCALER, standby=standby) for standby in (Standby.SUPPORTED, Standby.ASKED)
)
KARPENTER = Choice(backend=Backend.AUTOSCALER, standby_reason="Karpenter")
IGNORED = Choice(backend=Backend.AUTOSCALER, standby_reason="StrategyIgnored")
PROBING = Choice(backend=Backend.PLACEHOLDER, probes=True)


def objects(choice: Choice, *, active: int = 60, standby: int = 120, version: str | None = "v1beta1") -> dict[str, Any]:
    """Return the objects by name, with the size of those that have one."""
    allocation = allocate(choice, active=active, standby=standby, fold=False)
    found = documents(plan(), choice, allocation, version=version)
    return {each["metadata"]["name"]: each.get("spec", {}).get("replicas") for each in found}


@pytest.mark.parametrize(
    ("choice", "fold", "expected"),
    [
        (SUPPORTED, False, Allocation(active=60, standby=120)),
        (SUPPORTED, True, Allocation(active=60, standby=120)),
        (KARPENTER, False, Allocation(active=60, standby=0, withheld=120)),
        (KARPENTER, True, Allocation(active=180, standby=0, folded=120)),
        (ASKED, True, Allocation(active=60, standby=0, withheld=120)),
        (PLACEHOLDERS, False, Allocation(active=60, standby=0, withheld=120)),
        (PLACEHOLDERS, True, Allocation(active=180, standby=0, folded=120)),
        (NOTHING, True, Allocation(active=60, standby=120)),
    ],
)
def test_standby_units_are_made_withheld_or_folded(choice: Choice, fold: bool, expected: Allocation) -> None:
    assert allocate(choice, active=60, standby=120, fold=fold) == expected


@pytest.mark.parametrize(
    ("choice", "fold", "expected"),
    [
        (ASKED, True, Allocation(active=180, standby=0, folded=120)),
        (ASKED, False, Allocation(active=60, standby=0, withheld=120)),
        (SUPPORTED, True, Allocation(active=60, standby=120)),
    ],
)
def test_those_that_are_folded_stay_while_a_controller_is_asked(
    choice: Choice, fold: bool, expected: Allocation
) -> None:
    assert allocate(choice, active=60, standby=120, fold=fold, folded=True) == expected


@pytest.mark.parametrize(("most", "expected"), [(100, (100, 80)), (180, (180, 0)), (None, (180, 0))])
def test_placeholders_are_bounded(most: int | None, expected: tuple[int, int]) -> None:
    found = allocate(PLACEHOLDERS, active=60, standby=120, fold=True, most_placeholders=most)
    assert (found.active, found.refused) == expected
    assert allocate(KARPENTER, active=60, standby=120, fold=True, most_placeholders=1).refused == 0


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (SUPPORTED, {"web-unit": None, "web-active": 60, "web-standby": 120}),
        (ASKED, {"web-unit": None, "web-active": 60, "web-standby": 0}),
        (IGNORED, {"web-unit": None, "web-active": 60, "web-standby": 0}),
        (KARPENTER, {"web-unit": None, "web-active": 60}),
        (PLACEHOLDERS, {"web-placeholder": 60}),
        (PROBING, {"web-placeholder": 60, "web-unit": None, "web-active": 0}),
        (NOTHING, {}),
    ],
    ids=["supported", "asked", "ignored", "Karpenter", "placeholders", "placeholders that probe", "none"],
)
def test_each_backend_has_its_objects(choice: Choice, expected: dict[str, Any]) -> None:
    assert objects(choice) == expected


def test_without_standby_units_nobody_is_asked_about_them() -> None:
    assert objects(ASKED, standby=0) == {"web-unit": None, "web-active": 60}


@pytest.mark.parametrize(("choice", "expected"), [(SUPPORTED, {}), (PROBING, {"web-placeholder": 60})])
def test_nothing_is_made_of_an_api_that_is_not_served(choice: Choice, expected: dict[str, Any]) -> None:
    assert objects(choice, version=None) == expected


def test_the_version_that_is_served_is_used() -> None:
    allocation = allocate(SUPPORTED, active=1, standby=1, fold=False)
    found = documents(plan(), SUPPORTED, allocation, version="v1alpha1")
    assert {each["apiVersion"] for each in found if each["kind"] == "CapacityBuffer"} == {
        "autoscaling.x-k8s.io/v1alpha1"
    }
