"""What time does to a buffer's size: it shrinks late, and units that were taken come back late or never."""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.buffer.refill import Policy, Withheld, refill
from moorage.buffer.stabilization import Target, Wanted, stabilize


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What is added to a size and taken from it for now; times in seconds since the epoch."""

    held: Target | None = None
    """The size that is kept for now; None when it is what is wanted."""
    held_until: float | None = None
    withheld: int = 0
    """Units that were taken and are not made anew for now."""
    refill_at: float | None = None
    """When the next of these is made; None for never."""

    @property
    def due(self) -> float | None:
        """When to look again; None when time alone changes nothing."""
        times = [each for each in (self.held_until, self.refill_at) if each is not None]
        return min(times, default=None)


NO_ADJUSTMENT = Adjustment()


@dataclass(frozen=True, slots=True)
class Life:
    """What is remembered of a buffer."""

    history: tuple[Wanted, ...] = ()
    withheld: Withheld = field(default_factory=Withheld)

    def step(
        self, wanted: Target, *, window_seconds: float, policy: Policy, taken: int, now: float
    ) -> tuple[Life, Adjustment]:
        """Return what to remember now, and the adjustment of a size that is wanted now.

        `taken` is how many units pods have taken since the last step.
        """
        stable = stabilize(self.history, wanted, window_seconds, now=now)
        withheld = refill(self.withheld, policy, taken=taken, now=now)
        adjustment = Adjustment(
            held=stable.target if stable.until is not None else None,
            held_until=stable.until,
            withheld=withheld.count,
            refill_at=withheld.next_time if withheld.count else None,
        )
        return Life(stable.history, withheld), adjustment
