"""Whether a unit is made anew whose room a pod has taken: always, never, or so many in an hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from moorage.quoting import quoted

_HOUR_SECONDS = 3600.0


class Rule(Enum):
    """The rules without a number."""

    ALWAYS = "Always"
    NONE = "None"


Policy = Rule | int
"""A rule, or how many units may be made anew in an hour."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Units that were taken and are not made anew yet; times in seconds since the epoch."""

    count: int = 0
    next_time: float | None = None
    """When the next of them may be made; None for never. In the past or missing: at once, when one is taken."""


def parse_refill(text: str) -> Policy:
    """Read `Always`, `None` or `20/h`.

    Raises ValueError.
    """
    if text in (Rule.ALWAYS.value, Rule.NONE.value):
        return Rule(text)
    count, slash, unit = text.partition("/")
    if not count.isdigit() or int(count) == 0 or (slash, unit) != ("/", "h"):
        raise ValueError(f'{quoted(text)} is not a refill; write Always, None, or a number per hour such as "20/h"')
    return int(count)


def refill(withheld: Withheld, policy: Policy, *, taken: int, now: float) -> Withheld:
    """Return what is withheld after pods have taken the room of `taken` more units.

    A cap of n units an hour gives them back one by one, 3600/n seconds apart, so that no hour sees more than n.
    """
    if policy is Rule.ALWAYS:
        return Withheld()
    if isinstance(policy, Rule):
        return Withheld(withheld.count + taken)
    step = _HOUR_SECONDS / policy
    due = withheld.next_time if withheld.next_time is not None else now
    if withheld.count == 0:
        due = max(due, now)  # what was not used up to now is not saved up
    elif withheld.next_time is None:
        due = now + step  # the rule was None until now
    left = withheld.count + taken
    made = min(left, int((now - due) // step) + 1) if due <= now else 0
    return replace(withheld, count=left - made, next_time=due + made * step)
