"""What the webhook knows: the quotas of a namespace, put together from memory when a request asks for them."""

from __future__ import annotations

from collections.abc import Callable

from moorage.admission.view import KnownQuota, NamespaceView
from moorage.admission.workloads import Replicated
from moorage.cluster.event_series import Regarding
from moorage.handlers.quotas import Quotas
from moorage.handlers.scalable import Scalables
from moorage.quota.admission import QuotaState
from moorage.quota.ledger import Holder, Ledger, QuotaKey
from moorage.quota.names import counted
from moorage.quota.native import NativeQuota
from moorage.quota.projection import Part

IsFresh = Callable[[str, str], bool]
"""Returns whether what is known of a resource (such as `pods`) in a namespace is proved to be current."""


class AdmissionMemory:
    """Puts together what is known at this moment.

    `policies_proved` says of a quota whether the API server's policies are known to obey it; `uid` returns a quota's.
    """

    def __init__(
        self,
        quotas: Quotas,
        ledger: Ledger,
        scalables: Scalables,
        *,
        is_fresh: IsFresh,
        policies_proved: Callable[[QuotaKey], bool],
        uid: Callable[[QuotaKey], str],
    ) -> None:
        self._quotas = quotas
        self._ledger = ledger
        self._scalables = scalables
        self._is_fresh = is_fresh
        self._policies_proved = policies_proved
        self._uid = uid

    def look(self, namespace: str) -> NamespaceView | None:
        """Return the quotas of a namespace; None when there are none."""
        states = self._quotas.states(namespace)
        if not states:
            return None
        native = [*self._quotas.native.of(namespace)]
        ours = {each.name for each in states}
        return NamespaceView(
            tuple(self._known(namespace, each, native) for each in states),
            tuple(_state(each) for each in native if each.owner not in ours),
        )

    def workload(self, kind: str, namespace: str, name: str) -> Replicated | None:
        """Return a workload that is stored, if it is known."""
        return self._scalables.get(kind, namespace, name)

    def regarding(self, kind: str, namespace: str, name: str) -> Regarding | None:
        """Return how an event names a workload, if it is known."""
        return self._scalables.regarding(kind, namespace, name)

    def _known(self, namespace: str, state: QuotaState, native: list[NativeQuota]) -> KnownQuota:
        def holders(resource: str, most: int | None) -> list[Holder]:
            return self._ledger.holders(namespace, state.name, resource, most)

        return KnownQuota(
            state=state,
            uid=self._uid((namespace, state.name)),
            holders=holders,
            policies_proved=lambda: self._policies_proved((namespace, state.name)),
            is_current=lambda name: self._is_current(name, namespace),
            projections=tuple(
                _state(each)
                for each in sorted(native, key=lambda each: each.name)
                if each.owner == state.name and not each.name.startswith(Part.PLACEHOLDERS.value)
            ),
        )

    def _is_current(self, name: str, namespace: str) -> bool:
        what = counted(name)
        return what is not None and all(self._is_fresh(resource, namespace) for resource in what.resources)


def _state(native: NativeQuota) -> QuotaState:
    """Return a ResourceQuota as the API server's admission takes it: by its status."""
    return QuotaState(
        native.name,
        hard=native.hard_in_force,
        used={name: amount for name, amount in native.used.items() if name in native.hard_in_force},
        requirements=tuple(native.requirements),
        is_native=True,
    )
