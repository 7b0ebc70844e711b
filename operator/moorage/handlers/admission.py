"""What the webhook knows: the quotas of a namespace, put together from memory when a request asks for them."""

from __future__ import annotations

from collections.abc import Callable

from moorage.admission.view import KnownQuota, NamespaceView
from moorage.admission.workloads import Workload
from moorage.cluster.event_series import Regarding
from moorage.handlers.quotas import Quotas
from moorage.handlers.workloads import Workloads
from moorage.quota.admission import QuotaState
from moorage.quota.ledger import Holder, Ledger, QuotaKey
from moorage.quota.names import counted
from moorage.quota.native import NativeQuota
from moorage.status.namespacequota import QuotaRules

IsFresh = Callable[[str, str], bool]
"""Returns whether what is known of a resource (such as `pods`) in a namespace is proved to be current."""


class AdmissionMemory:
    """Puts together what is known at this moment.

    `policies_proved` says of a quota whether the API server's policies are known to obey it; `uids` are the quotas'.
    """

    def __init__(
        self,
        quotas: Quotas,
        ledger: Ledger,
        workloads: Workloads,
        *,
        is_fresh: IsFresh,
        policies_proved: Callable[[QuotaKey], bool],
        uid: Callable[[QuotaKey], str],
    ) -> None:
        self._quotas = quotas
        self._ledger = ledger
        self._workloads = workloads
        self._is_fresh = is_fresh
        self._policies_proved = policies_proved
        self._uid = uid

    def look(self, namespace: str) -> NamespaceView | None:
        """Return the quotas of a namespace; None when there are none."""
        rules = self._quotas.rules_in(namespace)
        if not rules:
            return None
        native = [*self._quotas.native.of(namespace)]
        known = (self._known((namespace, name), each, native) for name, each in sorted(rules.items()))
        return NamespaceView(tuple(known), tuple(_state(each) for each in native if each.owner not in rules))

    def workload(self, kind: str, namespace: str, name: str) -> Workload | None:
        """Return a workload that is stored, if it is known."""
        return self._workloads.get(kind, namespace, name)

    def regarding(self, kind: str, namespace: str, name: str) -> Regarding | None:
        """Return how an event names a workload, if it is known."""
        return self._workloads.regarding(kind, namespace, name)

    def _known(self, key: QuotaKey, rules: QuotaRules, native: list[NativeQuota]) -> KnownQuota:
        namespace, name = key
        used = self._ledger.usage(namespace, name).used
        names = self._quotas.current_names(namespace, rules)

        def holders(resource: str, most: int | None) -> list[Holder]:
            return self._ledger.holders(namespace, name, resource, most)

        return KnownQuota(
            state=QuotaState(
                name,
                hard={each: amount for each, amount in rules.hard.items() if each in used},
                used={each: used[each] for each in names},
                requirements=rules.terms.requirements,
                limits=rules.limits,
                is_enforced=rules.is_enforced,
            ),
            uid=self._uid(key),
            holders=holders,
            policies_proved=self._policies_proved(key),
            current=frozenset(each for each in names if self._is_current(each, namespace)),
            projections=tuple(_state(each) for each in native if each.owner == name),
        )

    def _is_current(self, name: str, namespace: str) -> bool:
        what = counted(name)
        return what is not None and all(self._is_fresh(resource, namespace) for resource in what.resources)


def _state(native: NativeQuota) -> QuotaState:
    """Return a ResourceQuota as the API server's admission takes it: by its status."""
    return QuotaState(
        native.name,
        hard=native.enforced,
        used={name: amount for name, amount in native.used.items() if name in native.enforced},
        requirements=tuple(native.requirements),
    )
