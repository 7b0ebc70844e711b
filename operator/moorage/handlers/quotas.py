"""The NamespaceQuotas that exist, and the status that each should have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.api import SpecError, parse_namespace_quota_spec
from moorage.api.labels import PLACEHOLDER_CLASS
from moorage.api.namespacequota import NamespaceQuotaStatus
from moorage.buffer.quotas import Quota, without_placeholders
from moorage.handlers.native import NativeQuotas
from moorage.quota.ledger import Ledger, QuotaKey
from moorage.quota.names import PODS
from moorage.quota.native import Difference, differences
from moorage.quota.scopes import ScopeFacts
from moorage.status.findings import RESOLVING
from moorage.status.namespacequota import (
    QuotaRules,
    View,
    Views,
    current_names,
    invalid_quota_status,
    known_names,
    quota_rules,
    quota_status,
)
from moorage.status.native import DifferenceLog, native_status
from moorage.status.workload import Unresolved


@dataclass(frozen=True, slots=True)
class _Known:
    generation: int
    rules: QuotaRules | str
    """What the spec says, or what is wrong with it."""
    log: DifferenceLog
    """Since when native quotas have differed."""


class Quotas:
    """Knows every NamespaceQuota, has the ledger count for it, and compares it with native quotas.

    `views` says how well a resource is known in a namespace, `now` is the wall clock in seconds since the epoch.
    """

    def __init__(
        self, ledger: Ledger, views: Callable[[str, str], View], *, now: Callable[[], float] = time.time
    ) -> None:
        self.native = NativeQuotas()
        """The ResourceQuotas that exist."""
        self._ledger = ledger
        self._views = views
        self._now = now
        self._known: dict[QuotaKey, _Known] = {}

    def accept(self, namespace: str, name: str, *, generation: int, spec: Mapping[str, Any]) -> None:
        """Take in a spec, good or bad."""
        rules: QuotaRules | str
        try:
            rules = quota_rules(parse_namespace_quota_spec(dict(spec), allow_unknown=True))
        except (SpecError, ValueError) as error:
            rules = str(error)
            self._ledger.remove_quota(namespace, name)
        else:
            self._ledger.set_quota(namespace, name, rules.terms)
        old = self._known.get((namespace, name))
        self._known[namespace, name] = _Known(generation, rules, old.log if old is not None else DifferenceLog())

    def remove(self, namespace: str, name: str) -> None:
        """Forget a quota that was deleted."""
        self._known.pop((namespace, name), None)
        self._ledger.remove_quota(namespace, name)

    def status(self, namespace: str, name: str) -> NamespaceQuotaStatus | None:
        """Return the status that a quota should have now, or None when it is not known."""
        known = self._known.get((namespace, name))
        if known is None:
            return None
        if isinstance(known.rules, str):
            return invalid_quota_status(known.rules, generation=known.generation)
        return quota_status(
            known.rules,
            self._ledger.usage(namespace, name),
            self._views_of(namespace),
            generation=known.generation,
            holders=lambda resource: self._ledger.holders(namespace, name, resource),
            native=native_status(known.log.update(self._differences(namespace, name, known.rules), self._now())),
        )

    def desired(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return the same as it is written to the API server."""
        status = self.status(namespace, name)
        return msgspec.to_builtins(status) if status is not None else None

    def usages(self) -> Iterator[tuple[QuotaKey, Mapping[str, int], Mapping[str, int]]]:
        """Iterate over the quotas that are counted: key, `hard` of all names that can be, usage of those known now."""
        for key, known in self._known.items():
            if not isinstance(known.rules, str):
                used = self._ledger.usage(*key).used
                hard = {name: limit for name, limit in known.rules.hard.items() if name in used}
                yield key, hard, {name: used[name] for name in known_names(known.rules, self._views_of(key[0]))}

    def rooms(self, namespace: str) -> list[Quota] | Unresolved:
        """Return all quotas of a namespace as its buffers meet them: ours, and native ones that were not made for ours.

        Names whose usage is not known limit nothing, but for pods that are just being listed: those are waited for.
        """
        rooms = [*self._rooms_of_native(namespace), *self._rooms_of_ours(namespace)]
        pods = self._views(PODS, namespace)
        if not rooms or pods.trouble is not None:
            return rooms
        if not pods.complete:
            return Unresolved(RESOLVING, "the pods of the namespace are being listed", pending=True)
        placeholders = [
            use
            for use in self._ledger.objects(PODS, namespace).values()
            if isinstance(use.shape.facts, ScopeFacts) and use.shape.facts.priority_class == PLACEHOLDER_CLASS
        ]
        return [without_placeholders(quota, placeholders) for quota in rooms] if placeholders else rooms

    def _rooms_of_native(self, namespace: str) -> Iterator[Quota]:
        for each in self.native.of(namespace):
            # One whose NamespaceQuota has not been read yet stands in for it.
            if (namespace, each.owner) not in self._known:
                yield Quota(f"ResourceQuota {each.name}", each.hard, each.used, each.requirements)

    def _rooms_of_ours(self, namespace: str) -> Iterator[Quota]:
        for (place, name), known in self._known.items():
            if place == namespace and isinstance(known.rules, QuotaRules) and known.rules.counts_buffers:
                names = known_names(known.rules, self._views_of(namespace))
                hard = {resource: known.rules.hard[resource] for resource in names}
                used = self._ledger.usage(place, name).used
                yield Quota(f"NamespaceQuota {name}", hard, used, frozenset(known.rules.terms.requirements))

    def differences(self) -> Iterator[tuple[QuotaKey, Difference]]:
        """Iterate over the numbers in which native quotas differ now."""
        for (namespace, name), known in self._known.items():
            if not isinstance(known.rules, str):
                for each in self._differences(namespace, name, known.rules):
                    yield (namespace, name), each

    def unsettled(self) -> list[QuotaKey]:
        """Return the quotas that differ from native ones: whether that lasts is seen only by looking again."""
        return [key for key, known in self._known.items() if known.log.pending]

    def _views_of(self, namespace: str) -> Views:
        return lambda resource: self._views(resource, namespace)

    def _differences(self, namespace: str, name: str, rules: QuotaRules) -> list[Difference]:
        used = self._ledger.usage(namespace, name).used
        counted = {resource: used[resource] for resource in current_names(rules, self._views_of(namespace))}
        requirements = frozenset(rules.terms.requirements)
        return [
            difference
            for native in self.native.of(namespace)
            for difference in differences(native, requirements, counted)
        ]

    def __iter__(self) -> Iterator[QuotaKey]:
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(self._known)
