"""How long native quotas have differed from what is counted: what is over in a moment is not worth a word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from moorage.api.namespacequota import NativeDifference
from moorage.quantity import canonical
from moorage.quota.names import is_binary
from moorage.quota.native import Difference

SETTLING_SECONDS = 5.0
"""The two are watched on their own, so they may differ for moments without meaning."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """A difference and since when it has lasted, in seconds since the epoch."""

    difference: Difference
    since: float


class DifferenceLog:
    """Remembers since when a quota's native counterparts have differed, whatever the numbers were meanwhile."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def update(self, found: Iterable[Difference], now: float) -> list[Lasting]:
        """Note what differs at `now` (seconds since the epoch) and return what has done so for long enough."""
        current = {(each.quota, each.resource): each for each in found}
        self._since = {key: self._since.get(key, now) for key in current}
        return [
            Lasting(each, self._since[key])
            for key, each in current.items()
            if now - self._since[key] >= SETTLING_SECONDS
        ]

    def seconds(self, difference: Difference, now: float) -> float:
        """Return how long one has lasted at `now`; 0 when it has not been noted yet."""
        return now - self._since.get((difference.quota, difference.resource), now)

    @property
    def pending(self) -> bool:
        """Whether anything differs at all, and so may have to be told in a moment."""
        return bool(self._since)


def native_status(lasting: Iterable[Lasting]) -> tuple[NativeDifference, ...]:
    """Return lasting differences as status shows them."""
    return tuple(
        NativeDifference(
            resource_quota=each.difference.quota,
            resource=each.difference.resource,
            used=_canonical(each.difference.resource, each.difference.used),
            counted=_canonical(each.difference.resource, each.difference.counted),
            since=datetime.fromtimestamp(each.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        for each in lasting
    )


def _canonical(resource: str, amount: int) -> str:
    return canonical(amount, binary=is_binary(resource))
