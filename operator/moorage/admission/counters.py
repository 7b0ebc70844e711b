"""What the webhook has answered since the start: numbers that only grow."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

BUCKETS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Upper bounds of the latency histogram; what takes longer falls above them all."""


@dataclass(slots=True)
class AdmissionCounters:
    """Plain numbers; dry runs are not in them."""

    admitted: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By namespace and NamespaceQuota: pods that a quota counts or bounds and would let in."""
    defaulted: Counter[str] = field(default_factory=Counter)
    """By namespace: admitted pods to which a NamespaceQuota gave a value that they did not have."""
    refused: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By namespace, NamespaceQuota and reason."""
    would_refuse: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The same for quotas in Audit, which refuse nothing."""
    unsure: int = 0
    """Reviews that were left to the API server, since it was not proved that our numbers are current."""
    malformed: int = 0
    """Requests that were no reviews."""
    faults: int = 0
    """Bugs met; what they hit was admitted."""
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_SECONDS) + 1))
    """Reviews by how long they took, the last being longer than every bound."""
    seconds: float = 0.0
    """How long all of them took."""

    def took(self, seconds: float) -> None:
        """Note how long a review took, from its first byte to its answer."""
        self.buckets[bisect_left(BUCKETS_SECONDS, seconds)] += 1
        self.seconds += seconds
