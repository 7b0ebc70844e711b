"""Where a native ResourceQuota says something else than the objects do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from moorage.quota.scopes import Requirement


class NativeQuota(msgspec.Struct, frozen=True):
    """What a ResourceQuota says of itself; amounts in nano-units."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    requirements: frozenset[Requirement]
    used: Mapping[str, int]


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
    """Compare a native quota with what is counted; one with other scopes counts other objects, so nothing differs."""
    if native.requirements != requirements:
        return []
    return [
        Difference(native.name, resource, used, counted[resource])
        for resource, used in sorted(native.used.items())
        if resource in counted and counted[resource] != used
    ]
