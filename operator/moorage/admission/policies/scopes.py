"""CEL for whether a quota's scopes select a pod. Follows `moorage.quota.scopes`."""

from __future__ import annotations

_ASKS_FOR_COMPUTE = (
    "[{0}.?resources.?requests, {0}.?resources.?limits].exists(r, r.hasValue() && "
    '["cpu", "memory"].exists(n, n in r.value() && quantity(string(r.value()[n])).isGreaterThan(quantity("0"))))'
)
"""Whether a pod or container asks for more than 0 of cpu or memory, which makes a pod more than best-effort."""

_CROSSES = "size({0}.?namespaces.orValue([])) > 0 || has({0}.namespaceSelector)"
_WHEN = "DuringSchedulingIgnoredDuringExecution"


def crosses_namespaces(pod: str) -> str:
    """Return CEL for whether a pod has affinity terms that name or select other namespaces."""
    return (
        f"[{pod}.spec.?affinity.?podAffinity, {pod}.spec.?affinity.?podAntiAffinity].exists(a, "
        f"a.hasValue() && (a.value().?required{_WHEN}.orValue([]).exists(t, {_CROSSES.format('t')}) || "
        f"a.value().?preferred{_WHEN}.orValue([]).exists(t, {_CROSSES.format('t.podAffinityTerm')})))"
    )


_IS_IN_CLASS = (
    'e.operator == "In" ? variables.priorityClass in e.values : '
    'e.operator == "NotIn" ? !(variables.priorityClass in e.values) : '
    'e.operator == "Exists" ? variables.priorityClass != "" : variables.priorityClass == ""'
)

VARIABLES = {
    "priorityClass": 'variables.pod.spec.?priorityClassName.orValue("")',
    "isBestEffort": (
        f"!(has(variables.pod.spec.resources) ? {_ASKS_FOR_COMPUTE.format('variables.pod.spec')} : "
        f"variables.containers.exists(c, {_ASKS_FOR_COMPUTE.format('c')}))"
    ),
    "scopesThatHold": (
        '[variables.priorityClass != "" ? "PriorityClass" : "", '
        'has(variables.pod.spec.activeDeadlineSeconds) ? "Terminating" : "NotTerminating", '
        'variables.isBestEffort ? "BestEffort" : "NotBestEffort", '
        f'{crosses_namespaces("variables.pod")} ? "CrossNamespacePodAffinity" : ""]'
    ),
    "isSelected": (
        "params.spec.?scopes.orValue([]).all(s, s in variables.scopesThatHold) && "
        "params.spec.?scopeSelector.?matchExpressions.orValue([]).all(e, "
        f'e.scopeName == "PriorityClass" ? ({_IS_IN_CLASS}) : e.scopeName in variables.scopesThatHold)'
    ),
}
"""Names to CEL, in the order in which they build on each other; needs `pod` and `containers`."""
