"""What a case of admission is: a spec, and everything that is said about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A spec, and everything that is wrong with it as (path, message) pairs; none: it is accepted."""

    name: str
    spec: Any
    problems: tuple[tuple[str, str], ...] = ()
    server: tuple[tuple[str, str], ...] | None = None
    """What the API server says where it is a schema's bound and not a rule, so that the words are its own."""
    native_differs: str = ""
    """Why a native ResourceQuota with this spec gets the opposite verdict."""

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


NEGATIVE = "must not be negative"
NOT_QUANTITY = (
    "is not a quantity: write a number with an optional suffix (m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei), such as "
    '4, "500m", "0.5" or 64Gi'
)
