"""Running totals: the usage of every quota, kept up to date by one small step per event of an object.

Nothing here waits, reads a clock or knows the API server. The cost of an event is the number of quotas in the object's
namespace; a quota that is new or changed is counted once over the objects of its namespace.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Set

from moorage.quantity import NANO
from moorage.quota.account import SHOWN_HOLDERS, Account, Holder, Terms, Usage
from moorage.quota.counting.devices import DeviceClasses, names_of_classes
from moorage.quota.dependents import Dependents
from moorage.quota.names import COUNT_PODS, PODS
from moorage.quota.usage import ObjectUse

__all__ = ["Holder", "Ledger", "QuotaKey", "Terms", "Usage"]

QuotaKey = tuple[str, str]
"""Namespace and name of a quota."""

_ONLY_AN_OBJECT: Mapping[str, int] = {COUNT_PODS: NANO}


class Ledger:
    """The counted objects of the cluster and what they add up to in each quota."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, ObjectUse]] = {}
        """By resource and uid."""
        self._by_namespace: dict[str, dict[str, dict[str, ObjectUse]]] = {}
        """By namespace, resource and uid: what two APIs serve of one object (OpenShift does that) has one uid."""
        self._accounts: dict[str, dict[str, Account]] = {}
        self._released: set[str] = set()
        self._releases: list[tuple[float, str]] = []
        self._changed: set[QuotaKey] = set()
        self._of_classes: frozenset[str] = frozenset()
        self.classes_known = False
        """Whether it is known which DeviceClasses there are."""
        self._dependents = Dependents(self._own_amounts, self.get)

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

    def set_device_classes(self, classes: DeviceClasses) -> None:
        """Say which DeviceClasses exist: on that depends what quotas count of those that do not."""
        self.classes_known = classes is not None
        of_classes = names_of_classes(classes)
        if of_classes == self._of_classes:
            return
        self._of_classes = of_classes
        for namespace, accounts in self._accounts.items():
            for name, account in accounts.items():
                if account.terms.asks_for_classes:
                    accounts[name] = self._counted(namespace, account.terms)
                    self._changed.add((namespace, name))

    @property
    def names_of_classes(self) -> frozenset[str]:
        """The names under which claims for devices of the classes that exist count."""
        return self._of_classes

    def usage(self, namespace: str, name: str) -> Usage:
        """Return what a quota uses, under every name that is counted.

        Raises KeyError for a quota that was never set.
        """
        return self._accounts[namespace][name].usage()

    def holders(self, namespace: str, name: str, resource: str, most: int | None = SHOWN_HOLDERS) -> list[Holder]:
        """Return the workloads that use most of one resource of a quota, the largest first; `most` None for all.

        Raises KeyError for a quota that was never set or does not count the resource.
        """
        return self._accounts[namespace][name].holders(resource, most)

    def take_changed(self) -> set[QuotaKey]:
        """Return the quotas whose usage changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    @property
    def counts_finished_pods(self) -> bool:
        """Whether any quota needs the pods that ended."""
        return any(each.counts(COUNT_PODS) for accounts in self._accounts.values() for each in accounts.values())

    def resources(self) -> set[str]:
        """Return the resources whose objects any quota counts."""
        return {
            resource
            for accounts in self._accounts.values()
            for account in accounts.values()
            for resource in account.terms.resources
        }

    def quotas_counting(self, resources: Set[str]) -> list[QuotaKey]:
        """Return the quotas that count objects of any of these resources."""
        return [
            (namespace, name)
            for namespace, accounts in self._accounts.items()
            for name, account in accounts.items()
            if not account.terms.resources.isdisjoint(resources)
        ]

    # Objects

    def get(self, uid: str, resource: str = PODS) -> ObjectUse | None:
        """Return the record held for an object."""
        return self._objects.get(resource, {}).get(uid)

    def put(self, use: ObjectUse) -> None:
        """Take in a new or changed object."""
        old = self.get(use.uid, use.shape.resource)
        if old is not None and _counts_alike(old, use):
            self._hold(use)
            return
        dependents = self._dependents.of(use, old)
        self._charge_all(dependents, -1)
        if old is not None:
            self._charge(old, -1)
            self._dependents.remove(old)
            if old.released_at != use.released_at:
                self._released.discard(old.uid)
        self._hold(use)
        self._dependents.add(use)
        self._charge(use, +1)
        self._charge_all(dependents, +1)
        if use.released_at is not None and use.uid not in self._released:
            heapq.heappush(self._releases, (use.released_at, use.uid))

    def delete(self, uid: str, resource: str = PODS) -> None:
        """Forget an object."""
        old = self.get(uid, resource)
        if old is None:
            return
        dependents = self._dependents.of(old)
        self._charge_all(dependents, -1)
        self._charge(old, -1)
        self._dependents.remove(old)
        self._drop(old)
        self._released.discard(uid)
        self._charge_all(dependents, +1)

    def replace(self, uses: Iterable[ObjectUse], *, resource: str = PODS, namespace: str | None = None) -> None:
        """Hold exactly these objects of a resource from now on, in one namespace or everywhere, and forget all others.

        An object that is held already is left alone when it did not change, so totals move only where they differ.
        """
        fresh = set()
        for use in uses:
            fresh.add(use.uid)
            self.put(use)
        for uid in [uid for uid in self.objects(resource, namespace) if uid not in fresh]:
            self.delete(uid, resource)

    def objects(self, resource: str = PODS, namespace: str | None = None) -> Mapping[str, ObjectUse]:
        """Return the objects held of a resource, everywhere or in one namespace, by uid; later events change it."""
        held = self._objects if namespace is None else self._by_namespace.get(namespace, {})
        return held.get(resource, {})

    def __len__(self) -> int:
        return sum(len(each) for each in self._objects.values())

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
            dependents = self._dependents.of(pod)
            self._charge_all(dependents, -1)
            self._charge(pod, -1)
            self._released.add(uid)
            self._charge(pod, +1)
            self._charge_all(dependents, +1)

    # Sums

    def recount(self) -> dict[QuotaKey, Usage]:
        """Return every quota's usage added up from the objects alone, without the running totals."""
        return {
            (namespace, name): self._counted(namespace, account.terms).usage()
            for namespace, accounts in self._accounts.items()
            for name, account in accounts.items()
        }

    def _counted(self, namespace: str, terms: Terms) -> Account:
        account = Account(terms, self._of_classes)
        for held in self._by_namespace.get(namespace, {}).values():
            for use in held.values():
                account.charge(use, self._dependents.holder(use), self._amounts(use), +1)
        return account

    def _charge(self, use: ObjectUse, sign: int) -> None:
        accounts = self._accounts.get(use.namespace)
        if not accounts:
            return
        holder, amounts = self._dependents.holder(use), self._amounts(use)
        for name, account in accounts.items():
            if account.charge(use, holder, amounts, sign):
                self._changed.add((use.namespace, name))

    def _charge_all(self, uses: Iterable[ObjectUse], sign: int) -> None:
        for use in uses:
            self._charge(use, sign)

    def _amounts(self, use: ObjectUse) -> Mapping[str, int]:
        return self._own_amounts(use) if use.claim is None else self._dependents.amounts(use)

    def _own_amounts(self, use: ObjectUse) -> Mapping[str, int]:
        return _ONLY_AN_OBJECT if use.released_at is not None and use.uid in self._released else use.shape.amounts

    def _hold(self, use: ObjectUse) -> None:
        self._objects.setdefault(use.shape.resource, {})[use.uid] = use
        self._by_namespace.setdefault(use.namespace, {}).setdefault(use.shape.resource, {})[use.uid] = use

    def _drop(self, use: ObjectUse) -> None:
        resource, place = use.shape.resource, self._by_namespace[use.namespace]
        for index in (self._objects, place):
            del index[resource][use.uid]
            if not index[resource]:
                del index[resource]
        if not place:
            del self._by_namespace[use.namespace]


def _counts_alike(old: ObjectUse, new: ObjectUse) -> bool:
    return (
        old.shape is new.shape
        and old.released_at == new.released_at
        and old.owner == new.owner
        and old.pod == new.pod
        and old.claim == new.claim
    )
