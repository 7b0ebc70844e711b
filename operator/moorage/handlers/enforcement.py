"""Brings about and proves the enforcement of every NamespaceQuota, and knows how it stands."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from moorage.admission.policies import defaults
from moorage.admission.probe import Probe
from moorage.admission.prover import Prover
from moorage.api import GROUP, VERSION
from moorage.buffer.holdings import Holding
from moorage.cluster.client import Client
from moorage.cluster.errors import ClusterError
from moorage.cluster.event_series import Happening, Regarding
from moorage.cluster.labeller import Labeller
from moorage.cluster.limit_ranges import LimitRanges
from moorage.cluster.namespace_labels import NamespaceLabels
from moorage.cluster.projector import Plan, Projector
from moorage.cluster.served import serves_mutating_policies
from moorage.handlers.plans import Plans
from moorage.handlers.quotas import Quotas
from moorage.quota.ledger import QuotaKey
from moorage.quota.projection import Part, not_by_class, projected_name, why_not_in_force
from moorage.status.enforcement import Enforcement, Means
from moorage.status.findings import listed

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 300.0
"""How often the API server is asked what kinds of policies it has."""

EXEMPT_NAMESPACES = ("kube-system",)
"""Never enforced in, besides the operator's own namespace."""

SETTLING_SECONDS = 5.0
"""For so long after a change nobody is told that enforcement is missing."""


