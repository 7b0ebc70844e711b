"""The size of a buffer as values: what bounds it, and the units it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.buffer.stabilization import Target

MAX_REPLICAS = 2**31 - 1
"""The largest replica count that Kubernetes stores (int32)."""


class SizingError(ValueError):
    """No size follows from what is given; `reason` is a condition's reason, the text a sentence for its reader."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upstream's sizes; None means not given.

    `limits` caps the sum of the units' requests and `unit` is what one unit requests, both in nano-units by resource.
    `workload_replicas` is the size of the workload that `percentage` refers to; without a workload it is None and
    `percentage` is ignored, as upstream does. `headroom` is how many more replicas the workload may get, when something
    bounds them. `room` is how many units the namespace's quotas leave room for, when that is fewer than all. `held` is
    a size that is kept for now although less is wanted, and `withheld` how many units are missing because what was
    taken is not made anew.
    """

    replicas: int | None = None
    percentage: int | None = None
    workload_replicas: int | None = None
    limits: Mapping[str, int] | None = None
    unit: Mapping[str, int] | None = None
    headroom: int | None = None
    room: int | None = None
    held: Target | None = None
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class Size:
    """The units a buffer holds and how that came about."""

    replicas: int
    active: int
    standby: int
    bound_by: str
    """What decided the total: `rate`, `serviceLevel`, `burst`, `demand`, `replicas`, `percentage`, `limits`,
    `maxReplicas`, `stabilization`, `refill`, `quotas` or `int32`."""
    floor: int | None
    cap: int | None
    room: int | None
    explanation: str
