"""Specs from files and from watch events, checked as the API server checks them.

The second line of defence: objects stored under an older definition reach the operator unchecked, and the command line
reads files that no API server has seen. All that is wrong is said at once, each with its path.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.namespacequota import NamespaceQuotaSpec
from moorage.api.schema import Schema, schema_of
from moorage.api.validate import Problem, cleaned, complaints, misfits

_Model = TypeVar("_Model", bound=msgspec.Struct)


class SpecError(ValueError):
    """A spec that cannot be used; `problems` says all that is wrong, `path` and `message` the first of it."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems
        self.path = problems[0].path
        self.message = problems[0].message


def parse_namespace_quota_spec(raw: Any, *, allow_unknown: bool = False) -> NamespaceQuotaSpec:
    """Read the `spec` of a NamespaceQuota.

    Unknown fields are problems, as `kubectl apply` has it; with `allow_unknown` they are dropped, for objects from a
    cluster whose definitions are newer than this program. Raises SpecError.
    """
    return _parse(raw, NamespaceQuotaSpec, allow_unknown=allow_unknown)


def parse_capacity_buffer_spec(raw: Any, *, allow_unknown: bool = False) -> CapacityBufferSpec:
    """Read the `spec` of a CapacityBuffer; unknown fields as in `parse_namespace_quota_spec`.

    Raises SpecError.
    """
    return _parse(raw, CapacityBufferSpec, allow_unknown=allow_unknown)


def _parse(raw: Any, model: type[_Model], *, allow_unknown: bool) -> _Model:
    schema = _schema(model)
    value, unknown = cleaned(raw, schema, "spec")
    found = [*misfits(value, schema, "spec"), *([] if allow_unknown else unknown)]
    if not any(problem.hides_rules for problem in found):
        found += complaints(value, schema, "spec")
    if found:
        raise SpecError(tuple(found))
    return msgspec.convert(value, model)


@cache
def _schema(model: type) -> Schema:
    return schema_of(model)
