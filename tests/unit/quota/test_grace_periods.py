"""A deleted pod counts until its grace period is over for the second time, then only as an object."""

import pytest

from moorage.quota.ledger import Ledger, Terms
from moorage.quota.usage import ObjectUse
from tests.builders import nano, pod_use

OBJECT_ONLY = nano(**{"count/pods": "1"})
FULL = nano(**{"pods": "1", "count/pods": "1", "requests.cpu": "1"})


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", Terms(frozenset({"pods", "count/pods", "requests.cpu"})))
    ledger.take_changed()
    return ledger


def used(ledger: Ledger) -> dict[str, int]:
    return {name: amount for name, amount in ledger.usage("team-a", "q").used.items() if amount}


def leaving(released_at: float | None = 100.0, *, uid: str = "a", cpu: str = "1", phase: str = "Running") -> ObjectUse:
    return pod_use(uid, cpu=cpu, released_at=released_at, phase=phase)


@pytest.mark.parametrize(
    ("now", "counts"), [(99.0, FULL), (100.0, FULL), (100.001, OBJECT_ONLY), (1000.0, OBJECT_ONLY)]
)
def test_it_counts_until_the_moment_is_past(ledger: Ledger, now: float, counts: dict[str, int]) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(now)
    assert used(ledger) == counts
    assert ledger.usage("team-a", "q").pods == counts.get("pods", 0) // 10**9


def test_the_moment_is_known_in_advance(ledger: Ledger) -> None:
    assert ledger.next_release() is None
    ledger.put(leaving(200.0, uid="b"))
    ledger.put(leaving(100.0, uid="a"))
    assert ledger.next_release() == 100.0
    ledger.release_due(150.0)
    assert ledger.next_release() == 200.0
    ledger.release_due(250.0)
    assert ledger.next_release() is None


def test_pods_that_are_not_deleted_are_never_released(ledger: Ledger) -> None:
    ledger.put(leaving(None))
    ledger.release_due(1e12)
    assert used(ledger) == FULL


def test_the_release_is_told_as_a_change_once(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.take_changed()
    ledger.release_due(99.0)
    assert ledger.take_changed() == set()
    ledger.release_due(101.0)
    assert ledger.take_changed() == {("team-a", "q")}
    ledger.release_due(102.0)
    assert ledger.take_changed() == set()


def test_a_pod_that_is_first_seen_after_its_release_is_released_at_the_next_look(ledger: Ledger) -> None:
    ledger.release_due(500.0)
    ledger.put(leaving(100.0))
    assert ledger.next_release() == 100.0
    ledger.release_due(500.0)
    assert used(ledger) == OBJECT_ONLY


def test_it_stays_released_when_it_is_seen_again(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.put(leaving(100.0))
    assert used(ledger) == OBJECT_ONLY


def test_it_stays_released_when_it_changes_otherwise(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.put(leaving(100.0, cpu="7"))
    assert used(ledger) == OBJECT_ONLY
    assert ledger.next_release() is None


def test_it_stays_released_over_a_relist(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.replace([leaving(100.0)])
    assert used(ledger) == OBJECT_ONLY


def test_a_new_quota_counts_it_as_an_object_only(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.remove_quota("team-a", "q")
    ledger.set_quota("team-a", "q", Terms(frozenset({"pods", "count/pods", "requests.cpu"})))
    assert used(ledger) == OBJECT_ONLY
    assert ledger.recount()["team-a", "q"] == ledger.usage("team-a", "q")


@pytest.mark.parametrize("seen_before", [True, False], ids=["seen while running", "first seen while leaving"])
def test_a_longer_grace_period_counts_it_again_and_a_shorter_one_releases_it_earlier(
    ledger: Ledger, seen_before: bool
) -> None:
    if seen_before:
        ledger.put(leaving(None))
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.put(leaving(200.0))
    assert used(ledger) == FULL
    ledger.put(leaving(150.0))
    ledger.release_due(151.0)
    assert used(ledger) == OBJECT_ONLY


def test_a_shorter_grace_period_does_not_release_it_twice(ledger: Ledger) -> None:
    ledger.put(leaving(200.0))
    ledger.put(leaving(100.0))
    ledger.release_due(300.0)
    assert used(ledger) == OBJECT_ONLY


def test_a_grace_period_that_comes_back_to_its_first_end_releases_once(ledger: Ledger) -> None:
    for moment in (100.0, 200.0, 100.0):
        ledger.put(leaving(moment))
    ledger.release_due(300.0)
    assert used(ledger) == OBJECT_ONLY


def test_one_that_is_gone_before_its_release_is_gone(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.delete("a")
    ledger.release_due(101.0)
    assert used(ledger) == {}


def test_one_that_is_gone_after_its_release_takes_its_object_along(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.delete("a")
    assert used(ledger) == {}


def test_a_pod_with_a_uid_that_was_released_before_counts_fully(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.release_due(101.0)
    ledger.delete("a")
    ledger.put(leaving(None))
    assert used(ledger) == FULL


def test_one_that_finishes_while_it_is_leaving_is_an_object_at_once(ledger: Ledger) -> None:
    ledger.put(leaving(100.0))
    ledger.put(leaving(100.0, phase="Succeeded"))
    assert used(ledger) == OBJECT_ONLY
    ledger.release_due(101.0)
    assert used(ledger) == OBJECT_ONLY


def test_all_that_are_due_are_released_at_once_and_only_these(ledger: Ledger) -> None:
    for at, uid in enumerate("dbca"):
        ledger.put(leaving(100.0 + at, uid=uid))
    ledger.release_due(102.5)
    assert used(ledger)["pods"] == nano(pods="1")["pods"]
    assert used(ledger)["count/pods"] == nano(pods="4")["pods"]
