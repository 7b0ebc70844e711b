"""The policy of defaults: fills in what containers leave out. Follows `quota.bounds.fill_in`.

The API server completes the pod after that as after any change: a limit without a request becomes the request.
"""

from __future__ import annotations

from moorage.admission.policies.cel import CONTAINERS, ENFORCED, IS_PROBE, PROBES_IT
from moorage.admission.policies.documents import Document, Rule, mutating_policy

NAME = "moorage-defaults"
DEFAULTED = "moorage.dev/defaulted"
"""Annotation of pods that tells what was filled in, and by which quota."""

_IN_FORCE = (
    "(params.?status.?observedGeneration.orValue(0) == params.metadata.generation && has(params.status.defaults) ? "
    '[params.status.defaults] : params.spec.?limits.orValue([]).filter(l, l.type == "Container"))'
)
"""At most one map of defaults. Where several quotas of a namespace have some, the operator has put them together."""

_SHARED = "object.spec.?resources.?requests[?k].hasValue() || object.spec.?resources.?limits[?k].hasValue()"
"""The pod as a whole gives this amount; what its containers were given could contradict it."""


def _lacks(side: str) -> str:
    """Return CEL for whether container `c` is to be given this side of resource `k`."""
    return f"!(c.?resources.?{side}[?k].hasValue() || {_SHARED})"


def _lacks_some(entry: str) -> str:
    """Return CEL for whether container `c` is to be given anything."""
    return (
        f"({entry}.?defaultRequest.orValue({{}}).exists(k, {_lacks('requests')}) || "
        f"{entry}.?default.orValue({{}}).exists(k, {_lacks('limits')}))"
    )


_LIMIT = (
    "[c.?resources.?requests[?k].or(variables.defaults.?defaultRequest[?k])].map(r, r.hasValue() && "
    "quantity(string(r.value())).isGreaterThan(quantity(string(v))) ? string(r.value()) : string(v))[0]"
)
"""A default limit is no maximum: it is raised to the request."""

_VARIABLES = {
    "defaults": f"{_IN_FORCE}[0]",
    "filled": (
        f"{CONTAINERS}.filter(c, {_lacks_some('variables.defaults')}).map(c, {{"
        '"name": dyn(c.name), '
        '"requests": dyn(variables.defaults.?defaultRequest.orValue({})'
        f".transformMap(k, v, {_lacks('requests')}, string(v))), "
        f'"limits": dyn(variables.defaults.?default.orValue({{}}).transformMap(k, v, {_lacks("limits")}, {_LIMIT}))}})'
    ),
    "note": (
        '"by " + params.metadata.name + ": " + variables.filled.map(f, f.name + " " + ('
        'f.requests.transformList(k, v, "requests." + k + "=" + v) + '
        'f.limits.transformList(k, v, "limits." + k + "=" + v)).join(" ")).join(", ")'
    ),
}


def _completed(field: str) -> str:
    """Return CEL for the containers of this list that change, by name."""
    return (
        f"variables.filled.filter(f, object.spec.?{field}.orValue([]).exists(c, c.name == f.name)).map(f, "
        f"Object.spec.{field}{{name: f.name, "
        f"resources: Object.spec.{field}.resources{{requests: f.requests, limits: f.limits}}}})"
    )


_CHANGE = (
    "Object{metadata: Object.metadata{annotations: {"
    f'"{DEFAULTED}": [object.metadata.?annotations[?"{DEFAULTED}"].orValue(""), variables.note]'
    '.filter(t, t != "").join("; ")}}, '
    f"spec: Object.spec{{containers: {_completed('containers')}, initContainers: {_completed('initContainers')}}}}}"
)


def documents() -> tuple[Document, ...]:
    """Return the policy and its binding."""
    return mutating_policy(
        NAME,
        rules=(Rule(("pods",), ("CREATE",)),),
        condition=(
            f"{ENFORCED} && (!{IS_PROBE} || {PROBES_IT}) && "
            f"{_IN_FORCE}.exists(l, {CONTAINERS}.exists(c, {_lacks_some('l')}))"
        ),
        variables=_VARIABLES,
        change=_CHANGE,
    )
