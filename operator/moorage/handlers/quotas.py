"""The NamespaceQuotas that exist, and the status that each should have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from moorage.api import Condition, SpecError, parse_namespace_quota_spec
from moorage.api.namespacequota import AuditCount, NamespaceQuotaStatus
from moorage.buffer.holdings import Holding, held
from moorage.handlers.native import NativeQuotas
from moorage.quota.admission import QuotaState
from moorage.quota.audit import AuditLog
from moorage.quota.bounds import Limits, defaults_in_force
from moorage.quota.conflicts import Conflict, conflicts
from moorage.quota.ledger import Ledger, QuotaKey
from moorage.quota.names import DEVICE_CLAIMS, PODS
from moorage.quota.native import Difference, differences
from moorage.quota.projection import NO_PLACEHOLDERS, extended_names
from moorage.quota.report import QuotaReport
from moorage.quota.workloads import Findings
from moorage.status.enforcement import Enforcement, enforced
from moorage.status.limits import limits_conflict, workloads_refused
from moorage.status.namespacequota import (
    QuotaRules,
    Trouble,
    View,
    Views,
    aggregated_resources,
    current_names,
    defaults_status,
    invalid_quota_status,
    known_names,
    quota_rules,
    quota_status,
)
from moorage.status.native import DifferenceLog, native_status


@dataclass(frozen=True, slots=True)
class _Known:
    generation: int
    rules: QuotaRules | str
    """What the spec says, or what is wrong with it."""
    log: DifferenceLog
    """Since when native quotas have differed."""
    audit: AuditLog
    """What it would have refused, if it is in Audit mode."""


class Quotas:
    """Knows every NamespaceQuota, has the ledger count for it, and compares it with native quotas.

    `views` says how well a resource is known in a namespace, `now` is the wall clock in seconds since the epoch.
    """

    def __init__(
        self, ledger: Ledger, views: Callable[[str, str], View], *, now: Callable[[], float] = time.time
    ) -> None:
        self.native = NativeQuotas()
        """The ResourceQuotas that exist."""
        self.changed: Callable[[str], None] = lambda _: None
        """Called with a namespace in which a quota came, changed or went."""
        self.findings: Callable[[str], Findings | None] | None = None
        """Returns what is known of the workloads of a namespace; None while nobody looks at any."""
        self.holdings: Callable[[str], Sequence[Holding]] = lambda _: ()
        """Returns what the buffers of a namespace hold, as far as that is known."""
        self.awaited: Callable[[str], bool] = lambda _: False
        """Whether there may be quotas of a namespace that have not been taken in."""
        self.enforcement: Callable[[QuotaKey], Enforcement] | None = None
        """Returns how the enforcement of a quota stands; None while nobody enforces any."""
        self._ledger = ledger
        self._views = views
        self._now = now
        self._known: dict[QuotaKey, _Known] = {}
        self._names: dict[str, set[str]] = {}
        """By namespace."""
        self._conflicts: dict[str, Mapping[str, Sequence[Conflict]]] = {}
        """By namespace and quota; looked for when somebody asks, since at a start quotas come one by one."""
        self._defaults: dict[str, Mapping[str, Limits]] = {}
        """What is filled in by which quota, by namespace."""

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
        log = old.log if old is not None else DifferenceLog()
        audit = old.audit if old is not None and old.generation == generation else AuditLog()
        self._known[namespace, name] = _Known(generation, rules, log, audit)
        self._names.setdefault(namespace, set()).add(name)
        self._quotas_changed(namespace)

    def remove(self, namespace: str, name: str) -> None:
        """Forget a quota that was deleted."""
        self._known.pop((namespace, name), None)
        self._ledger.remove_quota(namespace, name)
        names = self._names.get(namespace, set())
        names.discard(name)
        if not names:
            self._names.pop(namespace, None)
        self._quotas_changed(namespace)

    def pods_are_refused(self, namespace: str) -> bool:
        """Tell whether the pods of a namespace may not be read."""
        return self._views(PODS, namespace).trouble in (Trouble.FORBIDDEN, Trouble.NOT_SERVED)

    def names(self, namespace: str) -> list[str]:
        """Return the names of the quotas of a namespace."""
        return sorted(self._names.get(namespace, ()))

    def rules(self, namespace: str, name: str) -> QuotaRules | None:
        """Return what a quota says; None when it is not known or cannot be read."""
        known = self._known.get((namespace, name))
        return known.rules if known is not None and not isinstance(known.rules, str) else None

    def defaults(self, namespace: str, name: str) -> Limits | None:
        """Return the defaults that a quota fills in, as an entry for containers; None: it has none."""
        return self._defaults.get(namespace, {}).get(name)

    def claimed(self, namespace: str, name: str) -> frozenset[str] | None:
        """Return the extended resources in `hard` that claims for devices count under too; None: not known yet."""
        rules = self.rules(namespace, name)
        extended = extended_names(rules.hard) if rules is not None else set()
        if not extended:
            return frozenset()
        view = self._views(DEVICE_CLAIMS, namespace)
        if view.trouble is Trouble.NOT_SERVED:
            return frozenset()
        if not view.complete and view.trouble is None:
            return None
        return frozenset(extended & self._ledger.names_of_classes if self._ledger.classes_known else extended)

    def states(self, namespace: str) -> list[QuotaState]:
        """Return the quotas of a namespace that can be read, as admission sees them."""
        found = [(name, self._known[namespace, name].rules) for name in self.names(namespace)]
        return [self._state(namespace, name, rules) for name, rules in found if not isinstance(rules, str)]

    def _state(self, namespace: str, name: str, rules: QuotaRules) -> QuotaState:
        used = self._ledger.usage(namespace, name).without_placeholders().used
        return QuotaState(
            name,
            hard=rules.hard,
            used={resource: used[resource] for resource in current_names(rules, self._views_of(namespace))},
            requirements=rules.terms.requirements,
            limits=rules.limits,
            is_enforced=rules.is_enforced,
        )

    def _quotas_changed(self, namespace: str) -> None:
        known = {name: self._known[namespace, name].rules for name in self.names(namespace)}
        rules = {name: each for name, each in known.items() if not isinstance(each, str)}
        self._conflicts.pop(namespace, None)
        self._defaults.pop(namespace, None)
        if filled := defaults_in_force({name: each.limits for name, each in rules.items() if each.is_enforced}):
            self._defaults[namespace] = filled
        self.changed(namespace)

    def _conflicts_of(self, namespace: str, name: str) -> Sequence[Conflict]:
        """Return the contradictions in which a quota has a part."""
        if namespace not in self._conflicts:
            known = {each: self.rules(namespace, each) for each in self.names(namespace)}
            by_quota: dict[str, list[Conflict]] = {}
            for conflict in conflicts({each: rules.limits for each, rules in known.items() if rules is not None}):
                for each in conflict.quotas:
                    by_quota.setdefault(each, []).append(conflict)
            self._conflicts[namespace] = by_quota
        return self._conflicts[namespace].get(name, ())

    def status(self, namespace: str, name: str) -> NamespaceQuotaStatus | None:
        """Return the status that a quota should have now, or None when it is not known."""
        known = self._known.get((namespace, name))
        if known is None:
            return None
        if isinstance(known.rules, str):
            return invalid_quota_status(known.rules, generation=known.generation)
        status = quota_status(
            known.rules,
            self._ledger.usage(namespace, name).without_placeholders(),
            self._views_of(namespace),
            holdings=self._holdings(namespace, known.rules),
            generation=known.generation,
            holders=lambda resource: self._ledger.holders(namespace, name, resource),
            native=native_status(known.log.update(self._differences(namespace, name, known.rules), self._now())),
            further=lambda report: [
                *self._enforced(namespace, name, known),
                *self._of_single_objects(namespace, name, report),
            ],
        )
        filled = self._defaults.get(namespace, {})
        if len(filled) > 1 and name in filled:
            status = msgspec.structs.replace(status, defaults=defaults_status(filled[name]))
        if not known.rules.is_enforced:
            counts = known.audit.counts.items()
            found = tuple(AuditCount(reason=reason, objects=number) for reason, number in counts)
            status = msgspec.structs.replace(status, would_refuse=found)
        return status

    def is_first_proof(self, namespace: str, name: str) -> bool:
        """Tell whether it is only being found out how the enforcement of a quota stands, as after a restart."""
        found = self.enforcement((namespace, name)) if self.enforcement is not None else Enforcement()
        return found.is_settling and found.is_first

    def would_refuse(self, namespace: str, name: str, step: str) -> None:
        """Note that a quota in Audit mode would have refused an object at this step."""
        if (known := self._known.get((namespace, name))) is not None:
            known.audit.note(step)

    def adopt(self, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Take over what is counted in the status that is stored, if it is about the same spec."""
        known = self._known.get((namespace, name))
        if known is not None and status.get("observedGeneration") == known.generation:
            known.audit.adopt({each["reason"]: each["objects"] for each in status.get("wouldRefuse") or ()})

    def _enforced(self, namespace: str, name: str, known: _Known) -> list[Condition]:
        if self.enforcement is None or isinstance(known.rules, str):
            return []
        found = replace(
            self.enforcement((namespace, name)),
            uncounted=known.rules.uncounted,
            aggregated=aggregated_resources(known.rules, self._views_of(namespace)),
        )
        return [enforced(found, known.generation)]

    def _of_single_objects(self, namespace: str, name: str, report: QuotaReport) -> list[Condition]:
        """Return the conditions about limits and workloads."""
        known = self._known[namespace, name]
        assert not isinstance(known.rules, str)
        state = self._state(namespace, name, known.rules)
        found = limits_conflict(state, self._conflicts_of(namespace, name), known.generation)
        if self.findings is not None:
            found += workloads_refused(
                state,
                self.findings(namespace),
                report=report,
                holders=lambda resource: self._ledger.holders(namespace, name, resource),
                generation=known.generation,
            )
        return found

    def desired(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return the same as it is written to the API server."""
        status = self.status(namespace, name)
        return msgspec.to_builtins(status) if status is not None else None

    def usages(self) -> Iterator[tuple[QuotaKey, Mapping[str, int], Mapping[str, int]]]:
        """Iterate over the quotas that are counted: key, `hard` of all names that can be, usage of those known now."""
        for key, known in self._known.items():
            if not isinstance(known.rules, str):
                used = self._ledger.usage(*key).without_placeholders().used
                hard = {name: limit for name, limit in known.rules.hard.items() if name in used}
                names = known_names(known.rules, self._views_of(key[0]))
                more = held(self._holdings(key[0], known.rules), names, known.rules.terms.requirements)
                yield key, hard, {name: used[name] + more.get(name, 0) for name in names}

    def differences(self) -> Iterator[tuple[QuotaKey, Difference, float]]:
        """Iterate over the numbers in which native quotas differ now, each with the seconds that it has done so."""
        now = self._now()
        for (namespace, name), known in self._known.items():
            if not isinstance(known.rules, str):
                for each in self._differences(namespace, name, known.rules):
                    yield (namespace, name), each, known.log.seconds(each, now)

    def unsettled(self) -> list[QuotaKey]:
        """Return the quotas that differ from native ones: whether that lasts is seen only by looking again."""
        return [key for key, known in self._known.items() if known.log.pending]

    def _views_of(self, namespace: str) -> Views:
        return lambda resource: self._views(resource, namespace)

    def _differences(self, namespace: str, name: str, rules: QuotaRules) -> list[Difference]:
        usage, names = self._ledger.usage(namespace, name), current_names(rules, self._views_of(namespace))
        requirements = frozenset(rules.terms.requirements)
        everything = {resource: usage.used[resource] for resource in names}
        firm = {resource: usage.without_placeholders().used[resource] for resource in names}
        return [
            difference
            for native in self.native.of(namespace)
            for scopes, counted in ((requirements, everything), (requirements | {NO_PLACEHOLDERS}, firm))
            for difference in differences(native, scopes, counted)
        ]

    def _holdings(self, namespace: str, rules: QuotaRules) -> Sequence[Holding]:
        """Return what buffers hold of a quota."""
        return self.holdings(namespace) if rules.counts_buffers else ()

    def __iter__(self) -> Iterator[QuotaKey]:
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(self._known)
