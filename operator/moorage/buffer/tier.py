"""Which tiers a buffer has, and which windows decide with them."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from moorage.buffer.promise import Latencies


class Tiers(Enum):
    """What kinds of units there are."""

    BOTH = "active and standby"
    ACTIVE = "active"
    STANDBY = "standby"

    def wait(self, latencies: Latencies, max_wait: Fraction) -> Fraction:
        """Return the wait that can be promised: with standby alone, none shorter than a resume."""
        return max(max_wait, latencies.resume) if self is Tiers.STANDBY else max_wait

    def windows(self, latencies: Latencies, max_wait: Fraction) -> tuple[Fraction, Fraction]:
        """Return the near and the far window in seconds, empty where it does not matter.

        With one tier the far window decides alone. With both, a wait as long as a resume makes all units alike.
        """
        near, far = latencies.windows(self.wait(latencies, max_wait))
        if self is Tiers.BOTH and latencies.resume < latencies.cold:
            return near, far
        return Fraction(0), far
