"""What a namespace's quotas mean for a buffer: what it asks them for, and the condition that tells the answer."""

from __future__ import annotations

from moorage.api.conditions import Condition
from moorage.buffer.quotas import Asking, Share, Shortage
from moorage.objects import Pod, PodSpec
from moorage.quantity import canonical
from moorage.quota.counting.pods import pod_amounts
from moorage.quota.names import is_binary
from moorage.quota.scopes import scope_facts
from moorage.resources import with_defaults
from moorage.status.findings import condition, listed, plural
from moorage.status.workload import Unresolved

LIMITED_BY_QUOTAS = "LimitedByQuotas"
_REASON = "ResourceQuotasAllocated"
"""Upstream's reason, whether buffers are cut or not."""
_SHOWN = 3


def asking(name: str, template: PodSpec, *, units: int, priority: int, created: str) -> Asking:
    """Return what a buffer asks quotas for; `template` is one unit, `created` the buffer's creationTimestamp.

    Raises QuantityError when an amount in the template does not parse.
    """
    stored = with_defaults(template)
    return Asking(name, units, pod_amounts(Pod(spec=stored)), scope_facts(stored), priority, created)


def limited_by_quotas(share: Share | Unresolved, generation: int) -> Condition:
    """Say whether quotas cut the buffer, which ones, and who has the room."""
    if isinstance(share, Unresolved):
        return condition(LIMITED_BY_QUOTAS, "Unknown", share.reason, share.message, generation=generation)
    if not share.shortages:
        message = f"quotas leave room for {'all ' if share.asked > 1 else ''}{plural(share.asked, 'unit')}"
        return condition(LIMITED_BY_QUOTAS, "False", _REASON, message, generation=generation)
    shown = "; ".join(_sentence(each) for each in share.shortages[:_SHOWN])
    more = len(share.shortages) - _SHOWN
    rest = f"; {plural(more, 'further limit')} leave less than is wanted too" if more > 0 else ""
    message = f"{plural(share.asked, 'unit')} wanted, {share.units} left by quotas: {shown}{rest}"
    return condition(LIMITED_BY_QUOTAS, "True", _REASON, message, generation=generation)


def _sentence(shortage: Shortage) -> str:
    def text(amount: int) -> str:
        return canonical(amount, binary=is_binary(shortage.resource))

    used = f"{text(shortage.used)} in use"
    named = [f"{text(amount)} for buffer {name}, which goes before" for name, amount in shortage.taken]
    if shortage.others:
        verb = "goes" if shortage.others == 1 else "go"
        others = plural(shortage.others, "further buffer")
        named.append(f"{text(shortage.taken_by_others)} for {others} that {verb} before")
    before = listed(named)
    parts = f"{used} and {before}" if shortage.taken else used
    limit = f"{shortage.resource} {text(shortage.hard)}"
    return f"{shortage.quota} has room for {shortage.units} (of {limit}, {parts})"
