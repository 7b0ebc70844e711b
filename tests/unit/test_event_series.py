"""What happens often is one event with a count."""

from __future__ import annotations

import pytest

from moorage.cluster.event_series import (
    FIRST_REWRITE_SECONDS,
    MOST_SERIES,
    QUIET_SECONDS,
    EventSeries,
    Happening,
    NewEvent,
    Regarding,
    SeriesUpdate,
    Write,
)
from moorage.cluster.events import event_body

NOW = 1_800_000_000.0


def happening(name: str = "team-a", reason: str = "Refused", alike: str = "pods", note: str = "no") -> Happening:
    regarding = Regarding("moorage.dev/v1alpha1", "NamespaceQuota", "team-a", name, f"uid of {name}")
    return Happening(regarding=regarding, reason=reason, action="Admission", note=note, alike=alike)


def after(series: EventSeries, seconds: float) -> list[Write]:
    return list(series.due(NOW + seconds))


@pytest.fixture
def series() -> EventSeries:
    return EventSeries()


def test_what_happens_once_is_written_once(series: EventSeries) -> None:
    series.add(happening(), NOW)
    [new] = after(series, 0)
    assert isinstance(new, NewEvent)
    assert (new.happening, new.at) == (happening(), NOW)
    assert after(series, 100) == []


def test_what_happens_again_is_counted(series: EventSeries) -> None:
    series.add(happening(), NOW)
    [new] = after(series, 0)
    for tenth in range(1, 10):
        series.add(happening(note="again"), NOW + tenth / 10)
        assert after(series, tenth / 10) == []
    assert after(series, FIRST_REWRITE_SECONDS) == [SeriesUpdate("team-a", new.name, 10, NOW + 0.9)]
    assert after(series, FIRST_REWRITE_SECONDS + 1) == []


def test_a_count_is_written_in_intervals(series: EventSeries) -> None:
    counts = []
    for second in range(200):
        series.add(happening(), NOW + second)
        counts += [each.count for each in after(series, second) if isinstance(each, SeriesUpdate)]
    assert counts == [3, 33, 63, 93, 123, 153, 183]


def test_a_series_is_over_after_a_while_and_its_last_count_is_written(series: EventSeries) -> None:
    series.add(happening(), NOW)
    [first] = after(series, 0)
    series.add(happening(), NOW + 1)
    assert after(series, 1 + QUIET_SECONDS) == [SeriesUpdate("team-a", first.name, 2, NOW + 1)]
    assert len(series) == 0
    series.add(happening(), NOW + 2 + QUIET_SECONDS)
    [second] = after(series, 2 + QUIET_SECONDS)
    assert isinstance(second, NewEvent)
    assert second.name != first.name


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(happening(name="team-b"), id="another object"),
        pytest.param(happening(reason="WouldRefuse"), id="another reason"),
        pytest.param(happening(alike="requests.cpu"), id="another limit"),
    ],
)
def test_other_things_are_other_events(series: EventSeries, other: Happening) -> None:
    series.add(happening(), NOW)
    series.add(other, NOW)
    assert len(after(series, 0)) == 2


def test_an_event_that_is_gone_is_written_anew(series: EventSeries) -> None:
    series.add(happening(), NOW)
    [new] = after(series, 0)
    series.forget(new.name)
    series.add(happening(), NOW + 1)
    assert [type(each) for each in after(series, 1)] == [NewEvent]


def test_memory_has_a_bound(series: EventSeries) -> None:
    for number in range(MOST_SERIES + 5):
        series.add(happening(name=f"quota-{number}"), NOW)
    assert (len(series), series.dropped) == (MOST_SERIES, 5)
    assert len(after(series, 0)) == MOST_SERIES
    after(series, QUIET_SECONDS)
    series.add(happening(), NOW + QUIET_SECONDS)
    assert len(after(series, QUIET_SECONDS)) == 1


def test_a_long_note_is_cut_to_what_the_api_server_takes() -> None:
    body = event_body(NewEvent("a.1", happening(note="ä" * 1000), NOW), "here")
    assert len(body["note"].encode()) <= 1024
    assert body["note"].endswith("ä ...")
    assert body["eventTime"] == "2027-01-15T08:00:00.000000Z"
