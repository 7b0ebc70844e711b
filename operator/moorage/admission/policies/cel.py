"""Pieces of CEL that the policies have in common.

Only what Kubernetes 1.30 knows is used, but for the policy of defaults, whose kind came with 1.36. `dyn` keeps the type
checker from warning of resource names, which it takes for unknown fields.
"""

from __future__ import annotations

PROBE = "moorage.dev/probe"
"""Annotation of a dry-run object that proves one quota; its value is the quota's name."""

ENFORCED = '(!has(params.spec.enforcement) || params.spec.enforcement == "Enforce")'
IS_PROBE = f'(request.dryRun && "{PROBE}" in object.metadata.?annotations.orValue({{}}))'
PROBES_IT = f'object.metadata.annotations["{PROBE}"] == params.metadata.name'

CONTAINERS = (
    "(has(object.spec.initContainers) ? object.spec.containers + object.spec.initContainers : object.spec.containers)"
)


def with_amounts(condition: str) -> str:
    """Return CEL that holds if `condition` does, which may use `asked` and `capped`.

    They are the requests and the limits of each container. To look them up once is what makes a condition cheap: each
    step into an object is paid for anew.
    """
    asked, capped = (f"[{CONTAINERS}.map(c, c.?resources.?{side}.orValue({{}}))]" for side in ("requests", "limits"))
    return f"{asked}.exists(asked, {capped}.exists(capped, {condition}))"


def gives(owner: str, side: str, name: str) -> str:
    """Return CEL for whether a container, or the spec of a pod or claim, says an amount of a resource.

    `side` and `name` are CEL; `side` is "requests" or "limits".
    """
    return f"{owner}.?resources[?{side}][?{name}].hasValue()"


def given(owner: str, side: str, name: str) -> str:
    """Return CEL for the amount that it says, as text."""
    return f"{owner}.resources[{side}][{name}]"


def milli(text: str) -> str:
    """Return CEL for a quantity in thousandths: the API server keeps nothing finer, and CEL cannot add quantities."""
    whole = "q.isInteger() ? q.asInteger() * 1000 : int(q.asApproximateFloat() * 1000.0 + 0.5)"
    return f"[quantity({text})].map(q, {whole})[0]"


_GIBI, _MEBI = 1000 * 2**30, 1000 * 2**20
MILLI_TEXT = (
    f'm % 1000 != 0 ? string(m) + "m" : m >= {_GIBI} && m % {_GIBI} == 0 ? string(m / {_GIBI}) + "Gi" : '
    f'm >= {_MEBI} && m % {_MEBI} == 0 ? string(m / {_MEBI}) + "Mi" : string(m / 1000)'
)
"""CEL for `m` thousandths as a quantity is written."""


def joined(texts: str) -> str:
    """Return CEL for one text of a list of them, empty ones left out."""
    return f'{texts}.filter(t, t != "").join("; ")'
