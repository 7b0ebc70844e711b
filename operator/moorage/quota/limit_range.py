"""The LimitRange that fills in defaults where the API server has no policies that change objects.

It can do less: a default limit below a container's request is not raised, and the pod is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.quantity import QuantityError
from moorage.quota.bounds import CONTAINER, Limits, resource_texts
from moorage.quota.projection import Owner
from moorage.resources import amounts


def limit_range(owner: Owner, defaults: Limits) -> dict[str, Any]:
    """Return the LimitRange, with nothing but our fields."""
    given = {"default": defaults.default, "defaultRequest": defaults.default_request}
    entry = {field: resource_texts(found) for field, found in given.items() if found}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": owner.metadata(),
        "spec": {"limits": [{"type": CONTAINER, **entry}]},
    }


def says_the_same(defaults: Limits, stored: Mapping[str, Any]) -> bool:
    """Tell whether a stored LimitRange does what these defaults ask for and nothing else."""
    entries = (stored.get("spec") or {}).get("limits") or []
    if len(entries) != 1 or entries[0].get("type") != CONTAINER:
        return False
    try:
        found = {field: amounts(entries[0].get(field)) for field in ("default", "defaultRequest", "min", "max")}
        ratio = amounts(entries[0].get("maxLimitRequestRatio"))
    except QuantityError:
        return False
    # A limit without a request is stored as the request, too.
    requests = {**defaults.default, **defaults.default_request}
    wanted = {"default": dict(defaults.default), "defaultRequest": requests, "min": {}, "max": {}}
    return found == wanted and not ratio
