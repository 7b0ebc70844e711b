"""Brings about and proves the enforcement of every NamespaceQuota, and knows how it stands."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from moorage.admission.policies import defaults
from moorage.admission.probe import Probe, probes
from moorage.admission.prover import Prover
from moorage.cluster.client import Client
from moorage.cluster.projector import Plan, Projector
from moorage.handlers.quotas import Quotas
from moorage.quota.admission import QuotaState
from moorage.quota.ledger import QuotaKey
from moorage.quota.projection import Owner, Projection, projected_name, projection, why_not_in_force
from moorage.status.enforcement import Enforcement, Means
from moorage.status.namespacequota import QuotaRules

EXEMPT_NAMESPACES = ("kube-system",)
"""Never enforced in, besides the operator's own namespace."""

SETTLING_SECONDS = 5.0
"""For so long after a change nobody is told that enforcement is missing."""


class Enforcer:
    """Enforces what `quotas` knows; `uid` returns the uid of a NamespaceQuota.

    `synced` tells whether the ResourceQuotas of a namespace have been listed. `changed` is called when the state of a
    quota's enforcement may have changed; `clock` is monotonic, in seconds.
    """

    def __init__(
        self,
        client: Client,
        quotas: Quotas,
        *,
        uid: Callable[[QuotaKey], str | None],
        synced: Callable[[str], bool],
        changed: Callable[[QuotaKey], None],
        exempt: Collection[str] = EXEMPT_NAMESPACES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quotas = quotas
        self._uid = uid
        self._synced = synced
        self._changed = changed
        self._exempt = frozenset(exempt)
        self._clock = clock
        self._since: dict[QuotaKey, float] = {}
        """Since when something is missing."""
        self._edits: dict[QuotaKey, str] = {}
        self._made: dict[QuotaKey, tuple[QuotaRules, Sequence[Probe]]] = {}
        """Probes and the rules that they are made for."""
        self._names: dict[str, set[str]] = {}
        """The quotas seen last, by namespace."""
        self.projector = Projector(
            client,
            plan=self._plan,
            held=quotas.native.named,
            synced=synced,
            changed=changed,
            edited=self._edited,
        )
        self.prover = Prover(client, self._probes, changed=changed)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.projector.run(), name="projector")
            group.create_task(self.prover.run(), name="prover")

    def look(self, namespace: str, *, prove: bool) -> None:
        """Have a look at the quotas of a namespace; `prove` their policies too, since a spec has changed."""
        names = set(self._quotas.names(namespace))
        for name in self._names.pop(namespace, set()) - names:
            self._forget((namespace, name))
        if names:
            self._names[namespace] = names
        for name in names:
            self.projector.mark((namespace, name))
            if prove:
                self.prover.mark((namespace, name))

    def _forget(self, key: QuotaKey) -> None:
        self.projector.forget(key)
        self.prover.forget(key)
        self._since.pop(key, None)
        self._edits.pop(key, None)
        self._made.pop(key, None)

    def state(self, key: QuotaKey) -> Enforcement:
        """Return how the enforcement of a quota stands."""
        rules = self._rules(key)
        if rules is None:
            return Enforcement()
        if not rules.is_enforced:
            return Enforcement(is_audit=True)
        if key[0] in self._exempt:
            return Enforcement(is_exempt=True)
        means = (*self._totals(key, rules), *self._single_objects(key))
        notes = (self._edits[key],) if key in self._edits else ()
        if not any(each.problem for each in means):
            self._since.pop(key, None)
            return Enforcement(means, notes=notes)
        return Enforcement(means, is_settling=self._is_settling(key), notes=notes)

    def is_proved(self, key: QuotaKey) -> bool:
        """Tell whether all that the quota says is proved to be in force."""
        found = self.state(key)
        return not (found.is_audit or found.is_exempt) and not any(each.problem for each in found.means)

    def _is_settling(self, key: QuotaKey) -> bool:
        now = self._clock()
        if key not in self._since:
            self._since[key] = now
            asyncio.get_running_loop().call_later(SETTLING_SECONDS + 0.1, self._changed, key)
        return now - self._since[key] < SETTLING_SECONDS

    # Totals

    def _plan(self, key: QuotaKey) -> Plan | None:
        rules, uid = self._rules(key), self._uid(key)
        if rules is None or uid is None:
            return None
        return Plan(Owner(*key, uid), self._projection(key, rules))

    def _projection(self, key: QuotaKey, rules: QuotaRules) -> Projection | None:
        if not rules.is_enforced or key[0] in self._exempt:
            return None
        return projection(rules.hard, rules.terms.requirements)

    def _totals(self, key: QuotaKey, rules: QuotaRules) -> Sequence[Means]:
        wanted = self._projection(key, rules)
        if wanted is None:
            return ()
        name = projected_name(key[1])
        return (Means(f"totals by ResourceQuota {name}", "TotalsNotInForce", self._why_no_totals(key, wanted, name)),)

    def _why_no_totals(self, key: QuotaKey, wanted: Projection, name: str) -> str:
        if problem := self.projector.problems.get(key):
            return problem
        if not self._synced(key[0]):
            return "the ResourceQuotas are being listed"
        held = self._quotas.native.named(key[0], name)
        if held is None:
            return f"ResourceQuota {name} is being made"
        why = why_not_in_force(wanted, held)
        return f"ResourceQuota {name} is not in force: {why}" if why else ""

    # Single objects

    def _probes(self, key: QuotaKey) -> Sequence[Probe]:
        rules = self._rules(key)
        if rules is None or not rules.is_enforced or key[0] in self._exempt:
            return ()
        made = self._made.get(key)
        if made is None or made[0] is not rules:
            state = QuotaState(key[1], hard=rules.hard, requirements=rules.terms.requirements, limits=rules.limits)
            made = self._made[key] = rules, tuple(probes(state))
        return made[1]

    def _single_objects(self, key: QuotaKey) -> Sequence[Means]:
        wanted = self._probes(key)
        if not wanted:
            return ()
        problem = ""
        if not self.prover.is_proved(key, wanted):
            result = self.prover.results.get(key)
            problem = result.problem if result is not None and result.problem else "the policies are being proved"
        words = [f"single objects by the policies {' and '.join(sorted({each.policy for each in wanted}))}"]
        if any(each.filled_in for each in wanted):
            words.append(f"defaults by the policy {defaults.NAME}")
        return (Means(", ".join(words), "PoliciesNotInForce", problem),)

    def _edited(self, key: QuotaKey, what: str) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._edits[key] = f"at {at} {what}"
        self._changed(key)

    def _rules(self, key: QuotaKey) -> QuotaRules | None:
        return self._quotas.rules(*key)