class Enforcer:
    """Enforces what `quotas` knows; `uid` returns the uid of a NamespaceQuota.

    `unlisted` returns why the ResourceQuotas of a namespace are not known (empty: they are), `placeholders` what its
    placeholders may count for (None: not known yet). `changed` is called when the state of a quota's enforcement may
    have changed, `tell` writes events; `clock` is monotonic, in seconds. `namespaces` are those that the operator works
    in; empty: all.
    """

    def __init__(
        self,
        client: Client,
        quotas: Quotas,
        *,
        uid: Callable[[QuotaKey], str | None],
        unlisted: Callable[[str], str],
        placeholders: Callable[[str], Sequence[Holding] | None] = lambda _: (),
        changed: Callable[[QuotaKey], None],
        tell: Callable[[Happening], None] = lambda _: None,
        exempt: Collection[str] = EXEMPT_NAMESPACES,
        namespaces: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._quotas = quotas
        self._uid = uid
        self._unlisted = unlisted
        self._changed = changed
        self._tell = tell
        self._clock = clock
        self._since: dict[QuotaKey, float] = {}
        """Since when something is missing."""
        self._seen_in_force: set[QuotaKey] = set()
        self._edits: dict[QuotaKey, str] = {}
        self._names: dict[str, set[str]] = {}
        """The quotas seen last, by namespace."""
        self._plans = Plans(quotas, uid=uid, placeholders=placeholders, exempt=exempt)
        self._projector = Projector(
            client,
            plan=self._plans.total,
            held=quotas.native.named,
            synced=lambda namespace: not unlisted(namespace),
            changed=lambda key: changed(key[:2]),
            edited=lambda key, what: self._edited(key[:2], what),
        )
        self._limit_ranges = LimitRanges(client, self._plans.limit_range, changed=changed)
        self._prover = Prover(client, self._plans.probes, changed=changed)
        self._namespace_labels = NamespaceLabels(
            client, wanted=self._plans.needs_policies, quotas=quotas.names, namespaces=namespaces
        )
        self.labeller = Labeller(client, wanted=self._plans.labels, uid=uid)
        """Learns of labels on NamespaceQuotas."""

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._projector.run(), name="projector")
            group.create_task(self._limit_ranges.run(), name="limit ranges")
            group.create_task(self._prover.run(), name="prover")
            group.create_task(self._namespace_labels.run(), name="labels of namespaces")
            group.create_task(self.labeller.run(), name="labeller")
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
                if found != self._plans.has_mutating_policies:
                    self._plans.has_mutating_policies = found
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
        if prove:
            self._namespace_labels.mark(namespace)
        for name in names:
            for part in Part:
                self._projector.mark((namespace, name, part))
            if prove:
                self.labeller.mark((namespace, name))
                self._limit_ranges.mark((namespace, name))
                self._prover.mark((namespace, name))

    def _forget(self, key: QuotaKey) -> None:
        for each in (self._limit_ranges, self._prover, self.labeller, self._plans):
            each.forget(key)
        for part in Part:
            self._projector.forget((*key, part))
        self._since.pop(key, None)
        self._seen_in_force.discard(key)
        self._edits.pop(key, None)

    def state(self, key: QuotaKey) -> Enforcement:
        """Return how the enforcement of a quota stands."""
        rules = self._quotas.rules(*key)
        if rules is None:
            return Enforcement()
        if not rules.is_enforced:
            return Enforcement(is_audit=True)
        if self._plans.is_exempt(key[0]):
            return Enforcement(is_exempt=True)
        means = (*self._totals(key), *self._single_objects(key), *self._limit_range(key))
        notes = (*([self._edits[key]] if key in self._edits else []), *self._projector.contests_of(key))
        if not any(each.problem for each in means):
            self._since.pop(key, None)
            self._seen_in_force.add(key)
            return Enforcement(means, notes=notes)
        is_first = key not in self._seen_in_force
        return Enforcement(means, is_settling=self._is_settling(key), is_first=is_first, notes=notes)

    def is_proved(self, key: QuotaKey) -> bool:
        """Tell whether all that the quota says is proved to be in force."""
        found = self.state(key)
        return not (found.is_audit or found.is_exempt) and not any(each.problem for each in found.means)

    def placeholders_have_room(self, namespace: str) -> bool:
        """Tell whether all placeholders that shall be there would be admitted, as far as that is up to our quotas."""
        wanted = (self._plans.total((namespace, name, Part.PLACEHOLDERS)) for name in self._quotas.names(namespace))
        for plan in wanted:
            if plan is None or plan.projection is None:
                continue
            held = self._quotas.native.named(namespace, plan.name)
            if held is None or any(held.hard_in_force.get(name, -1) < it for name, it in plan.projection.hard.items()):
                return False
        return True

    def not_by_class(self, namespace: str) -> frozenset[str] | None:
        """Return the resources of which the API server counts placeholders of a namespace like any pod.

        None while that is not known.
        """
        found: set[str] = set()
        for name in self._quotas.names(namespace):
            if (rules := self._plans.rules((namespace, name))) is not None:
                if (claimed := self._quotas.claimed(namespace, name)) is None:
                    return None
                found |= not_by_class(rules.hard, claimed)
        return frozenset(found)

    def _is_settling(self, key: QuotaKey) -> bool:
        now = self._clock()
        if key not in self._since:
            self._since[key] = now
            asyncio.get_running_loop().call_later(SETTLING_SECONDS + 0.1, self._changed, key)
        return now - self._since[key] < SETTLING_SECONDS

    def _totals(self, key: QuotaKey) -> Sequence[Means]:
        known = list(self._plans.totals(key))
        if len(known) < len(Part):
            problem = "what placeholders and claims for devices count for is being read"
            return (Means("", "TotalsNotInForce", problem, is_unread=True),)
        plans = [each for each in known if each.projection is not None]
        if not plans:
            return ()
        what = "ResourceQuota" if len(plans) == 1 else "ResourceQuotas"
        why = next(filter(None, map(self._why_no_total, plans)), "")
        return (Means(f"totals by {what} {listed(each.name for each in plans)}", "TotalsNotInForce", why),)

    def _why_no_total(self, plan: Plan) -> str:
        namespace, name = plan.owner.namespace, plan.name
        if problem := self._projector.problems.get((namespace, plan.owner.name, plan.part)):
            return problem
        if why := self._unlisted(namespace):
            return why
        held = self._quotas.native.named(namespace, name)
        if held is None:
            return f"ResourceQuota {name} is being made"
        why = why_not_in_force(plan.projection, held) if plan.projection is not None else ""
        return f"ResourceQuota {name} is not in force: {why}" if why else ""

    def _single_objects(self, key: QuotaKey) -> Sequence[Means]:
        if self._plans.has_mutating_policies is None:
            return (Means("", "PoliciesNotInForce", "the kinds of policies that the API server has are looked up"),)
        wanted = self._plans.probes(key)
        if not wanted:
            return ()
        words = f"single objects by the policies {' and '.join(sorted({each.policy for each in wanted}))}"
        if any(each.filled_in for each in wanted):
            words += f", defaults by the policy {defaults.NAME}"
        return (Means(words, "PoliciesNotInForce", self._why_not_proved(key, wanted)),)

    def _why_not_proved(self, key: QuotaKey, wanted: Sequence[Probe]) -> str:
        if self._prover.is_proved(key, wanted):
            return ""
        if problem := self._namespace_labels.problems.get(key[0]):
            return problem
        result = self._prover.results.get(key)
        return result.problem if result is not None and result.problem else "the policies are being proved"

    def _limit_range(self, key: QuotaKey) -> Sequence[Means]:
        plan = self._plans.limit_range(key)
        if plan is None or plan.defaults is None:
            return ()
        name = projected_name(key[1])
        problem = self._limit_ranges.problems.get(key, "")
        if not problem and not self._limit_ranges.is_in_order(key):
            problem = f"LimitRange {name} is being made"
        words = (
            f"defaults by LimitRange {name}, since this API server has no MutatingAdmissionPolicy of version v1 "
            "(a default limit below a request is not raised to it: such a pod is refused)"
        )
        return (Means(words, "DefaultsNotInForce", problem),)

    def _edited(self, key: QuotaKey, what: str) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._edits[key] = f"at {at} {what}"
        self._changed(key)
        regarding = Regarding(f"{GROUP}/{VERSION}", "NamespaceQuota", *key, self._uid(key) or "")
        self._tell(Happening(regarding=regarding, reason="EditPutBack", action="Enforce", note=what, alike=what))
