"""Exact Kubernetes quantities.

A quantity is an integer number of **nano-units** (10^-9 of a core, a byte or an object), the finest step Kubernetes
knows. Sums and comparisons are plain integer arithmetic, so nothing is ever rounded on the way. The grammar, the upward
rounding of finer input and the canonical spelling follow k8s.io/apimachinery `pkg/api/resource` v0.36.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from moorage.quoting import quoted

NANO = 10**9
"""Nano-units in one unit."""

MAX_INT64 = 2**63 - 1

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?|\.(?P<bare>[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWER = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_RUNGS = [(10 ** (power + 9), suffix) for suffix, power in _DECIMAL_POWER.items()]
_BINARY_RUNGS = [(NANO, ""), *((NANO << power, suffix) for suffix, power in _BINARY_POWER.items())]
_LARGEST_POWER = 40  # 10^40 of anything is far beyond int64; a larger exponent is a mistake, not a number to compute
_MAX_LENGTH = 64


class QuantityError(ValueError):
    """The text is no Kubernetes quantity; the message says what was given and what is allowed."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount; equal and ordered by value alone, whatever the spelling was.

    `nano` is the value in nano-units. `binary` only chooses the spelling: powers of 1024 (`Mi`) or of 1000 (`M`); a sum
    is spelled like its first term that is not 0.
    """

    nano: int
    binary: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, value: str | int | float) -> Self:
        """Read a quantity as YAML or JSON gives it.

        Raises QuantityError.
        """
        text = value if isinstance(value, str) else number_text(value)
        return cls(parse_nano(text), binary=text.endswith("i"))

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, self.binary if self.nano else other.binary)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.binary if self.nano else other.binary)

    def __str__(self) -> str:
        return canonical(self.nano, binary=self.binary)


def number_text(value: float) -> str:
    """Spell a bare YAML or JSON number the way the API server reads it.

    Raises QuantityError for booleans, infinities and not-a-number.
    """
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise QuantityError(f"{quoted(value)} is not a quantity; write a number such as 2, 500m or 1.5Gi")
    return repr(value)


@lru_cache(maxsize=4096)
def parse_nano(text: str) -> int:
    """Parse a quantity such as `500m`, `1.5Gi`, `2e3` or `-1` to nano-units.

    What is finer than a nano-unit is rounded away from zero, as Kubernetes does. Raises QuantityError.
    """
    match = _GRAMMAR.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise QuantityError(
            f"{quoted(text)} is not a quantity; write a number with an optional suffix "
            f"(n, u, m, k, M, G, T, P, E, or Ki, Mi, Gi, Ti, Pi, Ei), such as 2, 500m or 1.5Gi"
        )
    whole, part = match["whole"] or "", match["part"] or match["bare"] or ""
    digits = int((whole + part) or "0")
    power = -len(part)
    factor = 1
    if match["exponent"] is not None:
        power += int(match["exponent"])
    elif match["suffix"] in _BINARY_POWER:
        factor = 1 << _BINARY_POWER[match["suffix"]]
    else:
        power += _DECIMAL_POWER[match["suffix"] or ""]
    return _scaled(digits * factor, power + 9, text) * (-1 if match["sign"] == "-" else 1)


def _scaled(digits: int, power: int, text: str) -> int:
    """Return digits x 10^power, rounded up to a whole number."""
    if digits == 0:
        return 0
    if power > _LARGEST_POWER:
        raise QuantityError(f"{quoted(text)} is too large; the largest quantity is {MAX_INT64}")
    if power >= 0:
        return int(digits * 10**power)
    if -power > _MAX_LENGTH + _LARGEST_POWER:
        return 1
    return -(-digits // int(10**-power))


def canonical(nano: int, *, binary: bool = False) -> str:
    """Spell an amount in nano-units as Kubernetes does: the largest suffix that leaves a whole number in front.

    Binary spelling is used from 1024 units on and for whole units only; all else is decimal (`1500m`, `2k`).
    """
    if nano == 0:
        return "0"
    if binary and nano % NANO == 0 and abs(nano) >= 1024 * NANO:
        value, suffix = nano // NANO, ""
        for larger in _BINARY_POWER:
            if value % 1024:
                break
            value, suffix = value // 1024, larger
        return f"{value}{suffix}"
    value, suffix = nano, "n"
    for larger in ("u", "m", "", "k", "M", "G", "T", "P", "E"):
        if value % 1000:
            break
        value, suffix = value // 1000, larger
    return f"{value}{suffix}"


def short(nano: int, *, binary: bool = False) -> str:
    """Spell an amount for a person: canonical while that is at most five characters, else cut to one decimal.

    `1049576Ki` reads `1.0Gi`. Cut, not rounded, so that nothing looks full before it is. For summaries only.
    """
    exact = canonical(nano, binary=binary)
    if len(exact.lstrip("-")) <= 5:
        return exact
    rungs = _BINARY_RUNGS if binary and abs(nano) >= NANO else _DECIMAL_RUNGS
    size, suffix = max(rung for rung in rungs if rung[0] <= abs(nano))
    tenths = abs(nano) * 10 // size
    return f"{'-' if nano < 0 else ''}{tenths // 10}.{tenths % 10}{suffix}"
