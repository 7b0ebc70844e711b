"""The policy of pods: bounds of `spec.limits`, and amounts that `spec.hard` limits and nothing gives.

Its condition is evaluated for every pod, once and without variables; it lets through nearly all that are in order. Only
for the rest the exact answer is found, with its text: a validation is always evaluated together with its message, and
each time the pod and the quota are converted anew.
"""

from __future__ import annotations

from moorage.admission.policies import bounds, scopes, unspecified
from moorage.admission.policies.cel import ENFORCED, IS_PROBE, PROBES_IT, with_amounts
from moorage.admission.policies.defaults import DEFAULTED
from moorage.admission.policies.documents import Document, Rule, refusing_policy

NAME = "moorage-pods"

_MAY_BREAK_BOUNDS = (
    f'has(params.spec.limits) && params.spec.limits.exists(l, l.type == "Pod" && ({bounds.POD_MAY_BREAK}) || '
    f'l.type == "Container" && ({bounds.CONTAINERS_MAY_BREAK}))'
)
_MAY_BREAK = with_amounts(f"{_MAY_BREAK_BOUNDS} || {unspecified.MAY_BE_MISSING}")
_ASKS_ANEW = (
    'request.operation == "CREATE" || object.spec.containers != oldObject.spec.containers || '
    "object.spec.?initContainers != oldObject.spec.?initContainers || "
    "object.spec.?resources != oldObject.spec.?resources"
)
"""A resize that changes nothing is not held against bounds that came later than the pod."""

_IS_SHARED = " || ".join(f"variables.pod.spec.?resources.?{side}[?k].hasValue()" for side in ("requests", "limits"))
"""The pod as a whole gives this amount, so that its containers need not."""

_VARIABLES = {
    "pod": "dyn(object)",
    "containers": "variables.pod.spec.containers + variables.pod.spec.?initContainers.orValue([])",
    **scopes.VARIABLES,
    **unspecified.VARIABLES,
    "aboutContainers": (
        f"{bounds.entry('Container')}.map(l, variables.containers.map(c, "
        + bounds.facts("Container", who='"container " + c.name', must=f"!({_IS_SHARED})", amount=bounds.OWN_AMOUNT)
        + "))[?0].orValue([])"
    ),
    "aboutThePod": (
        f"{bounds.entry('Pod')}.map(l, "
        + bounds.facts("Pod", who='"the pod"', must="true", amount=bounds.POD_AMOUNT)
        + ")"
    ),
    "complaints": (
        f"{unspecified.COMPLAINTS} + "
        f"({_ASKS_ANEW} ? {bounds.complaints('(variables.aboutContainers + variables.aboutThePod)')} : [])"
    ),
}
_RANGED = "kubernetes.io/limit-ranger"
_FILLED_IN = (
    f'({IS_PROBE} ? ["filled in: " + object.metadata.annotations[?"{DEFAULTED}"].orValue("nothing"), '
    f'object.metadata.annotations[?"{_RANGED}"].orValue("")].filter(t, t != "") : [])'
)
"""What defaults a probe was given, by our policy and by LimitRanges."""


def documents() -> tuple[Document, ...]:
    """Return the policy and its binding."""
    return refusing_policy(
        NAME,
        rules=(Rule(("pods",), ("CREATE",)), Rule(("pods/resize",), ("UPDATE",))),
        condition=f"{ENFORCED} && ({IS_PROBE} ? {PROBES_IT} : {_MAY_BREAK})",
        variables=_VARIABLES,
        holds=f"size(variables.complaints) == 0 && !{IS_PROBE}",
        complaints=f"variables.complaints + {_FILLED_IN}",
    )
