"""CEL for what an entry of `spec.limits` refuses, and for the sentences that say so. Follows `moorage.quota.bounds`.

What is held against bounds is brought into one form first, a map for each resource that the entry names:
`who` (`container app`), `type` of the entry, `name` of the resource, `amounts` (request and limit in thousandths, -1
for none) and their `texts`, `must` (whether it has to give them), and `min`, `max` and `ratio` as they are written
(empty for none).
"""

from __future__ import annotations

from collections.abc import Callable

from moorage.admission.policies.cel import CONTAINERS, MILLI_TEXT, given, gives, joined, milli

_NOT_OFF = "1.000000000001"
"""The numbers of CEL are floating point: a ratio that is off by one part in so many is not off."""

_NAMES = (
    "(l.?max.orValue({}).map(k, k) + l.?min.orValue({}).filter(k, !(k in l.?max.orValue({}))) + "
    "l.?maxLimitRequestRatio.orValue({}).filter(k, !(k in l.?max.orValue({}) || k in l.?min.orValue({}))))"
)
"""Every name in the maps of bounds of entry `l`, once."""

OWN_AMOUNT = f"{gives('c', 'side', 'k')} ? {milli(given('c', 'side', 'k'))} : -1"
"""Of container `c`, or the spec of a claim."""


def _pod_amount() -> str:
    """Return CEL for what a pod asks for, as `resources.pod_resources` without overhead.

    The larger of the sum over what runs and the peak while it starts: init containers run one after another, each
    beside the sidecars before it. What the pod says as a whole takes the place of both.
    """

    def own(container: str) -> str:
        return f"({gives(container, 'side', 'k')} ? {milli(given(container, 'side', 'k'))} : 0)"

    sidecars = 'inits.filter(s, s.?restartPolicy.orValue("") == "Always")'
    running = f"(variables.pod.spec.containers + {sidecars}).map(c, {own('c')}).sum()"
    before = f"{sidecars}.filter(s, names.indexOf(s.name) < names.indexOf(i.name)).map(s, {own('s')}).sum()"
    peaks = f"[inits.map(i, i.name)].map(names, inits.map(i, {own('i')} + {before}))[0]"
    summed = f"[variables.pod.spec.?initContainers.orValue([])].map(inits, ([{running}] + {peaks}).max())[0]"
    said = f"variables.containers.exists(c, {gives('c', 'side', 'k')})"
    whole = milli(given("variables.pod.spec", "side", "k"))
    return f"{gives('variables.pod.spec', 'side', 'k')} ? {whole} : {said} ? {summed} : -1"


POD_AMOUNT = _pod_amount()
"""Of `variables.pod`."""


def entry(of_type: str) -> str:
    """Return CEL for the entry of this type: a list of at most one."""
    return f'params.spec.?limits.orValue([]).filter(l, l.type == "{of_type}")'


def facts(of_type: str, *, who: str, must: str, amount: str) -> str:
    """Return CEL for the list of facts of one subject about entry `l`; `amount` is CEL about `side` and `k`."""
    both = f'[["requests", "limits"].map(side, {amount})]'
    fields = {
        "who": who,
        "type": f'"{of_type}"',
        "name": "k",
        "amounts": "amounts",
        "texts": f"amounts.map(m, {MILLI_TEXT})",
        "must": must,
        "min": 'string(l.?min[?k].orValue(dyn("")))',
        "max": 'string(l.?max[?k].orValue(dyn("")))',
        "ratio": 'string(l.?maxLimitRequestRatio[?k].orValue(dyn("")))',
    }
    literal = ", ".join(f'"{name}": dyn({value})' for name, value in fields.items())
    return f"{_NAMES}.map(k, {both}.map(amounts, {{{literal}}})[0])"


def _asks(sign: str, bound: str) -> str:
    """Return CEL for what a fact `f` asks for beyond a bound."""
    beyond = f"[0, 1].filter(i, f.amounts[i] >= 0 && f.amounts[i] {sign} {milli(bound)})"
    return f'{beyond}.map(i, ["requests ", "has a limit of "][i] + f.texts[i]).join(" and ")'


