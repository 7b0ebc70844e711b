"""How pods come: at random, in batches, at a rate that is known or was only seen for a while."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class BatchSizes(StrEnum):
    """How the sizes of batches vary."""

    GEOMETRIC = "Geometric"
    FIXED = "Fixed"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Pods that come at random, at so many per second; `batch_mean` is how many come at the same instant on average.

    `seen_seconds` tells that the rate is an estimate from that long; None: that it is known.
    """

    rate: Fraction
    batch_mean: Fraction = Fraction(1)
    batch_sizes: BatchSizes = BatchSizes.GEOMETRIC
    seen_seconds: Fraction | None = None

    @property
    def variance_to_mean(self) -> Fraction:
        """Variance of the number of pods in a window, divided by its mean; of a known rate."""
        return self.batch_mean if self.batch_sizes is BatchSizes.FIXED else 2 * self.batch_mean - 1


def batch_mean_of(variance_to_mean: Fraction) -> Fraction:
    """Return the mean of geometric batches that scatter like this; less scatter than Poisson's counts as that."""
    return max((variance_to_mean + 1) / 2, Fraction(1))
