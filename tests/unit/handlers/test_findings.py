"""What a buffer's owner is told of placeholders that are not made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from moorage.backends.allocation import allocate
from moorage.backends.choice import Backend, Choice
from moorage.handlers.findings import findings
from tests.unit.backends.templates import plan


def told(*, wanted: int = 3, most: int = 5000, conditions: tuple[dict[str, str], ...] = ()) -> dict[str, str]:
    """What is found, by its reason; `conditions` are those of the placeholders' Deployment."""
    choice = Choice(backend=Backend.PLACEHOLDER)
    surroundings = SimpleNamespace(priority_class=None, priority_class_is_known=False, kubernetes=(1, 36))
    holders = SimpleNamespace(body={"status": {"conditions": conditions}})
    found = findings(
        plan(),
        choice,
        allocate(choice, active=wanted, standby=0, fold=False, most_placeholders=most),
        cast("Any", surroundings),
        holders=cast("Any", holders),
        nodes={},
        most_placeholders=most,
    )
    return {each.reason: each.message for each in found}


def test_units_beyond_the_operators_limit_are_counted() -> None:
    assert told(wanted=5) == {}
    assert told(wanted=5, most=3) == {
        "PlaceholderLimit": "2 units are not made: a buffer may have 3 placeholders (--max-placeholders)"
    }


def test_why_placeholders_cannot_be_created_is_told_in_the_words_of_their_deployment() -> None:
    failure = {"type": "ReplicaFailure", "message": 'pods "x" is forbidden: exceeded quota: q'}
    assert told(conditions=({**failure, "status": "False"},)) == {}
    assert told(conditions=({**failure, "status": "True"},)) == {
        "PlaceholdersRefused": 'placeholders cannot be created: pods "x" is forbidden: exceeded quota: q'
    }
