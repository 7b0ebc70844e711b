"""The quotas of each namespace as its buffers meet them, and when to share out anew what they leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from moorage.buffer.quotas import Quota, without_placeholders
from moorage.cluster.feed import Feed
from moorage.handlers.quotas import Quotas
from moorage.quota.ledger import Ledger
from moorage.quota.names import COUNT_PODS, PODS, counted
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import ScopeFacts
from moorage.quota.usage import ObjectUse
from moorage.status.findings import RESOLVING
from moorage.status.namespacequota import QuotaRules, Trouble, View, known_names
from moorage.status.workload import Unresolved

_LOOK_SECONDS = 0.1
"""How long changes are gathered: quotas change with each pod that comes or goes."""
_PATIENCE_SECONDS = 60.0
"""For so long a refusal may be that of an API server that has not read its roles yet, and sizes stay as they are."""
_SHARE = 4
"""After a round, this many times as long as it took is waited at least: hundreds of buffers may come one by one."""


class Rooms:
    """Knows what quotas leave for buffers: NamespaceQuotas, and native quotas that were not made for one.

    `views` says how well a resource is known in a namespace; `native` are the feeds of native quotas; `now` is a clock
    that never goes back, in seconds.
    """

    def __init__(
        self,
        quotas: Quotas,
        ledger: Ledger,
        views: Callable[[str, str], View],
        *,
        native: Sequence[Feed[NativeQuota]] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.awaits_buffers: Callable[[str], bool] = lambda _: False
        """Whether there may be buffers of a namespace that have not been taken in."""
        self._quotas = quotas
        self._ledger = ledger
        self._views = views
        self._native = native
        self._now = now
        self._refused_since: dict[str, float] = {}
        """Since when pods of a namespace have been refused, by `now`."""
        self._changed: set[str] = set()

    def of(self, namespace: str) -> Sequence[Quota] | Unresolved:
        """Return the quotas of a namespace, or why they are not known.

        What pods count for is waited for: a buffer that nothing limits meanwhile would be asked for whole. Other names
        limit no buffer. Quotas that were read once go on to limit while the API server refuses to tell more of them.
        """
        for feed in self._native:
            if feed.path in ("/api/v1/resourcequotas", f"/api/v1/namespaces/{namespace}/resourcequotas"):
                if feed.refusal is not None and not feed.synced:
                    rule = 'give the operator\'s ClusterRole list, watch on resourcequotas in API group ""'
                    return Unresolved("Forbidden", f"resourcequotas cannot be read: {feed.refusal}; {rule}")
                if not feed.synced:
                    return _BEING_READ
        if self._quotas.awaited(namespace):
            return _BEING_READ
        rooms = [*self._of_native(namespace), *self._of_ours(namespace)]
        if not rooms:
            return rooms
        return self._unread(namespace) or rooms

    def _unread(self, namespace: str) -> Unresolved | None:
        """Return what of pods, and of claims where they count like pods, is not known yet."""
        pods = self._views(PODS, namespace)
        if not pods.complete:
            if self._pods_stay_refused(namespace):
                return Unresolved("Forbidden", pods.message)
            return _BEING_READ if pods.trouble is None else replace(_BEING_READ, message=pods.message)
        limits_all = any(COUNT_PODS in each.hard for each in self._limiting(namespace).values())
        if limits_all and not pods.finished_too and pods.trouble is None:
            return _BEING_READ
        views = (self._views(each, namespace) for each in self._resources(namespace))
        return _BEING_READ if any(not view.complete and view.trouble is None for view in views) else None

    def _pods_stay_refused(self, namespace: str) -> bool:
        """Tell whether pods were never read and have been refused for so long that nobody can wait for them."""
        view = self._views(PODS, namespace)
        if view.complete or view.trouble not in (Trouble.FORBIDDEN, Trouble.NOT_SERVED):
            self._refused_since.pop(namespace, None)
            return False
        return self._now() - self._refused_since.setdefault(namespace, self._now()) >= _PATIENCE_SECONDS

    def _resources(self, namespace: str) -> list[str]:
        """Return the resources that decide what is left for buffers, pods first."""
        found = {PODS}.union(*(_counted_with_pods(each.terms.names) for each in self._limiting(namespace).values()))
        return [PODS, *sorted(found - {PODS})]

    def changed(self, namespace: str) -> None:
        """Note that the quotas of a namespace, or what is used of them, changed."""
        self._changed.add(namespace)

    def take_changed(self) -> set[str]:
        """Return the namespaces that were noted since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    async def run(self, *, share_out: Callable[[str], None], namespaces: Callable[[], Sequence[str]]) -> None:
        """Call `share_out` with each namespace that was noted, and with those of `namespaces` of which more is known.

        A namespace is noted for as long as buffers of it have not been taken in: one that comes later may go first.
        Runs until cancelled.
        """
        loop = asyncio.get_running_loop()
        feeds: list[object] = []
        known: dict[str, object] = {}
        while True:
            began = loop.time()
            feeds_now: list[object] = [(feed.synced, feed.refusal is not None) for feed in self._native]
            known_now: dict[str, object] = {each: self._state_of(each) for each in namespaces()}
            self._changed |= {each for each, now in known_now.items() if feeds_now != feeds or now != known.get(each)}
            feeds, known = feeds_now, known_now
            for namespace in self.take_changed():
                if self.awaits_buffers(namespace):
                    self._changed.add(namespace)
                else:
                    share_out(namespace)
            await asyncio.sleep(max(_LOOK_SECONDS, (loop.time() - began) * _SHARE))

    def _state_of(self, namespace: str) -> object:
        views = [self._views(each, namespace) for each in self._resources(namespace)]
        return views, self._quotas.awaited(namespace), self._pods_stay_refused(namespace)

    def _of_native(self, namespace: str) -> Iterator[Quota]:
        ours = self._quotas.names(namespace)
        # One whose NamespaceQuota has not been read yet stands in for it.
        others = [each for each in self._quotas.native.of(namespace) if each.owner not in ours]
        placeholders = self._placeholders(namespace) if others else []
        for each in others:
            quota = Quota(f"ResourceQuota {each.name}", each.hard, each.used, each.requirements)
            yield without_placeholders(quota, placeholders)

    def _of_ours(self, namespace: str) -> Iterator[Quota]:
        for name, rules in self._limiting(namespace).items():
            known = known_names(rules, lambda resource: self._views(resource, namespace))
            hard = {resource: rules.hard[resource] for resource in known}
            used = self._ledger.usage(namespace, name).without_placeholders().used
            yield Quota(f"NamespaceQuota {name}", hard, used, frozenset(rules.terms.requirements))

    def _limiting(self, namespace: str) -> dict[str, QuotaRules]:
        """Return what the quotas of a namespace say that limit buffers, by name."""
        found = {name: self._quotas.rules(namespace, name) for name in self._quotas.names(namespace)}
        return {
            name: rules
            for name, rules in found.items()
            if rules is not None and rules.counts_buffers and rules.is_enforced
        }

    def _placeholders(self, namespace: str) -> list[ObjectUse]:
        return [
            use
            for use in self._ledger.objects(PODS, namespace).values()
            if isinstance(use.shape.facts, ScopeFacts) and use.shape.facts.is_placeholder
        ]


def _counted_with_pods(names: Iterable[str]) -> frozenset[str]:
    """Return the resources of which something counts for a name for which pods count too."""
    found = [what.resources for what in map(counted, names) if what is not None and PODS in what.resources]
    return frozenset(resource for each in found for resource in each)


_BEING_READ = Unresolved(RESOLVING, "the quotas of the namespace and its pods are being read", pending=True)
