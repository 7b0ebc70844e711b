"""The NamespaceQuotas that exist, and the status that each should have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.api import SpecError, parse_namespace_quota_spec
from moorage.api.namespacequota import NamespaceQuotaStatus
from moorage.quota.ledger import Ledger, QuotaKey, Usage
from moorage.status.namespacequota import PodsView, QuotaRules, invalid_quota_status, quota_rules, quota_status


@dataclass(frozen=True, slots=True)
class _Known:
    generation: int
    rules: QuotaRules | str
    """What the spec says, or what is wrong with it."""


class Quotas:
    """Knows every NamespaceQuota and has the ledger count for it."""

    def __init__(self, ledger: Ledger) -> None:
        self.view = PodsView(complete=False)
        """How well the pods are known; kept up to date by the owner."""
        self.views: Mapping[str, PodsView] = {}
        """The same for single namespaces, where each is read for itself."""
        self._ledger = ledger
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
        self._known[namespace, name] = _Known(generation, rules)

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
        view = self.view_of(namespace)
        usage = self._ledger.usage(namespace, name) if view.complete else None
        return quota_status(known.rules, usage, view, generation=known.generation)

    def view_of(self, namespace: str) -> PodsView:
        """Return how well the pods of a namespace are known."""
        return self.views.get(namespace, self.view)

    def desired(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return the same as it is written to the API server."""
        status = self.status(namespace, name)
        return msgspec.to_builtins(status) if status is not None else None

    def usages(self) -> Iterator[tuple[QuotaKey, Mapping[str, int], Usage]]:
        """Iterate over the quotas that are counted: key, `hard` in nano-units, usage."""
        for key, known in self._known.items():
            if not isinstance(known.rules, str) and not known.rules.uncounted_scopes:
                yield key, known.rules.hard, self._ledger.usage(*key)

    def __iter__(self) -> Iterator[QuotaKey]:
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(self._known)
