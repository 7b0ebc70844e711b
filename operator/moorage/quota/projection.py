"""The ResourceQuotas by which the API server enforces the totals of a NamespaceQuota.

Up to three, since placeholders of buffers must not eat what real pods may use, and their class must be no way out:

* what pods count for, with the whole limit, for all pods but placeholders;
* everything else, for all objects. A quota that asks for the class can have neither ephemeral storage nor huge pages
  (the API server refuses it), so placeholders count under these names like any pod, and therefore ask for none;
* what pods count for, for placeholders alone, with what the buffers of the namespace may hold: 0 without one.

They carry the limits in force and the scopes, and nothing else is ours in them. A native quota counts anew only when
its `hard` changes, not when its scopes do; so with scopes of the NamespaceQuota goes one more name, which nothing
counts and which stands for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from moorage.quantity import canonical
from moorage.quota.names import COUNT_PODS, PODS, counted, is_binary, is_extended
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import PLACEHOLDER_CLASS, Requirement, ScopeFacts, selects

MANAGED_BY = {"app.kubernetes.io/managed-by": "moorage"}
"""The label of what we make."""

NO_PLACEHOLDERS = Requirement("PriorityClass", "NotIn", frozenset({PLACEHOLDER_CLASS}))
PLACEHOLDERS_ALONE = Requirement("PriorityClass", "In", frozenset({PLACEHOLDER_CLASS}))

_LONGEST_NAME = 253
_MARK = ".scope.moorage.dev"
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_OF_PODS = frozenset(
    (
        PODS,
        COUNT_PODS,
        "cpu",
        "memory",
        *(f"{side}.{each}" for side in ("requests", "limits") for each in ("cpu", "memory")),
    )
)


class Part(Enum):
    """The ResourceQuotas of one NamespaceQuota; the values are what their names begin with.

    No name of one part is the name of another, whatever NamespaceQuotas are called: a dot is not a dash.
    """

    PODS = "moorage-"
    OTHERS = "moorage.others-"
    PLACEHOLDERS = "moorage.placeholders-"


@dataclass(frozen=True, slots=True)
class Owner:
    """The NamespaceQuota that something is made for."""

    namespace: str
    name: str
    uid: str

    def metadata(self, part: Part = Part.PODS) -> dict[str, Any]:
        """Return the metadata of what is made: it goes when the NamespaceQuota goes."""
        reference = {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": "NamespaceQuota",
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }
        return {
            "name": projected_name(self.name, part),
            "namespace": self.namespace,
            "labels": dict(MANAGED_BY),
            "ownerReferences": [reference],
        }


@dataclass(frozen=True, slots=True)
class Projection:
    """What a ResourceQuota shall say; amounts in nano-units."""

    hard: Mapping[str, int]
    requirements: frozenset[Requirement]
    part: Part = Part.PODS

    def document(self, owner: Owner) -> dict[str, Any]:
        """Return the ResourceQuota, with nothing but our fields."""
        spec: dict[str, Any] = {"hard": {name: _text(name, amount) for name, amount in sorted(self.hard.items())}}
        if self.requirements:
            spec["scopeSelector"] = {"matchExpressions": [_expression(each) for each in _sorted(self.requirements)]}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": owner.metadata(self.part), "spec": spec}


def projected_name(name: str, part: Part = Part.PODS) -> str:
    """Return the name of what is made for a NamespaceQuota; a long one is cut and made unique again."""
    prefix = part.value
    if len(prefix) + len(name) <= _LONGEST_NAME:
        return prefix + name
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{prefix}{name[: _LONGEST_NAME - len(prefix) - 11].rstrip('-.')}-{digest}"


def projection(
    hard: Mapping[str, int],
    requirements: Iterable[Requirement],
    part: Part = Part.PODS,
    *,
    placeholders: Mapping[str, int] | None = None,
    claimed: Collection[str] = (),
) -> Projection | None:
    """Return what a ResourceQuota shall say; None when there is nothing that it could limit.

    `placeholders` is what buffers may hold, by source name; `claimed` are the names that claims for devices count under
    beside pods, which a scope of pods would let go. Names that no native quota counts are left out. Scopes of which no
    object can have both select nothing.
    """
    own = frozenset(requirements)
    ours = Part.OTHERS if part is Part.OTHERS else Part.PODS
    limits = {name: amount for name, amount in hard.items() if _part_of(name, claimed) is ours}
    scopes = {each.scope for each in own}
    may_be_placeholders = _may_be_placeholders(own)
    if not limits or any(scopes.issuperset(pair) for pair in _OPPOSITES):
        return None
    if part is Part.OTHERS or (part is Part.PODS and not may_be_placeholders):
        return Projection(limits | _mark(own), own, part)
    if part is Part.PODS:
        return Projection(limits | _mark(own), own | {NO_PLACEHOLDERS}, part)
    if not may_be_placeholders:
        return None
    held = placeholders or {}
    limits = {name: held.get(what.source, 0) for name in limits if (what := counted(name)) is not None}
    return Projection(limits | _mark(own), own | {PLACEHOLDERS_ALONE}, part)


def extended_names(hard: Iterable[str]) -> set[str]:
    """Return the names in `hard` of extended resources, which claims for devices can count under too."""
    return {name for name in hard if name.startswith("requests.") and is_extended(name.removeprefix("requests."))}


def not_by_class(hard: Iterable[str], claimed: Collection[str]) -> frozenset[str]:
    """Return the resources that pods request of which `hard` limits the total for pods of all classes together."""
    found = (what for name in hard if (what := counted(name)) is not None and _part_of(name, claimed) is Part.OTHERS)
    requested = (what.source for what in found if PODS in what.resources and what.source.startswith("requests."))
    return frozenset(source.removeprefix("requests.") for source in requested)


def _part_of(name: str, claimed: Collection[str]) -> Part | None:
    """Return with which names one goes; None for one that nothing counts."""
    if counted(name) is None:
        return None
    by_class = name in _OF_PODS or (name not in claimed and extended_names((name,)))
    return Part.PODS if by_class else Part.OTHERS


def _may_be_placeholders(requirements: Iterable[Requirement]) -> bool:
    """Whether these scopes let pods of the placeholders' class through."""
    of_class = [each for each in requirements if each.scope == "PriorityClass"]
    return selects(of_class, ScopeFacts(priority_class=PLACEHOLDER_CLASS))


