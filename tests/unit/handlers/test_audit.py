"""What quotas in Audit mode would have refused stands in their status, and outlives restarts."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.handlers.quotas import Quotas
from moorage.quota.ledger import Ledger
from moorage.status.namespacequota import View

KEY = ("team-a", "team")


@pytest.fixture
def quotas() -> Quotas:
    return Quotas(Ledger(), lambda *_: View())


def accept(quotas: Quotas, generation: int = 1, enforcement: str = "Audit") -> None:
    quotas.accept(*KEY, generation=generation, spec={"hard": {"pods": 1}, "enforcement": enforcement})


def shown(quotas: Quotas) -> Any:
    status = quotas.desired(*KEY)
    assert status is not None
    return {each["reason"]: each["objects"] for each in status.get("wouldRefuse", ())}


def test_nothing_is_shown_before_anything_would_have_been_refused(quotas: Quotas) -> None:
    accept(quotas)
    assert shown(quotas) == {}


def test_objects_are_counted_by_reason(quotas: Quotas) -> None:
    accept(quotas)
    for step in ("total", "bounds", "total"):
        quotas.would_refuse(*KEY, step)
    assert shown(quotas) == {"bounds": 1, "total": 2}


def test_another_spec_begins_anew_and_the_same_goes_on(quotas: Quotas) -> None:
    accept(quotas)
    quotas.would_refuse(*KEY, "total")
    accept(quotas)
    assert shown(quotas) == {"total": 1}
    accept(quotas, generation=2)
    assert shown(quotas) == {}


def test_a_quota_that_is_enforced_shows_nothing(quotas: Quotas) -> None:
    accept(quotas, enforcement="Enforce")
    quotas.would_refuse(*KEY, "total")
    assert shown(quotas) == {}


@pytest.mark.parametrize(
    ("generation", "stored", "expected"),
    [
        pytest.param(1, 7, 8, id="before the restart"),
        pytest.param(2, 7, 1, id="for another spec"),
        pytest.param(1, 0, 1, id="fewer"),
    ],
)
def test_what_is_stored_is_counted_on(quotas: Quotas, generation: int, stored: int, expected: int) -> None:
    accept(quotas)
    status = {"observedGeneration": generation, "wouldRefuse": [{"reason": "total", "objects": stored}]}
    quotas.adopt(*KEY, status)
    quotas.would_refuse(*KEY, "total")
    assert shown(quotas) == {"total": expected}


def test_two_replicas_agree(quotas: Quotas) -> None:
    other = Quotas(Ledger(), lambda *_: View())
    for each, count in ((quotas, 3), (other, 5)):
        accept(each)
        for _ in range(count):
            each.would_refuse(*KEY, "count")
    for one, two in ((quotas, other), (other, quotas), (quotas, other)):
        one.adopt(*KEY, two.desired(*KEY) or {})
    assert shown(quotas) == shown(other) == {"count": 5}


def test_unknown_quotas_are_let_go(quotas: Quotas) -> None:
    quotas.would_refuse(*KEY, "total")
    quotas.adopt(*KEY, {"observedGeneration": 1})
    assert quotas.desired(*KEY) is None
