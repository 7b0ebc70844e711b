"""Which pods are new demand, and which only take the place of another: rollouts, drains and restarts.

Kubernetes does not say which pod replaces which, so it is told from what happens together. A pod of a new template is
part of a rollout as long as there were pods of an older one to replace. A pod that is made within seconds of the
deletion of another, or within minutes of an eviction, replaces it; scaling down makes none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

EVICTION_SECONDS = 300
DELETION_SECONDS = 5
_MOST_TEMPLATES = 16


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of the workload. `template` is the hash of its pod template, empty where there is none."""

    uid: str
    created: int
    template: str = ""
    owner_kind: str = ""


@dataclass(slots=True)
class Newcomers:
    """Tells new pods from replacements; `rollouts` and `replacements` say whether these count as new all the same."""

    rollouts: bool = False
    replacements: bool = False
    _alive: dict[str, Member] = field(default_factory=dict)
    _owed: dict[str, int] = field(default_factory=dict)
    """By template: how many of its pods replace one of an older template."""
    _deleted: list[int] = field(default_factory=list)
    _evicted: list[int] = field(default_factory=list)

    def came(self, pod: Member, *, known: bool = False) -> None:
        """Note a pod; `known` for those that were there before we watched, which replace nothing."""
        if pod.uid in self._alive:
            return
        if pod.template and pod.template not in self._owed:
            older = sum(each.template not in ("", pod.template) for each in self._alive.values())
            self._owed[pod.template] = 0 if known else older
            while len(self._owed) > _MOST_TEMPLATES:
                del self._owed[next(iter(self._owed))]
        self._alive[pod.uid] = pod

    def went(self, uid: str, when: int, *, evicted: bool) -> None:
        """Note that a pod was deleted or evicted, or failed; each only once."""
        if self._alive.pop(uid, None) is not None:
            (self._evicted if evicted else self._deleted).append(when)

    def ended(self, uid: str) -> None:
        """Note that a pod has done its work: nothing replaces it."""
        self._alive.pop(uid, None)

    def is_new(self, pod: Member) -> bool:
        """Whether a pod is demand; asked once for each, in the order of their coming."""
        if pod.owner_kind in ("DaemonSet", "Node"):
            return False
        if self._owed.get(pod.template, 0) > 0:
            self._owed[pod.template] -= 1
            return self.rollouts
        if _take(self._evicted, pod.created, EVICTION_SECONDS) or _take(self._deleted, pod.created, DELETION_SECONDS):
            return self.replacements
        return True


def _take(departures: list[int], created: int, within: int) -> bool:
    """Use up the oldest departure that this pod may replace, and drop those that are too old."""
    departures[:] = [when for when in departures if when >= created - within]
    for at, when in enumerate(departures):
        if when <= created + 1:
            del departures[at]
            return True
    return False
