"""Running totals: the usage of every quota, kept up to date by one small step per pod event.

Nothing here waits, reads a clock or knows the API server. The cost of an event is the number of quotas in the pod's
namespace; a quota that is new or changed is counted once over the pods of its namespace.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from moorage.quantity import NANO
from moorage.quota.names import COUNT_PODS, PODS, pod_source
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import PodUse, Shape

QuotaKey = tuple[str, str]
"""Namespace and name of a quota."""

_ONLY_AN_OBJECT: Mapping[str, int] = {COUNT_PODS: NANO}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a quota counts: the names in its `hard`, and the scopes that a pod must match."""

    names: frozenset[str]
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What one quota uses now: amounts in nano-units for every name that is counted, and the pods behind them."""

    used: Mapping[str, int]
    pods: int


@dataclass(slots=True)
class _Account:
    terms: Terms
    sources: tuple[str, ...]
    used: dict[str, int] = field(default_factory=dict)
    pods: int = 0

    def charge(self, shape: Shape, amounts: Mapping[str, int], sign: int) -> bool:
        """Add or take back one pod; tell whether anything changed."""
        if self.terms.requirements and not selects(self.terms.requirements, shape.facts):
            return False
        changed = False
        for source in self.sources:
            amount = amounts.get(source)
            if amount:
                self.used[source] += sign * amount
                changed = True
        if PODS in amounts:
            self.pods += sign
            changed = True
        return changed

    def usage(self) -> Usage:
        """Return what is used under every name that counts something of pods."""
        sources = {name: source for name in self.terms.names if (source := pod_source(name)) is not None}
        return Usage({name: self.used[source] for name, source in sources.items()}, self.pods)


class Ledger:
    """The pods of the cluster and what they add up to in each quota."""

    def __init__(self) -> None:
        self._pods: dict[str, PodUse] = {}
        self._by_namespace: dict[str, dict[str, PodUse]] = {}
        self._accounts: dict[str, dict[str, _Account]] = {}
        self._released: set[str] = set()
        self._releases: list[tuple[float, str]] = []
        self._changed: set[QuotaKey] = set()

    # Quotas

    def set_quota(self, namespace: str, name: str, terms: Terms) -> None:
        """Start to count for a quota, or count it anew when its terms changed."""
        accounts = self._accounts.setdefault(namespace, {})
        known = accounts.get(name)
        if known is not None and known.terms == terms:
            return
        accounts[name] = self._counted(namespace, terms)
        self._changed.add((namespace, name))

    def remove_quota(self, namespace: str, name: str) -> None:
        """Stop counting for a quota."""
        accounts = self._accounts.get(namespace, {})
        accounts.pop(name, None)
        if not accounts:
            self._accounts.pop(namespace, None)
        self._changed.discard((namespace, name))

    def usage(self, namespace: str, name: str) -> Usage:
        """Return what a quota uses; names that count nothing of pods are left out.

        Raises KeyError for a quota that was never set.
        """
        return self._accounts[namespace][name].usage()

    def take_changed(self) -> set[QuotaKey]:
        """Return the quotas whose usage changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    @property
    def counts_finished_pods(self) -> bool:
        """Whether any quota needs the pods that ended."""
        return any(COUNT_PODS in each.sources for accounts in self._accounts.values() for each in accounts.values())

    # Pods

    def get(self, uid: str) -> PodUse | None:
        """Return the record held for a pod."""
        return self._pods.get(uid)

    def put(self, pod: PodUse) -> None:
        """Take in a new or changed pod."""
        old = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        self._by_namespace.setdefault(pod.namespace, {})[pod.uid] = pod
        if old is not None and old.shape is pod.shape and old.released_at == pod.released_at:
            return
        if old is not None:
            self._charge(old, -1)
            if old.released_at != pod.released_at:
                self._released.discard(old.uid)
        self._charge(pod, +1)
        if pod.released_at is not None and pod.uid not in self._released:
            heapq.heappush(self._releases, (pod.released_at, pod.uid))

    def delete(self, uid: str) -> None:
        """Forget a pod."""
        old = self._pods.pop(uid, None)
        if old is None:
            return
        neighbours = self._by_namespace[old.namespace]
        del neighbours[uid]
        if not neighbours:
            del self._by_namespace[old.namespace]
        self._charge(old, -1)
        self._released.discard(uid)

    def replace(self, pods: Iterable[PodUse], *, namespace: str | None = None) -> None:
        """Hold exactly these pods from now on, in one namespace or everywhere, and forget all others.

        A pod that is held already is left alone when it did not change, so totals move only where they differ.
        """
        fresh = set()
        for pod in pods:
            fresh.add(pod.uid)
            self.put(pod)
        for uid in [uid for uid in self.pods(namespace) if uid not in fresh]:
            self.delete(uid)

    def pods(self, namespace: str | None = None) -> Mapping[str, PodUse]:
        """Return the pods held, by uid, in one namespace or everywhere: a view that later events change."""
        return self._pods if namespace is None else self._by_namespace.get(namespace, {})

    def __len__(self) -> int:
        return len(self._pods)

    # The end of a grace period

    def next_release(self) -> float | None:
        """Return when the next deleted pod stops counting, in seconds since the epoch."""
        return self._releases[0][0] if self._releases else None

    def release_due(self, now: float) -> None:
        """Take back what deleted pods use whose grace period is over at `now` (seconds since the epoch)."""
        while self._releases and self._releases[0][0] < now:
            moment, uid = heapq.heappop(self._releases)
            pod = self.get(uid)
            if pod is None or pod.released_at != moment or uid in self._released:
                continue
            self._charge(pod, -1)
            self._released.add(uid)
            self._charge(pod, +1)

    # Sums

    def recount(self) -> dict[QuotaKey, Usage]:
        """Return every quota's usage added up from the pods alone, without the running totals."""
        return {
            (namespace, name): self._counted(namespace, account.terms).usage()
            for namespace, accounts in self._accounts.items()
            for name, account in accounts.items()
        }

    def _counted(self, namespace: str, terms: Terms) -> _Account:
        sources = tuple({source for each in terms.names if (source := pod_source(each)) is not None})
        account = _Account(terms, sources, dict.fromkeys(sources, 0))
        for pod in self.pods(namespace).values():
            account.charge(pod.shape, self._amounts(pod), +1)
        return account

    def _charge(self, pod: PodUse, sign: int) -> None:
        accounts = self._accounts.get(pod.namespace)
        if not accounts:
            return
        amounts = self._amounts(pod)
        for name, account in accounts.items():
            if account.charge(pod.shape, amounts, sign):
                self._changed.add((pod.namespace, name))

    def _amounts(self, pod: PodUse) -> Mapping[str, int]:
        return _ONLY_AN_OBJECT if pod.uid in self._released else pod.shape.amounts
