"""What there shall be for each NamespaceQuota, so that it is enforced: what is made, what labels it, what proves it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from moorage.admission.probe import Probe, probes
from moorage.buffer.holdings import Holding, held_by_source
from moorage.cluster.limit_ranges import LimitRangePlan
from moorage.cluster.projector import Plan
from moorage.handlers.quotas import Quotas
from moorage.quota.admission import QuotaState
from moorage.quota.bounds import CONTAINER, Limits
from moorage.quota.coverage import covered
from moorage.quota.ledger import QuotaKey
from moorage.quota.names import compute
from moorage.quota.projection import PLACEHOLDERS_ALONE, Owner, Part, projection
from moorage.status.namespacequota import QuotaRules


class Plans:
    """Derives plans from `quotas`; `uid` returns the uid of a NamespaceQuota.

    `placeholders` returns what those of a namespace may count for; None: not known yet. In `exempt` namespaces nothing
    is enforced. None for a plan that cannot be told yet: leave what there is alone.
    """

    def __init__(
        self,
        quotas: Quotas,
        *,
        uid: Callable[[QuotaKey], str | None],
        placeholders: Callable[[str], Sequence[Holding] | None] = lambda _: (),
        exempt: Collection[str],
    ) -> None:
        self.has_mutating_policies: bool | None = None
        """Whether the API server can fill in defaults by a policy; None: not known yet."""
        self._quotas = quotas
        self._uid = uid
        self._placeholders = placeholders
        self._exempt = frozenset(exempt)
        self._made: dict[QuotaKey, tuple[object, Sequence[Probe]]] = {}
        """Probes and what they are made for."""

    def forget(self, key: QuotaKey) -> None:
        """Forget a quota that is gone."""
        self._made.pop(key, None)

    def is_exempt(self, namespace: str) -> bool:
        """Tell whether no quota is enforced in a namespace."""
        return namespace in self._exempt

    def rules(self, key: QuotaKey) -> QuotaRules | None:
        """Return what a quota says if it is to be enforced."""
        rules = self._quotas.rules(*key)
        return rules if rules is not None and rules.is_enforced and not self.is_exempt(key[0]) else None

    def totals(self, key: QuotaKey) -> Iterator[Plan]:
        """Yield the ResourceQuotas that there shall be, as far as they can be told."""
        for part in Part:
            if (plan := self.total((*key, part))) is not None:
                yield plan

    def total(self, key: tuple[str, str, Part]) -> Plan | None:
        """Return one ResourceQuota that there shall be."""
        namespace, name, part = key
        known, uid = self._quotas.rules(namespace, name), self._uid((namespace, name))
        if known is None or uid is None:
            return None
        owner = Owner(namespace, name, uid)
        if self.rules((namespace, name)) is None:
            return Plan(owner, part, None)
        holdings = self._placeholders(namespace) if part is Part.PLACEHOLDERS else ()
        claimed = self._quotas.claimed(namespace, name)
        if holdings is None or claimed is None:
            return None
        scopes = known.terms.requirements
        sums = held_by_source(holdings, (*scopes, PLACEHOLDERS_ALONE))
        return Plan(owner, part, projection(known.hard, scopes, part, placeholders=sums, claimed=claimed))

    def limit_range(self, key: QuotaKey) -> LimitRangePlan | None:
        """Return the LimitRange that there shall be: one where no policy can fill in defaults."""
        known, uid = self._quotas.rules(*key), self._uid(key)
        if known is None or uid is None or self.has_mutating_policies is None:
            return None
        given = None
        if not self.has_mutating_policies and self.rules(key) is not None:
            if self._quotas.awaited(key[0]):
                return None  # which of several quotas makes it, and of what, is known with the last one
            given = self._quotas.defaults(*key)
        return LimitRangePlan(Owner(*key, uid), given if given is not None and not given.is_empty else None)

    def labels(self, key: QuotaKey) -> frozenset[str] | None:
        """Return what a quota covers whole."""
        if self._quotas.rules(*key) is None:
            return None
        rules = self.rules(key)
        return covered(rules.hard, rules.terms.requirements) if rules is not None else frozenset()

    def needs_policies(self, namespace: str) -> bool:
        """Tell whether policies have something to do in a namespace."""
        return any(self._needs_policies((namespace, name)) for name in self._quotas.names(namespace))

    def _needs_policies(self, key: QuotaKey) -> bool:
        # Not by its probes: what a quota with scopes demands of the pods that it selects cannot always be proved.
        rules = self.rules(key)
        return rules is not None and bool(rules.limits or any(compute(name) is not None for name in rules.hard))

    def probes(self, key: QuotaKey) -> Sequence[Probe]:
        """Return what proves the policies of a quota; nothing while it cannot be told or there is nothing to prove."""
        rules, fills_in = self.rules(key), self.has_mutating_policies
        if rules is None or fills_in is None:
            return ()
        given = self._quotas.defaults(*key) if fills_in else self._ranged(key[0])
        basis = (rules, given, fills_in)
        made = self._made.get(key)
        if made is None or made[0] != basis:
            limits = _with_defaults(rules.limits, given)
            state = QuotaState(key[1], hard=rules.hard, requirements=rules.terms.requirements, limits=limits)
            made = self._made[key] = basis, tuple(probes(state, fills_in=fills_in))
        return made[1]

    def _ranged(self, namespace: str) -> Limits | None:
        """Return what the LimitRanges of a namespace fill in, for whichever quota."""
        found = (self._quotas.defaults(namespace, name) for name in self._quotas.names(namespace))
        return next((each for each in found if each is not None), None)


def _with_defaults(entries: Iterable[Limits], given: Limits | None) -> tuple[Limits, ...]:
    """Return entries with the defaults that are in force in place of their own."""
    others = [each for each in entries if each.type != CONTAINER]
    own = next((each for each in entries if each.type == CONTAINER), None)
    if own is None and given is None:
        return tuple(others)
    filled = given or Limits(CONTAINER)
    return (replace(own or filled, default=filled.default, default_request=filled.default_request), *others)
