"""What the autoscaler says about the nodes that units need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from moorage.backends.autoscaler import Answer
from moorage.backends.choice import Backend, Choice

_KARPENTER = "Karpenter"
_KARPENTER_COUNTS = re.compile(r"(\d+)/(\d+) virtual pods required new capacity, (\d+) failed")
"""The message of its condition Provisioning (v1.14, v1.15)."""


class Word(StrEnum):
    """What is known of nodes that could still be made."""

    NOBODY = "nobody"
    """Nothing makes nodes for these units."""
    UNTOLD = "untold"
    """This autoscaler does not tell, so that only time can."""
    WAITING = "waiting"
    """It has not said anything yet."""
    MAKES = "makes"
    """It makes nodes, or has no need to."""
    CANNOT = "cannot"
    """No node that it could make would hold a unit, or its limits are reached."""


def word_of(choice: Choice, answer: Answer | None) -> Word:
    """Return what the autoscaler says of the active units of a buffer."""
    if choice.backend is Backend.NONE:
        return Word.NOBODY
    if choice.backend is Backend.PLACEHOLDER or (answer is not None and answer.controller not in ("", _KARPENTER)):
        return Word.UNTOLD
    if answer is None or not answer.current or answer.provisioning is None:
        return Word.WAITING
    return _karpenter(answer.provisioning)


def _karpenter(provisioning: Mapping[str, object]) -> Word:
    counts = _KARPENTER_COUNTS.search(str(provisioning.get("message") or ""))
    if provisioning.get("reason") != "RequiresNewCapacity":
        return Word.MAKES
    if counts is None:
        return Word.UNTOLD
    made, _, failed = (int(each) for each in counts.groups())
    return Word.CANNOT if failed and not made else Word.MAKES
