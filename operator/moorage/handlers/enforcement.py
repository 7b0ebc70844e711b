"""Brings about and proves the enforcement of every NamespaceQuota, and knows how it stands."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from moorage.admission.policies import defaults
from moorage.admission.probe import Probe, probes
from moorage.admission.prover import Prover
from moorage.api import GROUP, VERSION
from moorage.cluster.client import Client
from moorage.cluster.errors import ClusterError
from moorage.cluster.event_series import Happening, Regarding
from moorage.cluster.labeller import Labeller
from moorage.cluster.limit_ranges import LimitRangePlan, LimitRanges
from moorage.cluster.projector import Plan, Projector
from moorage.cluster.served import serves_mutating_policies
from moorage.handlers.quotas import Quotas
from moorage.quota.admission import QuotaState
from moorage.quota.bounds import CONTAINER, Limits
from moorage.quota.coverage import covered
from moorage.quota.ledger import QuotaKey
from moorage.quota.projection import Owner, Projection, projected_name, projection, why_not_in_force
from moorage.status.enforcement import Enforcement, Means
from moorage.status.namespacequota import QuotaRules

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 300.0
"""How often the API server is asked what kinds of policies it has."""

EXEMPT_NAMESPACES = ("kube-system",)
"""Never enforced in, besides the operator's own namespace."""

SETTLING_SECONDS = 5.0
"""For so long after a change nobody is told that enforcement is missing."""


