"""What is said about an object that is to be stored: whether quotas admit it, and all that stands against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from moorage.objects import PodSpec, ResourceRequirements
from moorage.quantity import canonical
from moorage.quota.names import display_order, is_binary


class Step(StrEnum):
    """The steps of admission that can fail, in their order; defaults come before all of them."""

    SPECIFY = "specify"
    """A limited amount must be given, so that it does not count as 0 by accident."""
    BOUNDS = "bounds"
    """Minimum, maximum and ratio of the single object."""
    COUNT = "count"
    """Numbers of objects."""
    TOTAL = "total"
    """Amounts of all objects together."""


_ORDER = list(Step)

Growth = Mapping[str, Mapping[str, int]]
"""What something adds to quotas: by quota and name of `hard`, in nano-units."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One reason against an object; amounts in nano-units."""

    step: Step
    quota: str
    resource: str
    """A name of `hard`; for bounds that of a container resource, such as `cpu`."""
    message: str
    hard: int
    """What is allowed: the limit of the quota or the bound; for a ratio the ratio."""
    requested: int | None = None
    """What the object asks for; None when it does not say."""
    used: int | None = None
    """What the quota's other objects use; None where they do not matter, or where that is not known."""
    where: str = ""
    """The container, if one is to blame."""

    @property
    def remaining(self) -> int:
        """What is left of the limit; 0 when more is used than it allows."""
        return max(self.hard - (self.used or 0), 0)

    def text(self, amount: int) -> str:
        """Spell an amount of this resource exactly."""
        return canonical(amount, binary=is_binary(self.resource))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an object."""

    failures: tuple[Failure, ...] = ()
    """All that speaks against it, in the order of the steps; none: it is admitted."""
    audited: tuple[Failure, ...] = ()
    """What would speak against it, had quotas in Audit mode to be obeyed: nothing is refused for it."""
    defaulted: Mapping[str, ResourceRequirements] = field(default_factory=dict)
    """What containers get that they do not ask for, by container name."""
    spec: PodSpec | None = None
    """Of a pod: its spec as it would be stored, defaults filled in."""
    growth: Growth = field(default_factory=dict)
    """What it adds, by quota and name of `hard`, as far as use is known; quotas in Audit mode count it too."""
    fits: int | None = None
    """How many such objects fit now, one after another; 0 when none does. None: nothing limits their number."""

    @property
    def admitted(self) -> bool:
        """Whether it is stored."""
        return not self.failures


def in_order(failures: list[Failure]) -> tuple[Failure, ...]:
    """Sort failures as they are told: by step, then quota, then resource, as status shows resources."""
    return tuple(sorted(failures, key=_place))


def _place(failure: Failure) -> tuple[int, str, tuple[int, str], str]:
    return (_ORDER.index(failure.step), failure.quota, display_order(failure.resource), failure.where)
