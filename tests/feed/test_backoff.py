from __future__ import annotations

import pytest

from moorage.cluster.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "shortest", "longest"),
    [(1, 0.25, 0.5), (2, 0.5, 1.0), (3, 1.0, 2.0), (7, 15.0, 30.0), (8, 15.0, 30.0), (10_000, 15.0, 30.0)],
)
def test_delays_double_up_to_a_ceiling_and_are_half_random(failures: int, shortest: float, longest: float) -> None:
    assert Backoff(random=lambda: 0.0).delay_seconds(failures) == shortest
    assert Backoff(random=lambda: 1.0).delay_seconds(failures) == longest


def test_what_the_server_asks_for_is_never_undercut() -> None:
    assert Backoff(random=lambda: 0.0).delay_seconds(1, at_least=60.0) == 60.0
    assert Backoff(random=lambda: 1.0).delay_seconds(1, at_least=60.0) == 60.25


async def test_failures_in_a_row_are_counted_until_something_works() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    attempts = Backoff(random=lambda: 0.0, sleep=sleep).attempts()
    await attempts.wait()
    await attempts.wait()
    attempts.reset()
    await attempts.wait()
    assert slept == [0.25, 0.5, 0.25]