class Enforcer:
    """Enforces what `quotas` knows; `uid` returns the uid of a NamespaceQuota.

    `synced` tells whether the ResourceQuotas of a namespace have been listed. `changed` is called when the state of a
    quota's enforcement may have changed, `tell` writes events; `clock` is monotonic, in seconds.
    """

    def __init__(
        self,
        client: Client,
        quotas: Quotas,
        *,
        uid: Callable[[QuotaKey], str | None],
        synced: Callable[[str], bool],
        changed: Callable[[QuotaKey], None],
        tell: Callable[[Happening], None] = lambda _: None,
        exempt: Collection[str] = EXEMPT_NAMESPACES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quotas = quotas
        self._uid = uid
        self._synced = synced
        self._changed = changed
        self._tell = tell
        self._exempt = frozenset(exempt)
        self._clock = clock
        self._since: dict[QuotaKey, float] = {}
        """Since when something is missing."""
        self._edits: dict[QuotaKey, str] = {}
        self._made: dict[QuotaKey, tuple[object, Sequence[Probe]]] = {}
        """Probes and what they are made for."""
        self._has_mutating_policies: bool | None = None
        """Whether the API server can fill in defaults by a policy; None: not known yet."""
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
        self.limit_ranges = LimitRanges(client, self._limit_range_plan, changed=changed)
        self.labeller = Labeller(client, wanted=self._covered, uid=uid)
        self.prover = Prover(client, self._probes, changed=changed)
        self._client = client

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.projector.run(), name="projector")
            group.create_task(self.limit_ranges.run(), name="limit ranges")
            group.create_task(self.labeller.run(), name="labeller")
            group.create_task(self.prover.run(), name="prover")
            group.create_task(self._follow_the_api_server(), name="kinds of policies")

    async def _follow_the_api_server(self) -> None:
        """Find out by which means defaults are filled in, now and after the API server was upgraded."""
        while True:
            pause = LOOK_AGAIN_SECONDS
            try:
                found = await serves_mutating_policies(self._client)
            except ClusterError as error:
                logger.warning("what policies the API server has cannot be looked up: %s", error)
                pause = 5.0
            else:
                if found != self._has_mutating_policies:
                    self._has_mutating_policies = found
                    for namespace in list(self._names):
                        self.look(namespace, prove=True)
            await asyncio.sleep(pause)

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
                self.labeller.mark((namespace, name))
                self.limit_ranges.mark((namespace, name))
                self.prover.mark((namespace, name))

    def _forget(self, key: QuotaKey) -> None:
        self.projector.forget(key)
        self.labeller.forget(key)
        self.limit_ranges.forget(key)
        self.prover.forget(key)
        self._since.pop(key, None)
        self._edits.pop(key, None)
        self._made.pop(key, None)

    def state(self, key: QuotaKey) -> Enforcement:
        """Return how the enforcement of a quota stands."""
        rules = self._quotas.rules(*key)
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
        rules, uid = self._quotas.rules(*key), self._uid(key)
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
        rules = self._enforced_rules(key)
        fills_in = self._has_mutating_policies
        if rules is None or fills_in is None:
            return ()
        given = self._quotas.defaults(*key) if fills_in else self._ranged(key[0])
        basis = (rules, given, fills_in)
        made = self._made.get(key)
        if made is None or made[0] != basis:
            state = QuotaState(
                key[1],
                hard=rules.hard,
                requirements=rules.terms.requirements,
                limits=_with_defaults(rules.limits, given),
            )
            made = self._made[key] = basis, tuple(probes(state, fills_in=fills_in))
        return made[1]

    def _ranged(self, namespace: str) -> Limits | None:
        """Return what the LimitRanges of a namespace fill in, for whichever quota."""
        found = (self._quotas.defaults(namespace, name) for name in self._quotas.names(namespace))
        return next((each for each in found if each is not None), None)

    def _single_objects(self, key: QuotaKey) -> Sequence[Means]:
        if self._has_mutating_policies is None:
            return (Means("", "PoliciesNotInForce", "the kinds of policies that the API server has are looked up"),)
        wanted = self._probes(key)
        if not wanted:
            return ()
        words = f"single objects by the policies {' and '.join(sorted({each.policy for each in wanted}))}"
        if any(each.filled_in for each in wanted):
            words += f", defaults by the policy {defaults.NAME}"
        return (Means(words, "PoliciesNotInForce", self._why_not_proved(key, wanted)), *self._limit_range(key))

    def _why_not_proved(self, key: QuotaKey, wanted: Sequence[Probe]) -> str:
        if self.prover.is_proved(key, wanted):
            return ""
        result = self.prover.results.get(key)
        return result.problem if result is not None and result.problem else "the policies are being proved"

    # Defaults where no policy can fill them in

    def _limit_range_plan(self, key: QuotaKey) -> LimitRangePlan | None:
        rules, uid = self._quotas.rules(*key), self._uid(key)
        if rules is None or uid is None or self._has_mutating_policies is None:
            return None
        given = None
        if not self._has_mutating_policies and self._enforced_rules(key) is not None:
            given = self._quotas.defaults(*key)
        return LimitRangePlan(Owner(*key, uid), given if given is not None and not given.is_empty else None)

    def _limit_range(self, key: QuotaKey) -> Sequence[Means]:
        plan = self._limit_range_plan(key)
        if plan is None or plan.defaults is None:
            return ()
        name = projected_name(key[1])
        problem = self.limit_ranges.problems.get(key, "")
        if not problem and not self.limit_ranges.is_in_order(key):
            problem = f"LimitRange {name} is being made"
        words = (
            f"defaults by LimitRange {name}, since this API server has no MutatingAdmissionPolicy of version v1 "
            "(a default limit below a request is not raised to it: such a pod is refused)"
        )
        return (Means(words, "DefaultsNotInForce", problem),)

    # Coverage

    def _covered(self, key: QuotaKey) -> frozenset[str] | None:
        """Return what a quota covers whole; None when that cannot be told."""
        if self._quotas.rules(*key) is None:
            return None
        rules = self._enforced_rules(key)
        return covered(rules.hard, rules.terms.requirements) if rules is not None else frozenset()

    def _edited(self, key: QuotaKey, what: str) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._edits[key] = f"at {at} {what}"
        self._changed(key)
        regarding = Regarding(f"{GROUP}/{VERSION}", "NamespaceQuota", *key, self._uid(key) or "")
        self._tell(Happening(regarding=regarding, reason="EditPutBack", action="Enforce", note=what, alike=what))

    def _enforced_rules(self, key: QuotaKey) -> QuotaRules | None:
        """Return what a quota says if it is to be enforced."""
        rules = self._quotas.rules(*key)
        return rules if rules is not None and rules.is_enforced and key[0] not in self._exempt else None


def _with_defaults(entries: Iterable[Limits], given: Limits | None) -> tuple[Limits, ...]:
    """Return entries with the defaults that are in force in place of their own."""
    others = [each for each in entries if each.type != CONTAINER]
    own = next((each for each in entries if each.type == CONTAINER), None)
    if own is None and given is None:
        return tuple(others)
    filled = given or Limits(CONTAINER)
    entry = replace(own or filled, default=filled.default, default_request=filled.default_request)
    return (entry, *others)
