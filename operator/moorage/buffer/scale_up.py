"""How fast pods come and how long capacity takes, and what follows for the tiers of each strategy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from moorage.buffer.arrivals import Arrivals
from moorage.buffer.method import Attained, Method, Quantile
from moorage.buffer.promise import Counts, Latencies, Promise
from moorage.buffer.size import Size
from moorage.buffer.tier import Tiers


class Strategy(StrEnum):
    """Upstream's names for the kind of capacity."""

    ACTIVE = "buffer.x-k8s.io/active-capacity"
    STANDBY = "buffer.gke.io/standby-capacity"


def tiers_of(strategy: Strategy | None) -> Tiers:
    """Return which tiers a buffer of that strategy has."""
    return _TIERS[strategy]


_TIERS = {None: Tiers.BOTH, Strategy.ACTIVE: Tiers.ACTIVE, Strategy.STANDBY: Tiers.STANDBY}


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """How fast pods come and how long capacity takes: pods per second and seconds, exact.

    `method` says how units are counted from that; None: as the mean number of pods that arrive meanwhile.
    """

    rate: Fraction
    resume: Fraction
    cold: Fraction
    method: Method | None = None

    @property
    def standby_helps(self) -> bool:
        """Whether resuming a node is quicker than starting one."""
        return self.resume < self.cold

    @property
    def latencies(self) -> Latencies:
        """How long a resume and a cold start take."""
        return Latencies(self.resume, self.cold)

    def needs(self, strategy: Strategy | None) -> Counts | None:
        """Return the units that the method asks for, or None for the mean."""
        return self.method.counts(self.latencies, _TIERS[strategy]) if self.method is not None else None

    def wait(self, strategy: Strategy | None) -> Fraction:
        """Return the wait that is promised: with standby alone, none shorter than a resume."""
        max_wait = self.method.max_wait if self.method is not None else Fraction(0)
        return _TIERS[strategy].wait(self.latencies, max_wait)

    def attained(self, size: Size, strategy: Strategy | None) -> Attained | None:
        """Return what a size is worth, where the method can tell; of the mean, what it is at random arrivals."""
        if not self.rate and self.method is None:
            return None
        method = self.method or Quantile(Arrivals(self.rate), Promise(Fraction(1, 2)))
        return method.attained(Counts(size.active, size.replicas), self.latencies, _TIERS[strategy])
