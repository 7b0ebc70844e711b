"""Validation rules in two languages: CEL for the API server, Python for files and for the operator's second look.

Both halves of a rule stand side by side and read the same raw value (`self`), so a rule is changed in one place. The
tests on the real API server send it the same objects as the Python half and compare field and message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.quoting import MOST_OF_A_NAME, shortened


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold for the value it stands on, and what is said when it does not."""

    cel: str
    holds: Callable[[Any], bool]
    message: str
    """Said when the rule fails, unless the offenders can be named."""
    cel_offenders: str = ""
    """CEL for a list of the texts to blame, put in front of the message."""
    offenders: Callable[[Any], Iterable[str]] | None = None
    field: str = ""
    """The field of the value that is to blame, when one is."""

    def complaint(self, value: Any) -> str | None:
        """Return what is wrong with the value, or None."""
        if self.holds(value):
            return None
        if self.offenders is None:
            return self.message
        blamed = [shortened(each, MOST_OF_A_NAME) for each in self.offenders(value)]
        return f"{json.dumps(blamed, ensure_ascii=False)}: {self.message}"

    def schema(self) -> dict[str, str]:
        """Return the rule as an entry of x-kubernetes-validations."""
        entry = {"rule": self.cel, "message": self.message}
        if self.cel_offenders:
            entry["messageExpression"] = f"{_cel_text('%s: ' + self.message)}.format([{self.cel_offenders}])"
        if self.field:
            entry["fieldPath"] = f".{self.field}"
        return entry


def no_key(*, cel: str, where: Callable[[str, Any], bool], message: str) -> Rule:
    """Return a rule for a map: no key `k` may be such; the message starts with the keys that are.

    `cel` may use `k` and `self[k]`; `where` takes the key and its value.
    """

    def found(value: Mapping[str, Any]) -> list[str]:
        return sorted(key for key, amount in value.items() if where(key, amount))

    return Rule(
        cel=f"!self.exists(k, {cel})",
        holds=lambda value: not found(value),
        message=message,
        cel_offenders=f"self.filter(k, {cel})",
        offenders=found,
    )


def rules(*entries: Rule) -> msgspec.Meta:
    """Attach rules to an annotated type; structs carry theirs in a class variable `rules`."""
    return msgspec.Meta(extra={rule.cel: rule for rule in entries})  # msgspec merges these of nested annotations


def _cel_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # the escapes of JSON strings are among those of CEL
