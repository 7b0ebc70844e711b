"""What may not stand in one entry of `spec.limits`.

Follows `ValidateLimitRange` of pkg/apis/core/validation, Kubernetes v1.36. Stricter where a LimitRange takes what never
has an effect (defaults and ratios of claims, bounds of claims on anything but storage) or what lets every pod that it
touches be refused (defaults that break the entry's own ratio; requests of extended resources without their limits).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.api.names import LONGEST_NAME, MALFORMED, QUALIFIED_NAME, cel_list, is_malformed
from moorage.api.rules import Rule, no_key
from moorage.api.types import compared_nano
from moorage.quantity import NANO
from moorage.resources import can_be_overcommitted

_Entry = dict[str, Any]

_CLAIM = "PersistentVolumeClaim"
_PREFIXES = ("hugepages-", "requests.", "limits.")  # the last two have a rule of their own
_OVERCOMMITTED = ("cpu", "memory", "ephemeral-storage")
_PARTS = 10**9
"""The numbers of CEL are floating point: a ratio that is off by one part in so many is not off."""
_CEL_PARTS = "1.000000001"

_CEL_EXTENDED = 'k.contains("/") && !k.contains("kubernetes.io/")'
_CEL_NOT_OVERCOMMITTED = f'(k.startsWith("hugepages-") || ({_CEL_EXTENDED}))'


def _amount(field: str) -> str:
    """Return CEL for the amount of `k` in this map."""
    return f"quantity(string(self.{field}[k]))"


def _number(field: str) -> str:
    return f"{_amount(field)}.asApproximateFloat()"


def _no_name(field: str, *, cel: str, where: Callable[[_Entry, str], bool], message: str) -> Rule:
    """Return a rule for a map of an entry: no key `k` may be such; the message starts with the keys that are."""

    def found(entry: _Entry) -> list[str]:
        return sorted(name for name in entry.get(field, ()) if where(entry, name))

    return Rule(
        cel=f"!has(self.{field}) || !self.{field}.exists(k, {cel})",
        holds=lambda entry: not found(entry),
        message=message,
        cel_offenders=f"self.{field}.filter(k, {cel})",
        offenders=found,
        field=field,
    )


def _compared(fields: tuple[str, ...], *, cel: str, where: Callable[..., bool], message: str) -> Rule:
    """Return a rule for names that all of these maps have; the first is to blame.

    `where` takes the amounts in nano-units, in the order of the maps.
    """
    known = [f"isQuantity(string(self.{field}[k]))" for field in fields]
    present = [f"has(self.{field}) && k in self.{field}" for field in fields[1:]]

    def is_broken(entry: _Entry, name: str) -> bool:
        amounts = [compared_nano(entry.get(field, {}).get(name)) for field in fields]
        return None not in amounts and where(*amounts)

    return _no_name(fields[0], cel=" && ".join([*present, *known, cel]), where=is_broken, message=message)


def _ordered(low: str, high: str, message: str, *, blamed: str) -> Rule:
    """Return the rule that no amount of the map `low` is above that of the map `high`."""
    other = high if blamed == low else low
    return _compared(
        (blamed, other),
        cel=f"{_amount(low)}.isGreaterThan({_amount(high)})",
        where=(lambda least, most: least > most) if blamed == low else (lambda most, least: least > most),
        message=message,
    )


def _only_for(field: str, types: tuple[str, ...], message: str) -> Rule:
    """Return the rule that this map belongs to entries of these types only."""
    return Rule(
        cel=f"self.type in {cel_list(types)} || !has(self.{field}) || size(self.{field}) == 0",
        holds=lambda entry: entry["type"] in types or not entry.get(field),
        message=message,
        field=field,
    )


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def _whole(field: str) -> Rule:
    """Return the rule that amounts of extended resources are integers, as pods must have them."""

    def is_fraction(entry: _Entry, name: str) -> bool:
        nano = compared_nano(entry[field][name])
        return _is_extended(name) and nano is not None and nano % NANO != 0 and nano < 9 * 10**15 * NANO

    return _no_name(
        field,
        cel=(
            f"{_CEL_EXTENDED} && isQuantity(string(self.{field}[k])) && !{_amount(field)}.isInteger() && "
            f"{_number(field)} < 9.0e15 && double(int({_number(field)})) != {_number(field)}"
        ),
        where=is_fraction,
        message="must be an integer, since pods can only ask for whole extended resources",
    )


def _goes_with_type(field: str) -> Rule:
    return _no_name(
        field,
        cel=f'(k == "storage") != (self.type == "{_CLAIM}")',
        where=lambda entry, name: (name == "storage") != (entry["type"] == _CLAIM),
        message=f"storage is what a {_CLAIM} asks for, and all that it asks for; containers and pods ask for the rest",
    )


def _lacks_equal_default(entry: _Entry, name: str) -> bool:
    request, limit = (compared_nano(entry.get(field, {}).get(name)) for field in ("defaultRequest", "default"))
    return not can_be_overcommitted(name) and (request is None or limit is None or request < limit)


_BELOW_MIN = "is below min, so that what is filled in would be refused: raise it to min at least"
_ABOVE_MAX = "is above max, so that what is filled in would be refused: lower it to max at most"

ENTRY_RULES = (
    _ordered("min", "max", "min is above max, so that nothing would be admitted: lower it, or raise max", blamed="min"),
    _ordered("min", "defaultRequest", f"defaultRequest {_BELOW_MIN}", blamed="defaultRequest"),
    _ordered("defaultRequest", "max", f"defaultRequest {_ABOVE_MAX}", blamed="defaultRequest"),
    _ordered("min", "default", f"default {_BELOW_MIN}", blamed="default"),
    _ordered("default", "max", f"default {_ABOVE_MAX}", blamed="default"),
    _ordered(
        "defaultRequest",
        "default",
        "defaultRequest is above default, but a request may not be above its limit: lower it, or raise default",
        blamed="defaultRequest",
    ),
    _compared(
        ("maxLimitRequestRatio",),
        cel=f'{_amount("maxLimitRequestRatio")}.isLessThan(quantity("1"))',
        where=lambda ratio: ratio < NANO,
        message="must be at least 1, since a limit is never below its request",
    ),
    _compared(
        ("maxLimitRequestRatio", "min", "max"),
        cel=f"{_number('maxLimitRequestRatio')} * {_number('min')} > {_number('max')} * {_CEL_PARTS}",
        where=lambda ratio, least, most: ratio * least * _PARTS > most * NANO * (_PARTS + 1),
        message="is above max divided by min, so that it could never refuse anything: lower it, or leave it out",
    ),
    _compared(
        ("maxLimitRequestRatio", "defaultRequest", "default"),
        cel=f"{_number('default')} > {_number('maxLimitRequestRatio')} * {_number('defaultRequest')} * {_CEL_PARTS}",
        where=lambda ratio, request, limit: limit * NANO * _PARTS > ratio * request * (_PARTS + 1),
        message=(
            "default is more than this multiple of defaultRequest, so that what is filled in would be refused: bring "
            "the two closer together, or raise the ratio"
        ),
    ),
    _no_name(
        "defaultRequest",
        cel=(
            f"{_CEL_NOT_OVERCOMMITTED} && !(has(self.default) && k in self.default && "
            "isQuantity(string(self.default[k])) && isQuantity(string(self.defaultRequest[k])) && "
            f"!{_amount('defaultRequest')}.isLessThan({_amount('default')}))"
        ),
        where=_lacks_equal_default,
        message=(
            "must stand in default too, with the same amount: limits and requests of hugepages and of extended "
            "resources are equal. default alone is enough, since it becomes the request"
        ),
    ),
    _whole("default"),
    _whole("defaultRequest"),
    *(
        _only_for(field, ("Container",), "must be left out: only entries of type Container fill anything in")
        for field in ("default", "defaultRequest")
    ),
    _only_for("maxLimitRequestRatio", ("Container", "Pod"), f"must be left out: a {_CLAIM} has no limit to compare"),
    *(_goes_with_type(field) for field in ("default", "defaultRequest", "min", "max", "maxLimitRequestRatio")),
    Rule(
        cel=(
            f'self.type != "{_CLAIM}" || (has(self.min) && size(self.min) > 0) || (has(self.max) && size(self.max) > 0)'
        ),
        holds=lambda entry: entry["type"] != _CLAIM or bool(entry.get("min") or entry.get("max")),
        message=f"an entry of type {_CLAIM} must give min or max of storage",
    ),
)
"""Of a whole entry."""

NAMES_RULES = (
    no_key(
        cel='k.startsWith("requests.") || k.startsWith("limits.")',
        where=lambda name, _: name.startswith(("requests.", "limits.")),
        message="takes container resource names: write it without requests. or limits.",
    ),
    no_key(
        cel=(
            f'!k.contains("/") && !(k in {cel_list((*_OVERCOMMITTED, "storage"))}) && '
            + " && ".join(f'!k.startsWith("{prefix}")' for prefix in _PREFIXES)
        ),
        where=lambda name, _: (
            "/" not in name and name not in (*_OVERCOMMITTED, "storage") and not name.startswith(_PREFIXES)
        ),
        message=(
            "nothing a container or claim can request: write cpu, memory, ephemeral-storage, hugepages-<size>, a name "
            "with a domain such as nvidia.com/gpu, or storage for claims; numbers of objects stand in hard"
        ),
    ),
    no_key(
        cel=f'size(k) > {LONGEST_NAME} || !k.matches(r"{QUALIFIED_NAME}")',
        where=lambda name, _: is_malformed(name),
        message=MALFORMED,
    ),
)
"""Of the names in each map of an entry."""

_GIVEN_TO_CONTAINERS = ("min", "defaultRequest", "default")
_CEL_ABOVE_POD = " || ".join(
    f"(has(c.{field}) && k in c.{field} && isQuantity(string(c.{field}[k])) && "
    f"quantity(string(c.{field}[k])).isGreaterThan(quantity(string(p.max[k]))))"
    for field in _GIVEN_TO_CONTAINERS
)
_CEL_TOO_LARGE = f'isQuantity(string(p.max[k])) && self.limits.exists(c, c.type == "Container" && ({_CEL_ABOVE_POD}))'


def _is_above_pod(spec: dict[str, Any]) -> bool:
    entries = {entry["type"]: entry for entry in spec.get("limits", ())}
    container = entries.get("Container", {})

    def is_above(name: str, most: Any) -> bool:
        given = [compared_nano(container.get(field, {}).get(name)) for field in _GIVEN_TO_CONTAINERS]
        ceiling = compared_nano(most)
        return ceiling is not None and any(each is not None and each > ceiling for each in given)

    return any(is_above(name, most) for name, most in entries.get("Pod", {}).get("max", {}).items())


LIMITS_RULES = (
    Rule(
        cel=(
            '!has(self.limits) || !self.limits.exists(p, p.type == "Pod" && has(p.max) && '
            f"p.max.exists(k, {_CEL_TOO_LARGE}))"
        ),
        holds=lambda spec: not _is_above_pod(spec),
        message=(
            "min, defaultRequest or default of a Container is above max of the Pod that it is in, so that such a pod "
            "would be refused: lower it, or raise max of type Pod"
        ),
        field="limits",
    ),
)
"""Of the whole spec: entries of several types."""
