"""The quotas of each namespace as its buffers meet them, and when to share out anew what they leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from moorage.buffer.quotas import Quota, without_placeholders
from moorage.cluster.feed import Feed
from moorage.handlers.quotas import Quotas
from moorage.quota.ledger import Ledger
from moorage.quota.names import PODS
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import ScopeFacts
from moorage.quota.usage import ObjectUse
from moorage.status.findings import RESOLVING
from moorage.status.namespacequota import View, known_names
from moorage.status.workload import Unresolved

_LOOK_SECONDS = 0.1
"""How long changes are gathered: quotas change with each pod that comes or goes."""
_SHARE = 4
"""After a round, this many times as long as it took is waited at least: hundreds of buffers may come one by one."""


class Rooms:
    """Knows what quotas leave for buffers: NamespaceQuotas, and native quotas that were not made for one.

    `views` says how well a resource is known in a namespace; `native` are the feeds of native quotas.
    """

    def __init__(
        self,
        quotas: Quotas,
        ledger: Ledger,
        views: Callable[[str, str], View],
        *,
        native: Sequence[Feed[NativeQuota]] = (),
    ) -> None:
        self.awaits_quotas: Callable[[str], bool] = lambda _: False
        """Whether there may be NamespaceQuotas of a namespace that have not been taken in."""
        self.awaits_buffers: Callable[[str], bool] = lambda _: False
        """Whether there may be buffers of a namespace that have not been taken in."""
        self._quotas = quotas
        self._ledger = ledger
        self._views = views
        self._native = native
        self._changed: set[str] = set()

    def of(self, namespace: str) -> Sequence[Quota] | Unresolved:
        """Return the quotas of a namespace, or why they are not known.

        Names whose usage is not known limit nothing, but for pods that are just being listed: those are waited for.
        """
        for feed in self._native:
            if feed.path in ("/api/v1/resourcequotas", f"/api/v1/namespaces/{namespace}/resourcequotas"):
                if feed.refusal is not None:
                    rule = 'give the operator\'s ClusterRole list, watch on resourcequotas in API group ""'
                    return Unresolved("Forbidden", f"resourcequotas cannot be read: {feed.refusal}; {rule}")
                if not feed.synced:
                    return _BEING_READ
        if self.awaits_quotas(namespace):
            return _BEING_READ
        rooms = [*self._of_native(namespace), *self._of_ours(namespace)]
        pods = self._views(PODS, namespace)
        if not rooms or pods.trouble is not None:
            return rooms
        if not pods.complete:
            return _BEING_READ
        return rooms

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
        return self._views(PODS, namespace).complete, self.awaits_quotas(namespace)

    def _of_native(self, namespace: str) -> Iterator[Quota]:
        ours = self._quotas.names(namespace)
        # One whose NamespaceQuota has not been read yet stands in for it.
        others = [each for each in self._quotas.native.of(namespace) if each.owner not in ours]
        placeholders = self._placeholders(namespace) if others else []
        for each in others:
            quota = Quota(f"ResourceQuota {each.name}", each.hard, each.used, each.requirements)
            yield without_placeholders(quota, placeholders)

    def _of_ours(self, namespace: str) -> Iterator[Quota]:
        for name in self._quotas.names(namespace):
            rules = self._quotas.rules(namespace, name)
            if rules is not None and rules.counts_buffers and rules.is_enforced:
                known = known_names(rules, lambda resource: self._views(resource, namespace))
                hard = {resource: rules.hard[resource] for resource in known}
                used = self._ledger.usage(namespace, name).without_placeholders().used
                yield Quota(f"NamespaceQuota {name}", hard, used, frozenset(rules.terms.requirements))

    def _placeholders(self, namespace: str) -> list[ObjectUse]:
        return [
            use
            for use in self._ledger.objects(PODS, namespace).values()
            if isinstance(use.shape.facts, ScopeFacts) and use.shape.facts.is_placeholder
        ]


_BEING_READ = Unresolved(RESOLVING, "the quotas of the namespace and its pods are being read", pending=True)
