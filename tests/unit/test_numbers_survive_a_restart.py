"""An operator that starts anew knows nothing for a moment, and must not write that over numbers that are known."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.status_writer import Status, StatusKey
from moorage.handlers.operator import BUFFERS, QUOTAS, key_of
from moorage.status.findings import RESOLVING
from moorage.status.namespacequota import Trouble, View
from moorage.status.workload import Unresolved, Workload
from tests.builders import pod_spec
from tests.unit.operator_states import Known, operator_state

PENDING = Unresolved(RESOLVING, "the referenced object is being read", pending=True)
QUOTA, BUFFER = key_of(QUOTAS, "team-a", "all"), key_of(BUFFERS, "team-a", "web")
SPECS: dict[StatusKey, dict[str, Any]] = {
    QUOTA: {"hard": {"pods": 10}},
    BUFFER: {"podTemplateRef": {"name": "unit"}, "replicas": 3},
}
BOTH = pytest.mark.parametrize("key", [QUOTA, BUFFER], ids=lambda key: key.kind)


class Started:
    """An operator's state before anything has been read."""

    def __init__(self) -> None:
        self.found: Workload | Unresolved = PENDING
        self.known = Known()
        self.state = operator_state(lambda _: self.found, known=self.known)

    def accept(self, key: StatusKey, *, described: bool, generation: int = 1) -> None:
        self.state.accept(key, uid="1", generation=generation, spec=SPECS[key], described=described)

    def read_all(self) -> None:
        self.find(Workload(pod_spec(cpu="1")))
        self.known.all = View()

    def find(self, what: Workload | Unresolved) -> None:
        """Have it known what the buffer refers to."""
        self.found = what
        self.state.share_out(BUFFER.namespace)


@pytest.fixture
async def started() -> Started:
    return Started()


def reason(status: Status | None) -> str:
    assert status is not None
    return str(status["conditions"][0]["reason"])


@BOTH
def test_a_new_object_is_told_that_its_numbers_follow(started: Started, key: StatusKey) -> None:
    started.accept(key, described=False)
    assert reason(started.state.desired(key)) in ("Counting", "Resolving")


@BOTH
def test_an_object_with_numbers_keeps_them_until_there_are_new_ones(started: Started, key: StatusKey) -> None:
    started.accept(key, described=True)
    assert started.state.desired(key) is None
    started.read_all()
    assert reason(started.state.desired(key)) == "Reconciled"


@BOTH
def test_an_object_made_anew_under_its_old_name_has_no_numbers_to_keep(started: Started, key: StatusKey) -> None:
    started.accept(key, described=True)
    started.state.remove(key, uid="1")
    started.accept(key, described=False)
    assert started.state.desired(key) is not None


def test_so_does_a_quota_with_a_name_that_nothing_counts(started: Started) -> None:
    spec = {"hard": {"pods": 10, "x.com/gpu": 1}}
    started.state.accept(QUOTA, uid="1", generation=1, spec=spec, described=True)
    assert started.state.desired(QUOTA) is None
    started.read_all()
    assert reason(started.state.desired(QUOTA)) == "UnsupportedResource"


def test_a_kind_that_is_still_being_listed_does_not_write_over_what_is_known_of_it(started: Started) -> None:
    spec = {"hard": {"pods": 10, "secrets": 5}}
    started.state.accept(QUOTA, uid="1", generation=1, spec=spec, described=True)
    started.known.each["pods"] = View()
    assert started.state.desired(QUOTA) is None
    started.known.each["secrets"] = View(complete=False, trouble=Trouble.STALE, message="secrets cannot be listed")
    status = started.state.desired(QUOTA)
    assert status is not None
    assert status["used"] == {"pods": "0"}, "lest one kind keeps the numbers of all others old for good"


def test_what_is_wrong_is_written_at_once(started: Started) -> None:
    started.accept(BUFFER, described=True)
    started.find(Unresolved("TemplateNotFound", "there is no PodTemplate unit in namespace team-a"))
    assert reason(started.state.desired(BUFFER)) == "TemplateNotFound"
    started.accept(QUOTA, described=True)
    started.known.all = View(complete=False, trouble=Trouble.FORBIDDEN, message="pods cannot be read")
    assert reason(started.state.desired(QUOTA)) == "Forbidden"
