"""A difference from a native quota is told once it has lasted, and since when."""

import pytest

from moorage.api.namespacequota import NativeDifference
from moorage.quota.native import Difference
from moorage.status.native import SETTLING_SECONDS, DifferenceLog, Lasting, native_status
from tests.builders import nano

NOON = 1_893_499_200.0
PODS = Difference("theirs", "pods", nano(x="3")["x"], nano(x="2")["x"])
MORE_PODS = Difference("theirs", "pods", nano(x="9")["x"], nano(x="2")["x"])
CPU = Difference("theirs", "cpu", nano(x="3")["x"], nano(x="2")["x"])
OTHER = Difference("another", "pods", nano(x="3")["x"], nano(x="2")["x"])


@pytest.fixture
def log() -> DifferenceLog:
    return DifferenceLog()


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0, False), (SETTLING_SECONDS - 0.1, False), (SETTLING_SECONDS, True), (9999.0, True)]
)
def test_one_is_told_when_it_has_lasted_for_longer_than_a_moment(
    log: DifferenceLog, seconds: float, told: bool
) -> None:
    assert log.update([PODS], NOON) == []
    assert log.update([PODS], NOON + seconds) == ([Lasting(PODS, NOON)] if told else [])


def test_it_is_told_as_it_is_now_and_since_when_there_has_been_any(log: DifferenceLog) -> None:
    log.update([PODS], NOON)
    assert log.update([MORE_PODS], NOON + 60) == [Lasting(MORE_PODS, NOON)]


def test_one_that_comes_back_begins_anew(log: DifferenceLog) -> None:
    log.update([PODS], NOON)
    log.update([], NOON + 60)
    assert log.update([PODS], NOON + 61) == []
    assert log.update([PODS], NOON + 90) == [Lasting(PODS, NOON + 61)]


def test_each_resource_of_each_quota_has_its_own_beginning(log: DifferenceLog) -> None:
    log.update([PODS], NOON)
    log.update([PODS, CPU], NOON + 10)
    assert log.update([PODS, CPU, OTHER], NOON + 20) == [Lasting(PODS, NOON), Lasting(CPU, NOON + 10)]
    assert log.update([CPU, OTHER], NOON + 30) == [Lasting(CPU, NOON + 10), Lasting(OTHER, NOON + 20)]


def test_it_is_pending_as_long_as_anything_differs(log: DifferenceLog) -> None:
    assert not log.pending
    log.update([PODS], NOON)
    assert log.pending
    log.update([], NOON)
    assert not log.pending


def test_it_tells_for_how_long_and_0_of_one_that_it_has_not_seen_yet(log: DifferenceLog) -> None:
    log.update([PODS], NOON)
    log.update([MORE_PODS], NOON + 60)
    assert [log.seconds(each, NOON + 90) for each in (PODS, MORE_PODS, CPU, OTHER)] == [90, 90, 0, 0]


def test_status_shows_it_in_the_resources_unit_with_the_time_it_began() -> None:
    memory = Difference("theirs", "requests.memory", nano(x="3Gi")["x"], nano(x="1Gi")["x"])
    assert native_status([Lasting(PODS, NOON + 0.9), Lasting(memory, NOON)]) == (
        NativeDifference(resource_quota="theirs", resource="pods", used="3", counted="2", since="2030-01-01T12:00:00Z"),
        NativeDifference(
            resource_quota="theirs",
            resource="requests.memory",
            used="3Gi",
            counted="1Gi",
            since="2030-01-01T12:00:00Z",
        ),
    )
