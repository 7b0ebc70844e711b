"""The policy of claims for volumes: bounds of `spec.limits`. See `pods` for what its condition is for."""

from __future__ import annotations

from moorage.admission.policies import bounds
from moorage.admission.policies.cel import ENFORCED, IS_PROBE, PROBES_IT
from moorage.admission.policies.documents import Document, Rule, refusing_policy

NAME = "moorage-claims"

_TYPE = "PersistentVolumeClaim"
_ASKS_ANEW = 'request.operation == "CREATE" || object.spec.?resources != oldObject.spec.?resources'
"""A bound that came later than the claim does not keep it from being labelled."""

_VARIABLES = {
    "aboutTheClaim": (
        f"{bounds.entry(_TYPE)}.map(l, [dyn(object.spec)].map(c, "
        + bounds.facts(_TYPE, who='"the claim"', must="true", amount=bounds.OWN_AMOUNT)
        + ")[0])"
    ),
    "complaints": bounds.complaints("variables.aboutTheClaim"),
}


def documents() -> tuple[Document, ...]:
    """Return the policy and its binding."""
    return refusing_policy(
        NAME,
        rules=(Rule(("persistentvolumeclaims",), ("CREATE", "UPDATE")),),
        condition=(
            f"{ENFORCED} && ({IS_PROBE} ? {PROBES_IT} : ({_ASKS_ANEW}) && "
            f'params.spec.?limits.orValue([]).exists(l, l.type == "{_TYPE}"))'
        ),
        variables=_VARIABLES,
        holds=f"size(variables.complaints) == 0 && !{IS_PROBE}",
        complaints="variables.complaints",
    )
