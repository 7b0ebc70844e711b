"""A namespace as admission sees it at one moment: its quotas, and how far what is known of them can be relied on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from moorage.quota.admission import QuotaState
from moorage.quota.ledger import Holder

Holders = Callable[[str, int | None], list[Holder]]
"""Returns who holds a resource, the largest first: so many, or all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQuota:
    """A NamespaceQuota and what there is to tell about it."""

    state: QuotaState
    uid: str = ""
    holders: Holders = field(default=lambda *_: [])
    policies_proved: bool = False
    """Whether the API server's policies are known to refuse what its `limits` do not allow or must be given."""
    current: frozenset[str] = frozenset()
    """The names of which `used` is proved to be what the API server has, but for the last seconds."""
    projections: tuple[QuotaState, ...] = ()
    """The ResourceQuotas that enforce its totals, `hard` and `used` as their status says; none until they are made."""

    @property
    def name(self) -> str:
        """The name of the NamespaceQuota."""
        return self.state.name

    def without(self, workload: str) -> QuotaState:
        """Return the quota as it would be if a workload used nothing."""
        used = dict(self.state.used)
        for name in used:
            used[name] -= sum(each.used for each in self.holders(name, None) if each.workload == workload)
        return replace(self.state, used=used)


@dataclass(frozen=True, slots=True)
class NamespaceView:
    """All quotas of a namespace."""

    quotas: tuple[KnownQuota, ...] = ()
    others: tuple[QuotaState, ...] = ()
    """ResourceQuotas that are not ours, as their status says."""

    @property
    def states(self) -> list[QuotaState]:
        """The NamespaceQuotas alone."""
        return [each.state for each in self.quotas]

    def of(self, name: str) -> KnownQuota:
        """Return a NamespaceQuota by its name. Raises StopIteration when there is none."""
        return next(each for each in self.quotas if each.name == name)
