"""Waiting with a deadline."""

from collections.abc import Iterator

import pytest

from tests.controlplane.waiting import wait_for, wait_for_async


@pytest.fixture
def answers() -> Iterator[str | None]:
    return iter([None, "", "there", "too late"])


def test_it_returns_the_first_true_value(answers: Iterator[str | None]) -> None:
    assert wait_for(lambda: next(answers), timeout=10, message="an answer") == "there"


async def test_it_awaits_coroutines_and_takes_plain_functions(answers: Iterator[str | None]) -> None:
    async def next_answer() -> str | None:
        return next(answers)

    assert await wait_for_async(next_answer, timeout=10, message="an answer") == "there"
    assert await wait_for_async(lambda: next(answers), timeout=10, message="an answer") == "too late"


def test_after_the_deadline_it_says_what_it_waited_for_and_what_came_last() -> None:
    with pytest.raises(TimeoutError, match=r"not after 0\.3 s: the moon \(last: 0\)"):
        wait_for(lambda: 0, timeout=0.1, message=lambda: "the moon")


async def test_ignored_exceptions_are_told_and_others_end_the_wait() -> None:
    def fails() -> bool:
        raise KeyError("pod")

    with pytest.raises(TimeoutError, match=r"the pod \(last: KeyError\('pod'\)\)"):
        await wait_for_async(fails, timeout=0.1, message="the pod", ignore=KeyError)
    with pytest.raises(KeyError):
        await wait_for_async(fails, timeout=10, message="the pod")
