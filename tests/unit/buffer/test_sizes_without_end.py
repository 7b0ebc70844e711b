"""A spec that asks for billions of units is sized in a moment: others wait for the same process."""

from __future__ import annotations

from fractions import Fraction

import pytest

from moorage.buffer.arrivals import Arrivals
from moorage.buffer.promise import cheapest, price
from moorage.buffer.windows import Windows, windows

LEVEL = Fraction(99, 100)


class Counted:
    """Windows that count how often they are asked."""

    def __init__(self, law: Windows) -> None:
        self._law = law
        self.asked = 0

    def level(self, near: int, far: int) -> float:
        self.asked += 1
        return self._law.level(near, far)

    def least_near(self, level: Fraction) -> int:
        return self._law.least_near(level)

    def least_far(self, level: Fraction) -> int:
        return self._law.least_far(level)


@pytest.mark.parametrize("standby_price", [Fraction(1, 10**9), Fraction(1, 20), Fraction(1)], ids=str)
@pytest.mark.parametrize("rate", [10**6, 17 * 10**6, 10**9, 10**15])
def test_the_cheapest_of_billions_is_found_in_few_steps_and_keeps_the_promise(
    rate: int, standby_price: Fraction
) -> None:
    law = Counted(windows(Arrivals(Fraction(rate)), Fraction(35), Fraction(120)))
    found = cheapest(law, LEVEL, standby_price=standby_price)
    assert law.asked < 50_000
    assert law.level(found.active, found.total) >= 0.99 - 1e-9
    simple = law.least_near((1 + LEVEL) / 2), law.least_far((1 + LEVEL) / 2)
    bound = simple[0] + standby_price * (simple[1] - simple[0])
    assert price(found, standby_price) <= bound * (1 + Fraction(1, 10**6))
