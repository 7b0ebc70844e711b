"""CEL for amounts that `spec.hard` limits and a pod does not give: they would count as 0 by accident.

The quota of the API server has such a rule, but drops it for pods with any amount for the pod as a whole, and never
asks for ephemeral storage. Follows `moorage.quota.admission`.
"""

from __future__ import annotations

from moorage.admission.policies.cel import gives
from moorage.quota.names import compute

_NAMES = [
    prefix + resource for resource in ("cpu", "memory", "ephemeral-storage") for prefix in ("requests.", "", "limits.")
]
_DEMANDED = "[{}]".format(
    ", ".join(f'["{name}", "{found[0]}", "{found[1]}"]' for name in _NAMES if (found := compute(name)) is not None)
)
"""CEL for the names of `hard` that demand an amount, each with side and resource of that."""

_SILENT = f"!{gives('c', 'n[1]', 'n[2]')}"
"""CEL for whether container `c` does not say what name `n` demands."""


def _may_be_missing() -> str:
    """Return CEL that asks about each kind of amount once, and only if `hard` has a name that demands it."""
    demanding: dict[tuple[str, str], list[str]] = {}
    for name in _NAMES:
        if (found := compute(name)) is not None:
            demanding.setdefault(found, []).append(f'"{name}" in params.spec.hard')
    amounts = {"requests": "asked", "limits": "capped"}
    each = (
        f'({" || ".join(names)}) && {amounts[side]}.exists(a, !("{resource}" in a))'
        for (side, resource), names in demanding.items()
    )
    return f"has(params.spec.hard) && ({' || '.join(each)})"


MAY_BE_MISSING = _may_be_missing()
"""CEL for whether a container is silent about a limited amount, whatever the scopes and the pod as a whole say.

See `cel.with_amounts`."""

VARIABLES = {
    "missing": (
        'request.operation != "CREATE" || !variables.isSelected ? [] : '
        f"{_DEMANDED}.filter(n, n[0] in params.spec.?hard.orValue({{}}) && "
        f'(n[2] == "ephemeral-storage" || !{gives("variables.pod.spec", "n[1]", "n[2]")}) && '
        f"variables.containers.exists(c, {_SILENT}))"
    ),
}
"""Names to CEL; needs `pod`, `containers` and those of `scopes`."""

COMPLAINTS = (
    'variables.missing.map(n, "must specify " + n[0] + " for " + '
    f'variables.containers.filter(c, {_SILENT}).map(c, c.name).join(", "))'
)
"""CEL for a list of texts."""
