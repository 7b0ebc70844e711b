"""A second simulator, independent of ours: it steps through events, one pod and one unit at a time.

It knows the policy in words only: a pod takes an active unit or waits its turn; at once a resume of a standby unit and
a new node are ordered; a node that comes while a resume could not begin for want of standby serves in its place.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple


class Outcome(NamedTuple):
    """How long a pod waited, in nanoseconds, and whether a new node served it."""

    wait: int
    by_new_node: bool


@dataclass
class Warehouse:
    """The buffer, as it is at one moment."""

    active: int
    standby: int
    resume: int
    cold: int
    limit: int | None = None
    misses_go_cold: bool = False
    now: int = 0
    waiting: deque[tuple[int, int]] = field(default_factory=deque)
    unfilled: int = 0
    under_way: int = 0
    queued: int = 0
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    events: list[tuple[int, int, int, str]] = field(default_factory=list)
    serial: count[int] = field(default_factory=count)

    def schedule(self, time: int, rank: int, kind: str) -> None:
        heapq.heappush(self.events, (time, rank, next(self.serial), kind))

    def run(self, times: list[int]) -> list[Outcome]:
        """Let pods come at these times."""
        for pod, time in enumerate(times):
            self.advance(time)
            self.now = time
            if self.active and not self.waiting:
                self.active -= 1
                self.outcomes[pod] = Outcome(0, by_new_node=False)
            elif self.misses_go_cold:
                self.outcomes[pod] = Outcome(self.cold, by_new_node=True)
                continue
            else:
                self.waiting.append((pod, time))
            self.order_resume()
            self.order_node()
        self.advance(None)
        return [self.outcomes[pod] for pod in range(len(times))]

    def advance(self, until: int | None) -> None:
        while self.events and (until is None or self.events[0][0] <= until):
            self.now, _, _, kind = heapq.heappop(self.events)
            if kind == "resumed":
                self.hand_out(by_new_node=False)
            else:
                self.node_came()

    def order_resume(self) -> None:
        if self.standby:
            self.standby -= 1
            # Of what becomes active at the same instant resumed nodes are handed out first.
            self.schedule(self.now + self.resume, 0, "resumed")
        else:
            self.unfilled += 1

    def order_node(self) -> None:
        if self.limit is not None and self.under_way >= self.limit:
            self.queued += 1
        else:
            self.under_way += 1
            self.schedule(self.now + self.cold, 1, "node")

    def node_came(self) -> None:
        self.under_way -= 1
        if self.queued:
            self.queued -= 1
            self.order_node()
        if self.unfilled:
            self.unfilled -= 1
            self.hand_out(by_new_node=True)
        else:
            self.standby += 1

    def hand_out(self, *, by_new_node: bool) -> None:
        """Give an active unit to the pod that waits longest, or keep it."""
        if self.waiting:
            pod, since = self.waiting.popleft()
            wait = self.now - since
            self.outcomes[pod] = Outcome(wait, by_new_node=by_new_node and wait > 0)
        else:
            self.active += 1
