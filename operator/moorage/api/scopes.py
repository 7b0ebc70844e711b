"""Scopes of a NamespaceQuota: which objects it looks at, and the rules that ResourceQuota has for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.names import COMPUTE_NAMES, cel_list
from moorage.api.rules import Rule, rules
from moorage.api.types import doc

ScopeName = Literal[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
]
Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]

_CLASS_SCOPES = ("PriorityClass", "VolumeAttributesClass")
_POD_NAMES = ("pods", *COMPUTE_NAMES)
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_CONTRADICTION = "BestEffort with NotBestEffort, or Terminating with NotTerminating, selects nothing: give one of them"
_MISFIT = (
    "cannot be counted under these scopes. BestEffort goes with pods only; VolumeAttributesClass with "
    "persistentvolumeclaims and requests.storage; every other scope with pods, cpu and memory (also with requests. or "
    "limits. in front). Names with a domain go with any scope"
)
_CEL_MISFIT = (
    '!k.contains("/") && !(s == "BestEffort" ? k == "pods" : s == "VolumeAttributesClass" ? '
    f"k in {cel_list(_CLAIM_NAMES)} : k in {cel_list(_POD_NAMES)})"
)


def _misfits(names: Iterable[str], scopes: Iterable[str]) -> list[str]:
    """Return the standard names that a ResourceQuota with these scopes may not carry."""
    allowed = {"BestEffort": ("pods",), "VolumeAttributesClass": _CLAIM_NAMES}
    wanted = list(scopes)
    return sorted(k for k in names if "/" not in k and any(k not in allowed.get(s, _POD_NAMES) for s in wanted))


def _contradict(scopes: Iterable[str]) -> bool:
    given = set(scopes)
    return any(given.issuperset(pair) for pair in _OPPOSITES)


def _selected(spec: Mapping[str, Any]) -> list[str]:
    return [each["scopeName"] for each in spec.get("scopeSelector", {}).get("matchExpressions", ())]


class ScopeRequirement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One condition on the objects that are counted."""

    scope_name: Annotated[
        ScopeName,
        doc(
            """
            What is looked at. PriorityClass: the pod's priorityClassName. VolumeAttributesClass: the claim's class. The
            others are yes-or-no questions, described at spec.scopes.
            """
        ),
    ]
    operator: Annotated[
        Operator,
        doc(
            """
            In: the class is one of values. NotIn: it is none of them (an object without a class matches). Exists: it
            has a class. DoesNotExist: it has none; mind that a PriorityClass with globalDefault gives every pod one.
            Scopes other than PriorityClass and VolumeAttributesClass take Exists only.
            """
        ),
    ]
    values: (
        Annotated[
            tuple[Annotated[str, Meta(max_length=253)], ...],
            doc(
                "Class names for In and NotIn (at least one); not for Exists and DoesNotExist.",
                **{"x-kubernetes-list-type": "atomic"},
            ),
            Meta(max_length=100),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=f'self.scopeName in {cel_list(_CLASS_SCOPES)} || self.operator == "Exists"',
            holds=lambda self: self["scopeName"] in _CLASS_SCOPES or self["operator"] == "Exists",
            message="must be Exists: only PriorityClass and VolumeAttributesClass take another operator",
            field="operator",
        ),
        Rule(
            cel='!(self.operator in ["In", "NotIn"]) || (has(self.values) && size(self.values) > 0)',
            holds=lambda self: self["operator"] not in ("In", "NotIn") or bool(self.get("values")),
            message="must name at least one class when the operator is In or NotIn",
            field="values",
        ),
        Rule(
            cel='self.operator in ["In", "NotIn"] || !has(self.values) || size(self.values) == 0',
            holds=lambda self: self["operator"] in ("In", "NotIn") or not self.get("values"),
            message="must be empty when the operator is Exists or DoesNotExist",
            field="values",
        ),
    )


def _cel_no_opposites(scopes: str) -> str:
    return " && ".join(f'!("{one}" in {scopes} && "{other}" in {scopes})' for one, other in _OPPOSITES)


class ScopeSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Conditions that all must hold."""

    match_expressions: Annotated[
        tuple[ScopeRequirement, ...],
        doc(
            "Conditions on the objects that are counted; all of them must hold. At most 20.",
            **{"x-kubernetes-list-type": "atomic"},
        ),
        Meta(max_length=20),
    ] = ()

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=f"!has(self.matchExpressions) || ({_cel_no_opposites('self.matchExpressions.map(e, e.scopeName)')})",
            holds=lambda self: not _contradict(each["scopeName"] for each in self.get("matchExpressions", ())),
            message=_CONTRADICTION,
            field="matchExpressions",
        ),
    )


SCOPES_RULES = rules(
    Rule(cel=_cel_no_opposites("self"), holds=lambda value: not _contradict(value), message=_CONTRADICTION)
)

SCOPED_NAMES_RULES = (
    Rule(
        cel=f"!has(self.hard) || !has(self.scopes) || !self.scopes.exists(s, self.hard.exists(k, {_CEL_MISFIT}))",
        holds=lambda self: not _misfits(self.get("hard", ()), self.get("scopes", ())),
        message=_MISFIT,
        cel_offenders=f"self.hard.filter(k, self.scopes.exists(s, {_CEL_MISFIT}))",
        offenders=lambda self: _misfits(self["hard"], self["scopes"]),
        field="scopes",
    ),
    Rule(
        cel=(
            "!has(self.hard) || !has(self.scopeSelector) || !has(self.scopeSelector.matchExpressions) || "
            "!self.scopeSelector.matchExpressions.map(e, e.scopeName)"
            f".exists(s, self.hard.exists(k, {_CEL_MISFIT}))"
        ),
        holds=lambda self: not _misfits(self.get("hard", ()), _selected(self)),
        message=_MISFIT,
        cel_offenders=(
            f"self.hard.filter(k, self.scopeSelector.matchExpressions.map(e, e.scopeName).exists(s, {_CEL_MISFIT}))"
        ),
        offenders=lambda self: _misfits(self["hard"], _selected(self)),
        field="scopeSelector",
    ),
)
"""Rules of the whole spec: both `hard` and the scopes have a say."""
