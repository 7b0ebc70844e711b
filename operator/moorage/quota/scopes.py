"""Which pods a quota with scopes looks at.

Follows `pkg/quota/v1/evaluator/core/pods.go` (`podMatchesScopeFunc`) of Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from moorage.objects import PodAffinity, PodAffinityTerm, PodSpec, PodStatus
from moorage.resources import is_best_effort

VOLUME_ATTRIBUTES_CLASS = "VolumeAttributesClass"
"""The scope that selects claims for volumes."""

POD_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)
"""The scopes that select pods."""

PLACEHOLDER_CLASS = "moorage-placeholder"
"""The PriorityClass of pods that keep the room of a buffer's unit and give way to every real pod."""


@dataclass(frozen=True, slots=True)
class ScopeFacts:
    """All that scopes can ask about a pod."""

    terminating: bool = False
    """The pod has a deadline (`activeDeadlineSeconds`); nothing to do with being deleted."""
    best_effort: bool = False
    priority_class: str = ""
    cross_namespace_affinity: bool = False

    @property
    def is_placeholder(self) -> bool:
        """Whether it keeps the room of a unit, and so counts as a buffer's and not as a pod."""
        return self.priority_class == PLACEHOLDER_CLASS


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """All that scopes can ask about a claim for a volume: the volume attributes classes it is charged to."""

    attributes_classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Requirement:
    """One scope that must hold; `values` are priority-class names for In and NotIn."""

    scope: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()


def scope_facts(spec: PodSpec, status: PodStatus | None = None) -> ScopeFacts:
    """Return what scopes can ask about this pod.

    The stored QoS class wins over a computed one, as in the native controller. Raises QuantityError.
    """
    stored = status.qos_class if status is not None else None
    return ScopeFacts(
        terminating=spec.active_deadline_seconds is not None and spec.active_deadline_seconds >= 0,
        best_effort=stored == "BestEffort" if stored else is_best_effort(spec),
        priority_class=spec.priority_class_name or "",
        cross_namespace_affinity=_crosses_namespaces(spec),
    )


def selects(requirements: Iterable[Requirement], facts: ScopeFacts | ClaimFacts | None) -> bool:
    """Whether a quota with these requirements counts such an object; all must hold, none selects everything.

    Objects other than pods and claims for volumes (`facts` None) match no scope at all.
    """
    if isinstance(facts, ScopeFacts):
        return all(_pod_holds(requirement, facts) for requirement in requirements)
    return all(facts is not None and _claim_holds(requirement, facts) for requirement in requirements)


def _claim_holds(requirement: Requirement, facts: ClaimFacts) -> bool:
    if requirement.scope != VOLUME_ATTRIBUTES_CLASS:
        return False
    classes = facts.attributes_classes
    match requirement.operator:
        case "In":
            return not classes.isdisjoint(requirement.values)
        case "NotIn":
            return not classes or not classes <= requirement.values
        case "DoesNotExist":
            return not classes
    return bool(classes)


def _pod_holds(requirement: Requirement, facts: ScopeFacts) -> bool:
    match requirement.scope:
        case "Terminating":
            return facts.terminating
        case "NotTerminating":
            return not facts.terminating
        case "BestEffort":
            return facts.best_effort
        case "NotBestEffort":
            return not facts.best_effort
        case "CrossNamespacePodAffinity":
            return facts.cross_namespace_affinity
        case "PriorityClass":
            return _priority_class_holds(requirement, facts.priority_class)
    return False


def _priority_class_holds(requirement: Requirement, priority_class: str) -> bool:
    match requirement.operator:
        case "In":
            return priority_class in requirement.values
        case "NotIn":
            return priority_class not in requirement.values
        case "DoesNotExist":
            return not priority_class
    return bool(priority_class)


def _crosses_namespaces(spec: PodSpec) -> bool:
    if spec.affinity is None:
        return False
    return any(
        term.namespaces or term.namespace_selector is not None
        for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity)
        if affinity is not None
        for term in _terms(affinity)
    )


def _terms(affinity: PodAffinity) -> list[PodAffinityTerm]:
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution or ()
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution or ()
    return [*required, *(each.pod_affinity_term for each in preferred)]
