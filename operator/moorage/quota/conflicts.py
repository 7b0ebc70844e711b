"""Where the limits of quotas in one namespace contradict each other.

All of them hold, so what one fills in another may refuse. Within one quota the API server refuses such a spec; between
several, whoever writes them has to be told. Every pair is compared, also where a default is not in force because an
earlier quota gives it: what is told shall not depend on names alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from moorage.quantity import NANO, canonical
from moorage.quota.bounds import CONTAINER, POD, Limits
from moorage.quota.names import is_binary
from moorage.resources import can_be_overcommitted

_Amounts = Callable[[Limits], Mapping[str, int]]

_DEFAULTS: tuple[tuple[str, _Amounts], ...] = (
    ("default", lambda entry: entry.default),
    ("defaultRequest", lambda entry: entry.default_request),
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """One contradiction between quotas."""

    quotas: tuple[str, ...]
    """The quotas that have a part in it, in alphabetical order."""
    message: str
    """What each says, and what comes of it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    quota: str
    limits: Limits


def conflicts(quotas: Mapping[str, Iterable[Limits]]) -> tuple[Conflict, ...]:
    """Return all contradictions between quotas of one namespace, given by name with their limits."""
    entries = [_Entry(name, each) for name in sorted(quotas) for each in quotas[name]]
    found = [
        conflict
        for one in entries
        for other in entries
        if one.quota != other.quota
        for conflict in _between(one, other)
    ]
    return (*found, *_of_defaults_in_force([each for each in entries if each.limits.type == CONTAINER]))


def _between(one: _Entry, other: _Entry) -> Iterator[Conflict]:
    """Yield what `one` gives or demands that `other` refuses."""
    same_type = one.limits.type == other.limits.type
    if same_type or (one.limits.type, other.limits.type) == (CONTAINER, POD):
        yield from _above(one, other, "min", lambda entry: entry.min)
        for field, amounts in _DEFAULTS:
            yield from _above(one, other, field, amounts)
    if same_type:
        for field, amounts in _DEFAULTS:
            yield from _below(one, other, field, amounts)


def _above(one: _Entry, other: _Entry, field: str, amounts: _Amounts) -> Iterator[Conflict]:
    result = "none can be admitted" if field == "min" else "what is filled in is refused"
    for name, amount in amounts(one.limits).items():
        most = other.limits.max.get(name)
        if most is not None and amount > most:
            yield _conflict(
                one, other, f"{_said(one, field, name, amount)} is above {_said(other, 'max', name, most)}", result
            )


def _below(one: _Entry, other: _Entry, field: str, amounts: _Amounts) -> Iterator[Conflict]:
    for name, amount in amounts(one.limits).items():
        least = other.limits.min.get(name)
        if least is not None and amount < least:
            words = f"{_said(one, field, name, amount)} is below {_said(other, 'min', name, least)}"
            yield _conflict(one, other, words, "what is filled in is refused")


def _of_defaults_in_force(entries: list[_Entry]) -> Iterator[Conflict]:
    """Yield what the defaults that several quotas give together break: ratios, and equal amounts."""
    limits, requests = _first(entries, _DEFAULTS[0][1]), _first(entries, _DEFAULTS[1][1])
    for name in sorted(limits.keys() & requests.keys()):
        (limit, by), (request, to) = limits[name], requests[name]
        together = f"{_said(by, 'default', name, limit)} and {_said(to, 'defaultRequest', name, request)}"
        if limit > request and not can_be_overcommitted(name) and by.quota != to.quota:
            yield _conflict(
                by, to, f"{together} differ, but {name} cannot be overcommitted", "what is filled in is invalid"
            )
        for each in entries:
            ratio = each.limits.max_limit_request_ratio.get(name)
            if ratio is None or limit * NANO <= ratio * request or by.quota == to.quota == each.quota:
                continue
            words = f"{together} are further apart than {_said(each, 'maxLimitRequestRatio', name, ratio)} allows"
            quotas = tuple(sorted({by.quota, to.quota, each.quota}))
            yield Conflict(quotas, f"{words}: what is filled in is refused")


def _first(entries: list[_Entry], amounts: _Amounts) -> dict[str, tuple[int, _Entry]]:
    """Return the defaults in force and who gives each."""
    found: dict[str, tuple[int, _Entry]] = {}
    for each in entries:
        for name, amount in amounts(each.limits).items():
            found.setdefault(name, (amount, each))
    return found


def _conflict(one: _Entry, other: _Entry, words: str, result: str) -> Conflict:
    return Conflict(tuple(sorted((one.quota, other.quota))), f"{words}: {result}")


def _said(entry: _Entry, field: str, name: str, amount: int) -> str:
    text = canonical(amount, binary=is_binary(name))
    return f"{field} {name}={text} per {entry.limits.type} in {entry.quota}"
