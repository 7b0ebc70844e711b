"""Whether claims for devices count under the name of an extended resource decides with which names it is enforced."""

from __future__ import annotations

import pytest

from moorage.handlers.quotas import Quotas
from moorage.quota.ledger import Ledger
from moorage.quota.names import DEVICE_CLAIMS
from moorage.status.namespacequota import Trouble, View
from tests.unit.operator_states import Known

GPU = "requests.nvidia.com/gpu"


def claimed(classes: dict[str, str | None] | None, view: View, *, hard: str = GPU) -> frozenset[str] | None:
    ledger, known = Ledger(), Known()
    known.each[DEVICE_CLAIMS] = view
    if classes is not None:
        ledger.set_device_classes(classes)
    quotas = Quotas(ledger, known)
    quotas.accept("team-a", "team", generation=1, spec={"hard": {hard: 4, "pods": 9}})
    return quotas.claimed("team-a", "team")


@pytest.mark.parametrize(
    ("classes", "view", "expected"),
    [
        pytest.param({"gpu": "nvidia.com/gpu"}, View(), {GPU}, id="a-class-has-its-name"),
        pytest.param({"gpu": None, "nic": "example.com/nic"}, View(), set(), id="no-class-has-it"),
        pytest.param(None, View(complete=False), None, id="being-listed"),
        pytest.param(None, View(), {GPU}, id="classes-cannot-be-known"),
        pytest.param(None, View(complete=False, trouble=Trouble.FORBIDDEN), {GPU}, id="forbidden"),
        pytest.param(None, View(complete=False, trouble=Trouble.NOT_SERVED), set(), id="no-claims-at-all"),
    ],
)
def test_what_is_not_known_is_taken_for_claimed(
    classes: dict[str, str | None] | None, view: View, expected: set[str] | None
) -> None:
    assert claimed(classes, view) == expected


def test_a_quota_without_extended_resources_waits_for_nothing() -> None:
    assert claimed(None, View(complete=False), hard="requests.cpu") == frozenset()
