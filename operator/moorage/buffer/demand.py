"""How many pods come, learnt as they come: joint counts of both windows, daily peaks, and the hours of the week.

Timestamps of Kubernetes are whole seconds, so pods of the same second count as a batch that comes in some order. What
is kept is bounded: counts of two fortnights, peaks of ninety days, and the pods of the last hour.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from moorage.buffer.measured import Recorded, SeenRate
from moorage.buffer.recorded import Pairs

SETTLE_SECONDS = 5
"""A second is counted when it is so long over: its pods are known by then, and what they replace."""

_GENERATION_SECONDS = 14 * 86_400
_PEAK_DAYS = 90
_RECENT_SECONDS = 3600
_EXACT_BITS = 7
_MOST_PAIRS = 4000
_ENOUGH_PODS = 20
_WEEK_HOURS = 168
_EPOCH_WEEKDAY = 3 * 24
"""The epoch was a Thursday; weeks begin on Monday."""


@dataclass(slots=True)
class _Generation:
    """What is counted within a fortnight."""

    began: float
    pairs: Counter[tuple[int, int]] = field(default_factory=Counter)
    others: int = 0
    """Other pods that pods found in the far window, summed up."""
    pods: int = 0
    """Pods whose far window was watched from its begin."""


class Demand:
    """Counts new pods. Windows in seconds; times in seconds since the epoch."""

    def __init__(self, near: Fraction, far: Fraction, *, began: float) -> None:
        self.near, self.far = near, far
        self.began = began
        """Since when pods are seen."""
        self.settled = int(began) - 1
        """Up to which second, that one included, pods are counted."""
        self.pods = 0
        self._recent: deque[tuple[int, int]] = deque()
        self._pending: dict[int, dict[str, None]] = {}
        self._now = _Generation(began)
        self._before = _Generation(began)
        self._peaks: dict[int, int] = {}
        self._week: dict[int, int] = {}
        self._grain = 0

    @classmethod
    def of_history(cls, near: Fraction, far: Fraction, times: Sequence[int], *, now: float) -> Demand:
        """Return what would be known if all of these had been watched; `times` are sorted, in seconds."""
        demand = cls(near, far, began=times[0] if times else now)
        for at, second in enumerate(times):
            demand.add(str(at), second)
        demand.advance(now + SETTLE_SECONDS)
        return demand

    def add(self, uid: str, second: int) -> None:
        """Note a pod that came in that second; one that is older than what is counted was counted, or is too late."""
        if second > self.settled:
            self._pending.setdefault(second, {})[uid] = None

    def advance(self, now: float, is_new: Callable[[str, int], bool] = lambda *_: True) -> int:
        """Count the seconds that are over, and return how many pods were new.

        `is_new` is asked for each pod, in the order of their coming: what replaces another pod is no demand.
        """
        until = int(now) - SETTLE_SECONDS
        counted = 0
        for second in sorted(second for second in self._pending if second <= until):
            pods = sum([is_new(uid, second) for uid in self._pending.pop(second)])
            if pods:
                self._count(second, pods)
                counted += pods
        self.settled = max(self.settled, until)
        self.pods += counted
        return counted

    def rewindow(self, near: Fraction, far: Fraction) -> None:
        """Count for other windows from now on, and anew what came in the last hour."""
        recent, self._recent = list(self._recent), deque()
        self.near, self.far, self._grain = near, far, 0
        self._now, self._before = _Generation(self._now.began), _Generation(self._before.began)
        for second, pods in recent:
            self._count(second, pods)

    def rate(self) -> SeenRate | None:
        """Return the rate as pods see it: how many others come in the far window of a pod, by its length."""
        pods = self._now.pods + self._before.pods
        if pods < _ENOUGH_PODS or not self.far:
            return None
        others = self._now.others + self._before.others
        return SeenRate(Fraction(others) / pods / self.far, pods) if others else None

    def recorded(self, now: float) -> Recorded | None:
        """Return the joint counts; None while no pod came."""
        counts = self._now.pairs + self._before.pairs
        if not counts:
            return None
        return Recorded(Pairs(counts), self.near, self.far, (now - self.began) / 86_400)

    def peaks(self) -> list[int]:
        """Return the highest count of the far window of each day, as far as kept."""
        return [self._peaks[day] for day in sorted(self._peaks)]

    def busiest(self, count: int = 3) -> list[tuple[int, int]]:
        """Return hours of the week (0 is Monday's first, UTC) and the highest counts of the far window in them."""
        return sorted(self._week.items(), key=lambda each: (-each[1], each[0]))[:count]

    def _count(self, second: int, pods: int) -> None:
        self._rotate(second)
        near = far = 0
        near_begin, far_begin = second - float(self.near), second - float(self.far)
        for at, count in reversed(self._recent):
            if at <= far_begin:
                break
            far += count
            near += count if at > near_begin else 0
        complete = far_begin >= self.began
        for more in range(1, pods + 1):
            seen = near + more if self.near else 0
            self._now.pairs[self._rounded(seen), self._rounded(far + more)] += 1
            if complete:
                self._now.others += far + more - 1
                self._now.pods += 1
        day, hour = second // 86_400, (second // 3600 + _EPOCH_WEEKDAY) % _WEEK_HOURS
        self._peaks[day] = max(self._peaks.get(day, 0), far + pods)
        self._week[hour] = max(self._week.get(hour, 0), far + pods)
        self._recent.append((second, pods))
        self._bound(second, day)

    def _bound(self, second: int, day: int) -> None:
        while self._recent and self._recent[0][0] <= second - max(float(self.far), _RECENT_SECONDS):
            self._recent.popleft()
        for old in [each for each in self._peaks if each <= day - _PEAK_DAYS]:
            del self._peaks[old]
        while len(self._now.pairs) > _MOST_PAIRS:
            self._grain += 1
            for generation in (self._now, self._before):
                coarser: Counter[tuple[int, int]] = Counter()
                for (near, far), pods in generation.pairs.items():
                    coarser[self._rounded(near), self._rounded(far)] += pods
                generation.pairs = coarser

    def _rotate(self, second: int) -> None:
        if second - self._now.began >= _GENERATION_SECONDS:
            self._before, self._now = self._now, _Generation(float(second))

    def _rounded(self, count: int) -> int:
        """Round a count up so that it takes few values: exact up to 128, then within 1.6%; coarser when need be."""
        step = 1 << max(count.bit_length() - _EXACT_BITS + self._grain, 0)
        return -(-count // step) * step

    # What outlives a restart

    def stored(self) -> dict[str, Any]:
        """Return all of it as JSON; pods that are not counted yet are found anew by the time of their coming."""
        since = self.settled - max(float(self.far), 600)
        recent = [[at, count] for at, count in self._recent if at > since]
        return {
            "windows": [str(self.near), str(self.far)],
            "began": self.began,
            "settled": self.settled,
            "pods": self.pods,
            "grain": self._grain,
            "recent": recent,
            "generations": [
                [each.began, each.others, each.pods, [[*pair, pods] for pair, pods in each.pairs.items()]]
                for each in (self._now, self._before)
            ],
            "peaks": [[day, peak] for day, peak in self._peaks.items()],
            "week": [[hour, peak] for hour, peak in self._week.items()],
        }

    @classmethod
    def restored(cls, stored: dict[str, Any]) -> Demand:
        """Return what was stored.

        Raises KeyError, TypeError or ValueError for what was not.
        """
        near, far = (Fraction(each) for each in stored["windows"])
        demand = cls(near, far, began=float(stored["began"]))
        demand.settled, demand.pods, demand._grain = (int(stored[name]) for name in ("settled", "pods", "grain"))
        demand._recent = deque((int(at), int(count)) for at, count in stored["recent"])
        generations = []
        for began, others, pods, counts in stored["generations"]:
            pairs = Counter({(int(near_), int(far_)): int(count) for near_, far_, count in counts})
            generations.append(_Generation(float(began), pairs, int(others), int(pods)))
        demand._now, demand._before = generations
        demand._peaks = {int(day): int(peak) for day, peak in stored["peaks"]}
        demand._week = {int(hour): int(peak) for hour, peak in stored["week"]}
        return demand


def hour_text(hour: int) -> str:
    """Spell an hour of the week: `Mon 09h`."""
    return f"{('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')[hour // 24]} {hour % 24:02d}h"
