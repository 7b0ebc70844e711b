"""Where a native ResourceQuota says something else than the objects do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from moorage.quota import names
from moorage.quota.scopes import Requirement


class NativeQuota(msgspec.Struct, frozen=True):
    """What a ResourceQuota says of itself; amounts in nano-units."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    requirements: frozenset[Requirement]
    used: Mapping[str, int]
    hard: Mapping[str, int] = {}
    """As wanted (`spec`)."""
    hard_in_force: Mapping[str, int] = {}
    """As enforced (`status`)."""
    is_managed: bool = False
    """Whether it has our label."""
    owner: str = ""
    """Name of the NamespaceQuota that it was made for; empty for one of somebody else."""
    owner_uid: str = ""
    """The uid of the same."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A number in which a native quota differs from what is counted, in nano-units."""

    quota: str
    resource: str
    used: int
    counted: int


def differences(
    native: NativeQuota, requirements: frozenset[Requirement], counted: Mapping[str, int]
) -> list[Difference]:
    """Compare a native quota with what is counted, by name; `cpu` here and `requests.cpu` there are the same.

    One with other scopes counts other objects, so nothing differs.
    """
    if native.requirements != requirements:
        return []
    ours = {what.source: amount for name, amount in counted.items() if (what := names.counted(name)) is not None}
    return [
        Difference(native.name, resource, used, ours[what.source])
        for resource, used in sorted(native.used.items())
        if (what := names.counted(resource)) is not None and ours.get(what.source, used) != used
    ]