def _sentence(rule: str, bound: str, complaint: str) -> str:
    """Return CEL for one complaint about fact `f`; empty when there is none."""
    words = f'"{rule} " + f.name + " per " + f.type + " is " + {bound} + ", but " + f.who + " "'
    return f'({bound} == "" ? "" : [{complaint}].map(t, t == "" ? "" : {words} + t)[0])'


_BEYOND_RATIO = (
    'f.amounts.exists(a, a < 0) ? (f.must ? "has no " + (f.amounts[0] < 0 ? "request" : "limit") : "") : '
    "f.amounts.exists(a, a == 0) || double(f.amounts[1]) > "
    f"quantity(f.ratio).asApproximateFloat() * double(f.amounts[0]) * {_NOT_OFF} ? "
    '"has a limit of " + f.texts[1] + " and a request of " + f.texts[0] : ""'
)
_ALL = ", ".join(
    (
        _sentence("maximum", "f.max", _asks(">", "f.max")),
        _sentence("minimum", "f.min", f'f.amounts[0] < 0 && f.must ? "requests none" : {_asks("<", "f.min")}'),
        _sentence("maximum ratio of limit to request of", "f.ratio", _BEYOND_RATIO),
    )
)


def complaints(subjects: str) -> str:
    """Return CEL for a list of texts, one for each subject (a list of facts) that breaks a bound."""
    of_subject = joined(f"s.map(f, {joined(f'[{_ALL}]')})")
    return f'{subjects}.map(s, {of_subject}).filter(t, t != "")'


def _beyond(amounts: str, compare: str, *, none: str) -> str:
    """Return CEL for whether one of these is beyond the bound `b` of resource `k`; `none` is about one without it."""
    return f"{amounts}.exists(a, k in a ? quantity(a[k]).{compare}(b) : {none})"


def _may_break(field: str, condition: str, read: Callable[[str], str]) -> str:
    """Return CEL for whether a bound `b` in this field of entry `l` may be broken."""
    return f"has(l.{field}) && l.{field}.exists(k, [{read(f'string(l.{field}[k])')}].exists(b, {condition}))"


def _quantity(text: str) -> str:
    return f"quantity({text})"


def _in_all(amounts: str) -> str:
    """Return CEL for the sum of resource `k` over these, in thousandths."""
    return f"{amounts}.map(a, k in a ? {milli('a[k]')} : 0).sum()"


def _container_beyond_ratio() -> str:
    """Return CEL for whether container `c` lacks one side of resource `k`, or its limit is beyond ratio `b`."""
    request, limit = (milli(given("c", side, "k")) for side in _SIDES)
    said = " && ".join(gives("c", side, "k") for side in _SIDES)
    within = f"p[0] > 0 && p[1] > 0 && double(p[1]) <= b.asApproximateFloat() * double(p[0]) * {_NOT_OFF}"
    return f"{CONTAINERS}.exists(c, !({said} && [[{request}, {limit}]].exists(p, {within})))"


_SIDES = ('"requests"', '"limits"')
_BELOW = f"{_beyond('asked', 'isLessThan', none='true')} || {_beyond('capped', 'isLessThan', none='false')}"
CONTAINERS_MAY_BREAK = " || ".join(
    (
        _may_break("max", _beyond("(asked + capped)", "isGreaterThan", none="false"), _quantity),
        _may_break("min", _BELOW, _quantity),
        _may_break("maxLimitRequestRatio", _container_beyond_ratio(), _quantity),
    )
)
"""CEL for whether a container may break entry `l`; see `cel.with_amounts`. Asked for every pod, so it makes no text."""

_POD_BELOW = (
    f"!asked.exists(a, k in a) || {_in_all('asked')} < b || capped.exists(a, k in a) && {_in_all('capped')} < b"
)
POD_MAY_BREAK = " || ".join(
    (
        "has(object.spec.initContainers) || has(object.spec.resources) || has(l.maxLimitRequestRatio)",
        _may_break("max", f"{_in_all('asked')} > b || {_in_all('capped')} > b", milli),
        _may_break("min", _POD_BELOW, milli),
    )
)
"""CEL for the same of a pod; those whose amounts are no plain sums are left to the exact answer."""
