"""Where the limits of quotas in one namespace contradict each other.

All of them hold, so what one fills in another may refuse. Within one quota the API server refuses such a spec; between
several, whoever writes them has to be told. Every two of them count, also where a default is not in force because an
earlier quota gives it: what is told shall not depend on names alone. They are found without comparing every two: what
bounds a resource is sorted by amount, so a value meets only those that it breaks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from moorage.quantity import NANO, canonical
from moorage.quota.bounds import CONTAINER, POD, Limits
from moorage.quota.names import is_binary
from moorage.resources import can_be_overcommitted

_Amounts = Callable[[Limits], Mapping[str, int]]

_Bounds = Mapping[tuple[str, str], list[tuple[int, int]]]
"""By type and resource: amounts, ascending, each with the number of the entry that it is from."""

_DEFAULTS: tuple[tuple[str, _Amounts], ...] = (
    ("default", lambda entry: entry.default),
    ("defaultRequest", lambda entry: entry.default_request),
)
_GIVEN: tuple[tuple[str, _Amounts], ...] = (("min", lambda entry: entry.min), *_DEFAULTS)


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
    found = sorted([*_above(entries), *_below(entries)], key=lambda each: each[0])
    containers = [each for each in entries if each.limits.type == CONTAINER]
    return (*(conflict for _, conflict in found), *_of_defaults_in_force(containers))


_Rank = tuple[int, int, str, int, int]
"""By which contradictions are told in order: the entries, above before below, field, resource."""


def _above(entries: list[_Entry]) -> Iterator[tuple[_Rank, Conflict]]:
    """Yield what entries give or demand that the `max` of others refuses."""
    bounds = _sorted(entries, lambda entry: entry.max)
    for number, one in enumerate(entries):
        types = (CONTAINER, POD) if one.limits.type == CONTAINER else (one.limits.type,)
        for of_field, (field, amounts) in enumerate(_GIVEN):
            result = "none can be admitted" if field == "min" else "what is filled in is refused"
            for of_name, (name, amount) in enumerate(amounts(one.limits).items()):
                for type_ in types:
                    bound = bounds.get((type_, name), [])
                    for most, by in bound[: bisect_left(bound, (amount, 0))]:
                        if (other := entries[by]).quota != one.quota:
                            said = f"{_said(one, field, name, amount)} is above {_said(other, 'max', name, most)}"
                            yield (number, by, "above", of_field, of_name), _conflict(one, other, said, result)


def _below(entries: list[_Entry]) -> Iterator[tuple[_Rank, Conflict]]:
    """Yield what entries fill in that the `min` of others refuses."""
    bounds = _sorted(entries, lambda entry: entry.min)
    for number, one in enumerate(entries):
        for of_field, (field, amounts) in enumerate(_DEFAULTS):
            for of_name, (name, amount) in enumerate(amounts(one.limits).items()):
                bound = bounds.get((one.limits.type, name), [])
                for least, by in bound[bisect_right(bound, (amount, len(entries))) :]:
                    if (other := entries[by]).quota != one.quota:
                        said = f"{_said(one, field, name, amount)} is below {_said(other, 'min', name, least)}"
                        result = "what is filled in is refused"
                        yield (number, by, "below", of_field, of_name), _conflict(one, other, said, result)


def _sorted(entries: list[_Entry], amounts: _Amounts) -> _Bounds:
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for number, each in enumerate(entries):
        for name, amount in amounts(each.limits).items():
            found.setdefault((each.limits.type, name), []).append((amount, number))
    for bound in found.values():
        bound.sort()
    return found


def _of_defaults_in_force(entries: list[_Entry]) -> Iterator[Conflict]:
    """Yield what the defaults that several quotas give together break: ratios, and equal amounts."""
    limits, requests = _first(entries, _DEFAULTS[0][1]), _first(entries, _DEFAULTS[1][1])
    ratios: dict[str, list[tuple[int, _Entry]]] = {}
    for each in entries:
        for name, ratio in each.limits.max_limit_request_ratio.items():
            ratios.setdefault(name, []).append((ratio, each))
    for name in sorted(limits.keys() & requests.keys()):
        (limit, by), (request, to) = limits[name], requests[name]
        together = f"{_said(by, 'default', name, limit)} and {_said(to, 'defaultRequest', name, request)}"
        if limit > request and not can_be_overcommitted(name) and by.quota != to.quota:
            yield _conflict(
                by, to, f"{together} differ, but {name} cannot be overcommitted", "what is filled in is invalid"
            )
        for ratio, each in ratios.get(name, ()):
            if limit * NANO <= ratio * request or by.quota == to.quota == each.quota:
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
