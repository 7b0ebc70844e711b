"""The ResourceQuota by which the API server enforces the totals of a NamespaceQuota.

It carries the limits in force and the scopes, and nothing else is ours in it. The native quota counts anew only when
its `hard` changes, not when its scopes do; so with scopes goes one more name, which nothing counts and which stands for
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.quantity import canonical
from moorage.quota.names import counted, is_binary
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import Requirement

MANAGED_BY = {"app.kubernetes.io/managed-by": "moorage"}
"""The label of what we make."""

_PREFIX = "moorage-"
_LONGEST_NAME = 253
_MARK = ".scope.moorage.dev"
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


@dataclass(frozen=True, slots=True)
class Owner:
    """The NamespaceQuota that something is made for."""

    namespace: str
    name: str
    uid: str

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of what is made: it goes when the NamespaceQuota goes."""
        reference = {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": "NamespaceQuota",
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }
        return {
            "name": projected_name(self.name),
            "namespace": self.namespace,
            "labels": dict(MANAGED_BY),
            "ownerReferences": [reference],
        }


@dataclass(frozen=True, slots=True)
class Projection:
    """What a ResourceQuota shall say; amounts in nano-units."""

    hard: Mapping[str, int]
    requirements: frozenset[Requirement]

    def document(self, owner: Owner) -> dict[str, Any]:
        """Return the ResourceQuota, with nothing but our fields."""
        spec: dict[str, Any] = {"hard": {name: _text(name, amount) for name, amount in sorted(self.hard.items())}}
        if self.requirements:
            spec["scopeSelector"] = {"matchExpressions": [_expression(each) for each in _sorted(self.requirements)]}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": owner.metadata(), "spec": spec}


def projected_name(name: str) -> str:
    """Return the name of what is made for a NamespaceQuota; a long one is cut and made unique again."""
    if len(_PREFIX) + len(name) <= _LONGEST_NAME:
        return _PREFIX + name
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{_PREFIX}{name[: _LONGEST_NAME - len(_PREFIX) - 11].rstrip('-.')}-{digest}"


def projection(hard: Mapping[str, int], requirements: Iterable[Requirement]) -> Projection | None:
    """Return what a ResourceQuota shall say; None when there is nothing that it could limit.

    Names that no native quota counts are left out. Scopes of which no object can have both select nothing.
    """
    wanted = frozenset(requirements)
    scopes = {each.scope for each in wanted}
    limits = {name: amount for name, amount in hard.items() if counted(name) is not None}
    if not limits or any(scopes.issuperset(pair) for pair in _OPPOSITES):
        return None
    return Projection(limits | _mark(wanted), wanted)


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

    It refuses by `status.hard`, and only what it knows the usage of.
    """
    if lagging := sorted(name for name, amount in wanted.hard.items() if held.hard_in_force.get(name) != amount):
        return f"its status does not say {_listed(lagging)} yet"
    uncounted = sorted(name for name in wanted.hard if not name.endswith(_MARK) and name not in held.used)
    if uncounted:
        return f"the API server does not count {_listed(uncounted)}"
    return ""


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
