"""A buffer grows at once and shrinks after a while."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.buffer.stabilization import Stabilized, Target, Wanted, stabilize

WINDOW = 300.0


def run(*steps: tuple[float, int, int], window: float = WINDOW) -> list[Stabilized]:
    """Return the answer at each time for the total and the active part that are wanted then."""
    history: tuple[Wanted, ...] = ()
    answers = []
    for now, replicas, active in steps:
        answers.append(stabilize(history, Target(replicas, active), window, now=now))
        history = answers[-1].history
    return answers


def sizes(answers: list[Stabilized]) -> list[tuple[int, int]]:
    return [(each.target.replicas, each.target.active) for each in answers]


def test_growing_is_immediate() -> None:
    first, second = run((0, 3, 3), (1, 50, 50))
    assert second.target == Target(50, 50)
    assert (first.until, second.until) == (None, None)


def test_shrinking_waits_for_the_window() -> None:
    answers = run((0, 50, 50), (100, 3, 3), (399.9, 3, 3), (400, 3, 3))
    assert sizes(answers) == [(50, 50), (50, 50), (50, 50), (3, 3)]
    assert [each.until for each in answers] == [None, 400, 400, None]


def test_a_size_that_goes_up_and_down_stays_up() -> None:
    ups_and_downs = [(60.0 * step, 10 + 5 * (step % 2), 0) for step in range(20)]
    assert set(sizes(run(*ups_and_downs))[1:]) == {(15, 0)}


def test_it_shrinks_in_steps_as_the_sizes_of_the_window_pass() -> None:
    answers = run((0, 90, 0), (100, 60, 0), (200, 30, 0), (399, 30, 0), (400, 30, 0), (500, 30, 0))
    assert [each.target.replicas for each in answers] == [90, 90, 90, 90, 60, 30]
    assert answers[2].until == 400


def test_total_and_active_part_are_looked_at_each_for_itself() -> None:
    """A change of the strategy must not hold both tiers at full size."""
    to_standby = run((0, 180, 180), (10, 180, 0), (310, 180, 0))
    assert [(each.target.active, each.target.standby) for each in to_standby] == [(180, 0), (180, 0), (0, 180)]


def test_without_a_window_it_is_what_is_wanted() -> None:
    assert sizes(run((0, 50, 20), (0, 3, 3), (1, 0, 0), window=0)) == [(50, 20), (3, 3), (0, 0)]


STEPS = st.lists(
    st.tuples(st.integers(1, 200), st.integers(0, 9), st.integers(0, 9)).map(
        lambda step: (step[0], step[1] + step[2], step[1])
    ),
    min_size=1,
    max_size=20,
)


@given(STEPS)
def test_it_is_the_largest_size_of_the_window(steps: list[tuple[int, int, int]]) -> None:
    times = list(itertools.accumulate(step[0] for step in steps))
    answers = run(*((time, total, active) for time, (_, total, active) in zip(times, steps, strict=True)))
    for at, answer in enumerate(answers):
        # Each size was wanted from its own time until the next one's.
        wanted = [steps[i] for i in range(at) if times[i + 1] + WINDOW > times[at]] + [steps[at]]
        assert answer.target == Target(max(each[1] for each in wanted), max(each[2] for each in wanted))
        assert answer.target.standby >= 0


@pytest.mark.parametrize("repeats", [2, 50])
def test_looking_again_changes_nothing(repeats: int) -> None:
    answers = run((0, 50, 50), (100, 3, 3), *((110.0, 3, 3),) * repeats)
    assert len({each.history for each in answers[2:]}) == 1
