"""Units whose room was taken are made anew always, never, or so many in an hour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.buffer.refill import Rule, Withheld, parse_refill, refill

EMPTY = Withheld()


def test_always_withholds_nothing() -> None:
    assert refill(EMPTY, Rule.ALWAYS, taken=20, now=0) == EMPTY


def test_none_withholds_all_that_was_taken_for_good() -> None:
    first = refill(EMPTY, Rule.NONE, taken=3, now=0)
    assert refill(first, Rule.NONE, taken=4, now=10**6) == Withheld(7)


def test_setting_always_gives_all_back() -> None:
    assert refill(Withheld(7), Rule.ALWAYS, taken=0, now=0) == EMPTY


def test_a_cap_gives_back_one_by_one() -> None:
    state = refill(EMPTY, 20, taken=10, now=1000)
    assert state == Withheld(9, 1180), "the first at once, the next after three minutes"
    assert refill(state, 20, taken=0, now=1179) == state
    assert refill(state, 20, taken=0, now=1180) == Withheld(8, 1360)
    assert refill(state, 20, taken=0, now=10**6).count == 0


def test_an_hour_without_use_is_not_saved_up() -> None:
    once = refill(EMPTY, 20, taken=1, now=0)
    assert refill(once, 20, taken=10, now=7200) == Withheld(9, 7380)


def test_a_cap_after_none_begins_to_give_back() -> None:
    assert refill(Withheld(5), 60, taken=0, now=100) == Withheld(5, 160)


@given(
    cap=st.integers(1, 500),
    steps=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 40)), min_size=1, max_size=60),
)
def test_no_hour_sees_more_than_the_cap(cap: int, steps: list[tuple[int, int]]) -> None:
    state, now = EMPTY, 0.0
    made: list[tuple[float, int]] = []
    for pause, taken in steps:
        now += pause
        after = refill(state, cap, taken=taken, now=now)
        made.append((now, state.count + taken - after.count))
        assert after.count >= 0
        state = after
    for end, _ in made:
        in_the_hour = sum(count for time, count in made if end - 3600 < time <= end)
        # What fell due while nobody looked is made late, all at once.
        late = max((pause for pause, _ in steps), default=0)
        assert in_the_hour <= cap * (1 + late / 3600) + 1


@pytest.mark.parametrize(("text", "policy"), [("Always", Rule.ALWAYS), ("None", Rule.NONE), ("20/h", 20)])
def test_it_is_read_as_written(text: str, policy: Rule | int) -> None:
    assert parse_refill(text) == policy


@pytest.mark.parametrize("text", ["always", "0/h", "20", "20/m", "-1/h", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a refill; write Always, None, or a number per hour"):
        parse_refill(text)
