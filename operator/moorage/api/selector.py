"""Selecting pods by their labels, in the words of Kubernetes (metav1.LabelSelector)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.names import LABEL_KEY_RULES, NO_LABEL_KEY
from moorage.api.rules import Rule, rules
from moorage.api.types import doc, map_of_at_most

_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_VALUE = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"


def _matches(pattern: str, message: str) -> Rule:
    return Rule(
        cel=f'self.matches(r"{pattern}")',
        holds=lambda text: re.fullmatch(pattern, text) is not None,
        message=message,
    )


LabelValue = Annotated[
    str,
    Meta(max_length=63, pattern=_VALUE),
    rules(
        _matches(_VALUE, "not a label value: letters, digits, '-', '_' and '.', the first and last a letter or digit")
    ),
]


class LabelRequirement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One condition on the labels of a pod."""

    key: Annotated[
        str,
        doc("The label's key, such as app.kubernetes.io/name."),
        Meta(min_length=1, max_length=317, pattern=_KEY),
        rules(_matches(_KEY, NO_LABEL_KEY)),
    ]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"],
        doc("In and NotIn compare with values (a pod without the label is NotIn); Exists and DoesNotExist do not."),
    ]
    values: (
        Annotated[
            tuple[LabelValue, ...],
            doc("For In and NotIn, at least one.", **{"x-kubernetes-list-type": "atomic"}),
            Meta(max_length=50),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel='!(self.operator in ["In", "NotIn"]) || (has(self.values) && size(self.values) > 0)',
            holds=lambda self: self["operator"] not in ("In", "NotIn") or bool(self.get("values")),
            message="must name at least one value when the operator is In or NotIn",
            field="values",
        ),
        Rule(
            cel='self.operator in ["In", "NotIn"] || !has(self.values) || size(self.values) == 0',
            holds=lambda self: self["operator"] in ("In", "NotIn") or not self.get("values"),
            message="must be empty when the operator is Exists or DoesNotExist",
            field="values",
        ),
    )


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods by their labels; all conditions must hold."""

    match_labels: (
        Annotated[
            dict[str, LabelValue],
            doc("Labels that a pod must have, with these values. At most 20."),
            map_of_at_most(20),
            rules(*LABEL_KEY_RULES),
        ]
        | None
    ) = None
    match_expressions: (
        Annotated[
            tuple[LabelRequirement, ...],
            doc("Further conditions on labels. At most 20.", **{"x-kubernetes-list-type": "atomic"}),
            Meta(max_length=20),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=(
                "(has(self.matchLabels) && size(self.matchLabels) > 0) || "
                "(has(self.matchExpressions) && size(self.matchExpressions) > 0)"
            ),
            holds=lambda self: bool(self.get("matchLabels") or self.get("matchExpressions")),
            message="must ask for at least one label: an empty selector would take all pods of the namespace",
        ),
    )

    @property
    def text(self) -> str:
        """The selector as the API server takes it in a request: `app=web,tier in (a,b),!canary`."""
        return ",".join(sorted(self._terms()))

    def _terms(self) -> Iterator[str]:
        for key, value in (self.match_labels or {}).items():
            yield f"{key}={value}"
        for each in self.match_expressions or ():
            match each.operator:
                case "Exists":
                    yield each.key
                case "DoesNotExist":
                    yield f"!{each.key}"
                case _:
                    yield f"{each.key} {each.operator.lower()} ({','.join(sorted(each.values or ()))})"
