"""Quotas whose limits contradict each other say so, each of them, for as long as they do."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.conditions import Condition
from moorage.handlers import quotas as module
from moorage.handlers.quotas import Quotas
from moorage.quota.conflicts import conflicts
from moorage.quota.ledger import Ledger
from moorage.status.namespacequota import View

GENEROUS = {"limits": [{"type": "Container", "default": {"cpu": 2}}]}
STRICT = {"limits": [{"type": "Container", "max": {"cpu": 1}}]}
SAID = "default cpu=2 per Container in a is above max cpu=1 per Container in b: what is filled in is refused"


@pytest.fixture
def quotas() -> Quotas:
    return Quotas(Ledger(), lambda *_: View())


def accept(quotas: Quotas, name: str, spec: dict[str, Any], namespace: str = "team-a") -> None:
    quotas.accept(namespace, name, generation=1, spec=spec)


def conflict(quotas: Quotas, name: str, namespace: str = "team-a") -> Condition | None:
    status = quotas.status(namespace, name)
    assert status is not None
    return next((each for each in status.conditions if each.type == "LimitsConflict"), None)


def said(quotas: Quotas, name: str) -> tuple[str, str, str]:
    condition = conflict(quotas, name)
    assert condition is not None
    return condition.status, condition.reason, condition.message


def test_both_say_what_contradicts(quotas: Quotas) -> None:
    accept(quotas, "a", GENEROUS)
    assert said(quotas, "a")[:2] == ("False", "Consistent")
    accept(quotas, "b", STRICT)
    assert said(quotas, "a") == said(quotas, "b") == ("True", "OtherQuota", SAID)


def test_one_that_has_no_part_in_it_says_nothing_of_it(quotas: Quotas) -> None:
    for name, spec in (
        ("a", GENEROUS),
        ("b", STRICT),
        ("c", {"limits": [{"type": "Pod"}]}),
        ("d", {"hard": {"pods": 1}}),
    ):
        accept(quotas, name, spec)
    assert said(quotas, "c")[0] == "False"
    assert conflict(quotas, "d") is None


@pytest.mark.parametrize("end", ["corrected", "emptied", "made invalid", "deleted"])
def test_it_ends_with_what_caused_it(quotas: Quotas, end: str) -> None:
    accept(quotas, "a", GENEROUS)
    accept(quotas, "b", STRICT)
    match end:
        case "corrected":
            accept(quotas, "b", {"limits": [{"type": "Container", "max": {"cpu": 2}}]})
        case "emptied":
            accept(quotas, "b", {})
        case "made invalid":
            accept(quotas, "b", {"hard": {"gpu": 1}, **STRICT})
        case "deleted":
            quotas.remove("team-a", "b")
    assert said(quotas, "a")[0] == "False"


def test_other_namespaces_have_nothing_to_do_with_it(quotas: Quotas) -> None:
    accept(quotas, "a", GENEROUS)
    accept(quotas, "b", STRICT, namespace="team-b")
    assert said(quotas, "a")[0] == "False"


def test_a_quota_that_is_against_many_names_some_of_them(quotas: Quotas) -> None:
    for number in range(30):
        accept(quotas, f"b-{number:02}", STRICT)
    accept(quotas, "a", GENEROUS)
    message = said(quotas, "a")[2]
    assert message.count("is above max") == 20
    assert message.endswith("; 10 further contradictions")
    assert said(quotas, "b-29")[2].count("is above max") == 1


def test_they_are_looked_for_when_somebody_asks(quotas: Quotas, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a start quotas come one by one, and each would look at all others."""
    looks: list[int] = []
    monkeypatch.setattr(module, "conflicts", lambda entries: [looks.append(len(entries)), conflicts(entries)][1])
    for number in range(100):
        accept(quotas, f"q-{number}", STRICT)
    for number in range(100):
        assert said(quotas, f"q-{number}")[0] == "False"
    assert looks == [100]
