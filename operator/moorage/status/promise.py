"""Whether a buffer keeps what is promised, what it costs, and where its measured inputs come from."""

from __future__ import annotations

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import SizingStatus
from moorage.api.conditions import Condition
from moorage.api.measured import AttainedStatus
from moorage.buffer.method import Attained
from moorage.buffer.promise import Counts, Promise, percent_text
from moorage.buffer.rate import duration_text, rate_text
from moorage.buffer.scale_up import Strategy
from moorage.buffer.size import Size
from moorage.status.findings import condition
from moorage.status.sizing import Inputs

PROMISE_KEPT = "PromiseKept"


def with_method(status: SizingStatus, asked: Inputs | None, result: Size, strategy: Strategy | None) -> SizingStatus:
    """Add what a size is worth, what it costs, and where measured values come from."""
    if asked is None:
        return status
    attained = asked.scale_up.attained(result, strategy)
    cost = asked.prices.per_month(Counts(result.active, result.replicas)) if asked.prices is not None else None
    return msgspec.structs.replace(
        status,
        attained=attained_status(attained, asked.promise),
        cost_per_month=f"{float(cost):.2f}" if cost is not None else "",
        sources=asked.sources,
    )


def attained_status(attained: Attained | None, promise: Promise | None) -> AttainedStatus | None:
    """Spell what is attained; a promise that is kept within what is known is never shown as missed."""
    if attained is None:
        return None
    level = attained.level
    if promise is not None and attained.keeps(promise):
        level = max(level, float(promise.level))
    return AttainedStatus(percentile=percent_text(level), max_wait=duration_text(attained.max_wait))


def promise_kept(
    spec: CapacityBufferSpec,
    asked: Inputs | None,
    result: Size,
    strategy: Strategy | None,
    *,
    generation: int,
) -> tuple[Condition, ...]:
    """Return the condition that says whether the promise is kept, of a buffer that makes one or cannot be refilled."""
    if asked is None or spec.sizing is None:
        return ()
    if refill := never_refills(asked, spec.sizing.creation_limit):
        return (condition(PROMISE_KEPT, "False", "NeverRefills", refill, generation=generation),)
    if asked.waits_for:
        message = f"{asked.waits_for}; until then spec.replicas and spec.percentage count"
        return (condition(PROMISE_KEPT, "Unknown", "NotMeasured", message, generation=generation),)
    method = asked.scale_up.method
    if method is None:
        return ()
    wait = asked.scale_up.wait(strategy)
    if problem := promise_cut(asked, result, strategy):
        return (condition(PROMISE_KEPT, "False", "CutShort", problem, generation=generation),)
    if asked.few_days:
        message = f"the promise holds for what was seen; {asked.few_days}"
        return (condition(PROMISE_KEPT, "Unknown", "TooFewDays", message, generation=generation),)
    return (
        condition(PROMISE_KEPT, "True", "Kept", f"{result.replicas} units {method.why(wait)}", generation=generation),
    )


def promise_cut(asked: Inputs, result: Size, strategy: Strategy | None) -> str:
    """Say what is left of a promise that the size does not keep; empty when it keeps it."""
    method, needed = asked.scale_up.method, asked.scale_up.needs(strategy)
    if method is None or needed is None:
        return ""
    attained, promise = asked.scale_up.attained(result, strategy), asked.promise
    wait = asked.scale_up.wait(strategy)
    enough = result.replicas >= needed.total and result.active >= min(needed.active, result.replicas)
    if enough and (promise is None or attained is None or attained.max_wait <= promise.max_wait):
        return ""
    if attained is None:
        return f"{needed.total} units would {method.why(wait)}, and there are {result.replicas}"
    if promise is not None and attained.keeps(promise):
        return ""
    reached = f"{percent_text(attained.level)}% of pods wait at most {duration_text(attained.max_wait)}"
    if enough and promise is not None:
        return f"{reached}: standby alone cannot promise less than a resume, and {duration_text(promise.max_wait)} is"
    return f"{reached} with {result.replicas} units; {needed.total} would {method.why(wait)}"


def never_refills(asked: Inputs, creation_limit: int | None) -> str:
    """Say when pods come faster than units can be made, so that a buffer that was used up stays empty."""
    arrivals = asked.scale_up
    if creation_limit is None or arrivals.rate * arrivals.cold < creation_limit:
        return ""
    fastest = rate_text(creation_limit / arrivals.cold)
    return (
        f"{creation_limit} units at a time in {duration_text(arrivals.cold)} each are {fastest} a second, and "
        f"{rate_text(arrivals.rate)} pods a second come: a buffer that was used up never fills again; raise the limit, "
        "or make new nodes quicker"
    )
