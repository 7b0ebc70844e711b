"""Which resource names `hard` and `limits` accept, and what the API server asks of their values.

Follows `ValidateResourceQuotaSpec` of Kubernetes v1.36, so that every
NamespaceQuota can become a ResourceQuota.
"""

from __future__ import annotations

import re
from typing import Any

from moorage.api.rules import Rule, no_key
from moorage.api.types import quantity_nano
from moorage.quantity import MAX_INT64, NANO

COMPUTE_NAMES = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
STORAGE_NAMES = (
    "ephemeral-storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    "requests.storage",
)
COUNT_NAMES = (
    "pods",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "configmaps",
    "secrets",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
)
STANDARD_NAMES = COMPUTE_NAMES + STORAGE_NAMES + COUNT_NAMES
_CONTAINER_NAMES = ("cpu", "memory", "ephemeral-storage")
_CONTAINER_PREFIXES = ("hugepages-", "requests.", "limits.")  # the last two have a rule of their own

LONGEST_NAME = 253 + 1 + 63
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
QUALIFIED_NAME = rf"^({_DOMAIN}/)?{_NAME}$"
MALFORMED = (
    "not a valid resource name: at most one slash, a lower-case DNS name of at most 253 characters before it, "
    "and at most 63 letters, digits, '-', '_' and '.' after it"
)


def cel_list(texts: tuple[str, ...]) -> str:
    """Return a CEL list of these texts."""
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"


def is_standard(name: str) -> bool:
    """Whether the name is one that Kubernetes gives a meaning to, without a domain."""
    return name in STANDARD_NAMES or name.startswith(("hugepages-", "requests.hugepages-"))


def is_malformed(name: str) -> bool:
    """Whether no object of the API may carry this resource name."""
    return len(name) > LONGEST_NAME or re.fullmatch(QUALIFIED_NAME, name) is None


def _counts_whole_objects(name: str) -> bool:
    """Whether values must be integers: standard counts, and all with a domain of their own but without `requests.`."""
    has_own_domain = "/" in name and "kubernetes.io/" not in name
    return name in COUNT_NAMES or (has_own_domain and not name.startswith("requests."))


def _is_fraction(value: Any) -> bool:
    nano = quantity_nano(value)
    return nano is not None and nano % NANO != 0 and nano < MAX_INT64 * NANO  # what is beyond has its own rule


_CEL_IS_FRACTION = (
    "type(self[k]) != int && isQuantity(self[k]) && !quantity(self[k]).isInteger() && "
    "quantity(self[k]).asApproximateFloat() < 9.0e15 && "
    "double(int(quantity(self[k]).asApproximateFloat())) != quantity(self[k]).asApproximateFloat()"
)

NO_LABEL_KEY = (
    "not a label key: an optional lower-case DNS name and a slash, then at most 63 letters, digits, '-', '_' and '.'"
)
LABEL_KEY_RULES = (
    no_key(
        cel=f'size(k) > {LONGEST_NAME} || !k.matches(r"{QUALIFIED_NAME}")',
        where=lambda name, _: is_malformed(name),
        message=NO_LABEL_KEY,
    ),
)

HARD_RULES = (
    no_key(
        cel=(
            f'!k.contains("/") && !(k in {cel_list(STANDARD_NAMES)}) && '
            '!k.startsWith("hugepages-") && !k.startsWith("requests.hugepages-")'
        ),
        where=lambda name, _: "/" not in name and not is_standard(name),
        message=(
            "not a name that quotas know. Without a domain these are: cpu, memory, ephemeral-storage (also with "
            "requests. or limits. in front), requests.storage, hugepages-<size>, pods, services, "
            "services.loadbalancers, services.nodeports, configmaps, secrets, persistentvolumeclaims, "
            "replicationcontrollers, resourcequotas; all others carry one, such as requests.nvidia.com/gpu or "
            "count/deployments.apps"
        ),
    ),
    no_key(
        cel=f'size(k) > {LONGEST_NAME} || !k.matches(r"{QUALIFIED_NAME}")',
        where=lambda name, _: is_malformed(name),
        message=MALFORMED,
    ),
    no_key(
        cel=(
            f'(k in {cel_list(COUNT_NAMES)} || (k.contains("/") && !k.contains("kubernetes.io/") && '
            f'!k.startsWith("requests."))) && {_CEL_IS_FRACTION}'
        ),
        where=lambda name, value: _counts_whole_objects(name) and _is_fraction(value),
        message="must be an integer, since this counts whole objects",
    ),
)

LIMITS_RULES = (
    Rule(
        cel="size(self) > 0",
        holds=bool,
        message='must name at least one resource, such as cpu: "400"; leave limits out for no cap',
    ),
    no_key(
        cel='k == "pods" || k.startsWith("count/")',
        where=lambda name, _: name == "pods" or name.startswith("count/"),
        message="limits caps the sum of what the units request, not their number: give the number as replicas",
    ),
    no_key(
        cel='k.startsWith("requests.") || k.startsWith("limits.")',
        where=lambda name, _: name.startswith(("requests.", "limits.")),
        message="limits caps requests and takes container resource names: write it without requests. or limits.",
    ),
    no_key(
        cel=(
            f'!k.contains("/") && !(k in {cel_list((*_CONTAINER_NAMES, "pods"))}) && '
            + " && ".join(f'!k.startsWith("{prefix}")' for prefix in _CONTAINER_PREFIXES)
        ),
        where=lambda name, _: (
            "/" not in name and name not in (*_CONTAINER_NAMES, "pods") and not name.startswith(_CONTAINER_PREFIXES)
        ),
        message=(
            "nothing a container can request: write cpu, memory, ephemeral-storage, hugepages-<size> or a name with a "
            "domain, such as nvidia.com/gpu"
        ),
    ),
)