def edits(wanted: Projection, held: NativeQuota) -> list[str]:
    """Return in what a ResourceQuota differs from what it shall say, such as `hard.pods is 9, not 5`."""
    found = []
    for name in sorted(wanted.hard.keys() | held.hard.keys()):
        ours, theirs = wanted.hard.get(name), held.hard.get(name)
        if ours != theirs:
            found.append(f"hard.{name} is {_said(name, theirs)}, not {_said(name, ours)}")
    if wanted.requirements != held.requirements:
        found.append("its scopes are others")
    return found


def removal(wanted: Projection, spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the merge patch that takes out of a stored spec what somebody else put in; None: there is nothing.

    To apply our own fields leaves those of others where they are.
    """
    found: dict[str, Any] = {}
    if foreign := (spec.get("hard") or {}).keys() - wanted.hard.keys():
        found["hard"] = dict.fromkeys(sorted(foreign))
    if spec.get("scopeSelector") and not wanted.requirements:
        found["scopeSelector"] = None
    return {"spec": found} if found else None


def why_not_in_force(wanted: Projection, held: NativeQuota) -> str:
    """Return why the API server does not enforce all of the totals yet, or an empty text when it does.

    It refuses by `status.hard`, and only what it knows the usage of. What placeholders may hold follows the size of
    buffers: whether it has got there does not matter, as long as they are limited.
    """
    if wanted.part is Part.PLACEHOLDERS:
        wanted = replace(
            wanted, hard={name: held.hard_in_force.get(name, amount) for name, amount in wanted.hard.items()}
        )
    if lagging := sorted(name for name, amount in wanted.hard.items() if held.hard_in_force.get(name) != amount):
        return f"its status does not say {_listed(lagging)} yet"
    uncounted = sorted(name for name in wanted.hard if not is_mark(name) and name not in held.used)
    if uncounted:
        return f"the API server does not count {_listed(uncounted)}"
    return ""


def is_mark(name: str) -> bool:
    """Tell whether a name in `hard` stands for the scopes."""
    return name.endswith(_MARK)


def _mark(requirements: frozenset[Requirement]) -> dict[str, int]:
    if not requirements:
        return {}
    text = ";".join(f"{each.scope}:{each.operator}:{','.join(sorted(each.values))}" for each in _sorted(requirements))
    return {f"count/{hashlib.sha256(text.encode()).hexdigest()[:10]}{_MARK}": 0}


def _sorted(requirements: Iterable[Requirement]) -> list[Requirement]:
    return sorted(requirements, key=lambda each: (each.scope, each.operator, sorted(each.values)))


def _expression(requirement: Requirement) -> dict[str, Any]:
    expression: dict[str, Any] = {"scopeName": requirement.scope, "operator": requirement.operator}
    if requirement.values:
        expression["values"] = sorted(requirement.values)
    return expression


def _text(name: str, amount: int) -> str:
    return canonical(amount, binary=is_binary(name))


def _said(name: str, amount: int | None) -> str:
    return "missing" if amount is None else _text(name, amount)


def _listed(names: list[str]) -> str:
    return ", ".join(names)
