"""Times that the API server and the operator recorded, to hold the operator to what it promises.

A test that looks again and again sees a change late when the machine is busy, and then blames the operator for it. The
object itself tells when it was written, whenever somebody looks. These times are whole seconds, rounded down: a bound
that is checked with them may be exceeded by less than one second.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tests.cluster.objects import condition

Object = Mapping[str, Any]
OPERATOR = "moorage"
"""The field manager of all that the operator applies."""


def seconds_of(stamp: str) -> float:
    """Return a time of the API in seconds since the epoch, as `time.time()` has it."""
    return datetime.fromisoformat(stamp).timestamp()


def created(found: Object) -> float:
    """Return when an object was made."""
    return seconds_of(found["metadata"]["creationTimestamp"])


def written(found: Object, *, part: str = "") -> float:
    """Return when the operator changed an object last, or a part of it such as `status`."""
    [stamp] = (
        each["time"]
        for each in found["metadata"]["managedFields"]
        if each["manager"] == OPERATOR and each.get("subresource", "") == part
    )
    return seconds_of(stamp)


def turned(found: Object, kind: str) -> float:
    """Return when the status of one of an object's conditions changed last."""
    return seconds_of(condition(found["status"], kind)["lastTransitionTime"])
