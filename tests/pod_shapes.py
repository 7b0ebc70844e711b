"""Pods of every shape, the quotas they meet, and what becomes of them: a table to judge by in several ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
Amounts = Mapping[str, str]

SPECIFY, BOUNDS, COUNT, TOTAL = "specify", "bounds", "count", "total"
"""Steps of admission that refuse."""


def limits(**entries: Any) -> list[Object]:
    """Entries of `spec.limits` by type."""
    return [{"type": of_type, **entry} for of_type, entry in entries.items()]


CONTAINER_DEFAULTS = {"default": {"memory": "512Mi"}, "defaultRequest": {"cpu": "200m", "memory": "256Mi"}}
HIGH = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
NOT_HIGH = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]}]}
CPU = {"requests.cpu": "1k"}

QUOTAS: dict[str, dict[str, Object]] = {
    "nothing": {"team": {"hard": {"pods": 1000}}},
    "defaults": {"team": {"limits": limits(Container=CONTAINER_DEFAULTS)}},
    "low-default-limit": {"team": {"limits": limits(Container={"default": {"cpu": "100m"}})}},
    "max": {"team": {"limits": limits(Container={"max": {"cpu": "1", "memory": "1Gi"}})}},
    "min": {"team": {"limits": limits(Container={"min": {"cpu": "50m", "memory": "64Mi"}})}},
    "ratio": {"team": {"limits": limits(Container={"maxLimitRequestRatio": {"cpu": "2", "memory": "1.5"}})}},
    "pod-max": {"team": {"limits": limits(Pod={"max": {"cpu": "1500m", "memory": "2Gi"}})}},
    "pod-min": {"team": {"limits": limits(Pod={"min": {"cpu": "100m"}})}},
    "pod-min-zero": {"team": {"limits": limits(Pod={"min": {"cpu": "0"}})}},
    "pod-ratio": {"team": {"limits": limits(Pod={"maxLimitRequestRatio": {"memory": 2}})}},
    "all": {
        "team": {
            "hard": {**CPU, "requests.memory": "1Ti", "limits.memory": "1Ti"},
            "limits": limits(
                Container={**CONTAINER_DEFAULTS, "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "10m"}},
                Pod={"max": {"cpu": "3", "memory": "2Gi"}},
            ),
        }
    },
    "cpu": {"team": {"hard": CPU}},
    "cpu-and-memory": {"team": {"hard": {"cpu": "1k", "memory": "1Ti"}}},
    "memory-limits": {"team": {"hard": {"limits.memory": "1Ti"}}},
    "disk": {"team": {"hard": {"requests.ephemeral-storage": "1Ti"}}},
    "disk-limits": {"team": {"hard": {"limits.ephemeral-storage": "1Ti"}}},
    "gpus": {"team": {"hard": {"requests.nvidia.com/gpu": 1000}}},
    "gpu-bounds": {"team": {"limits": limits(Container={"max": {"nvidia.com/gpu": 2}})}},
    "hugepages": {"team": {"limits": limits(Container={"max": {"hugepages-2Mi": "4Mi"}})}},
    "cpu-of-high": {"team": {"hard": CPU, "scopeSelector": HIGH}},
    "cpu-of-others": {"team": {"hard": CPU, "scopeSelector": NOT_HIGH}},
    "cpu-with-deadline": {"team": {"hard": CPU, "scopes": ["Terminating"]}},
    "cpu-without-deadline": {"team": {"hard": CPU, "scopes": ["NotTerminating"]}},
    "cpu-unless-best-effort": {"team": {"hard": CPU, "scopes": ["NotBestEffort"]}},
    "cpu-across-namespaces": {"team": {"hard": CPU, "scopes": ["CrossNamespacePodAffinity"]}},
    "max-of-high": {"team": {"scopeSelector": HIGH, "limits": limits(Container={"max": {"cpu": "1"}})}},
    "two": {
        "a": {"limits": limits(Container={"defaultRequest": {"cpu": "100m"}, "max": {"cpu": "2"}})},
        "b": {"limits": limits(Container={"max": {"memory": "1Gi"}}, Pod={"max": {"cpu": "3"}})},
    },
    "audit": {
        "team": {
            "enforcement": "Audit",
            "hard": CPU,
            "limits": limits(Container={**CONTAINER_DEFAULTS, "max": {"memory": "1Gi"}}),
        }
    },
    "one-of-two-audits": {
        "a": {"enforcement": "Audit", "limits": limits(Container={"max": {"cpu": "1"}})},
        "b": {"limits": limits(Container={"max": {"cpu": "2"}})},
    },
    "total": {"team": {"hard": {"requests.cpu": "1", "requests.memory": "1Gi", "limits.memory": "2Gi"}}},
    "number": {"team": {"hard": {"pods": 2}}},
    "full": {"team": {"hard": {"pods": 1}}},
    "gpu-total": {"team": {"hard": {"requests.nvidia.com/gpu": 2}}},
    "default-and-total": {
        "team": {"hard": {"requests.cpu": "1"}, "limits": limits(Container={"defaultRequest": {"cpu": "500m"}})}
    },
    "number-of-high": {"team": {"hard": {"pods": 1}, "scopeSelector": HIGH}},
    "everything": {
        "team": {"hard": {"requests.cpu": "1", "pods": 1}, "limits": limits(Container={"max": {"cpu": "500m"}})}
    },
    "total-in-audit": {"team": {"enforcement": "Audit", "hard": {"pods": 1}}},
}
"""The NamespaceQuotas of each namespace: names to specs."""


@dataclass(frozen=True)
class Shape:
    """A pod that is sent to a namespace with these quotas, and the steps that refuse it (none: it is admitted)."""

    id: str
    quotas: str
    spec: Object
    refused_by: tuple[str, ...] = ()
    filled_in: Mapping[str, Mapping[str, Amounts]] = field(default_factory=dict)
    """What containers get: by container, `requests` or `limits`, resource."""

    def __str__(self) -> str:
        return self.id


def amounts(**named: str) -> dict[str, str]:
    """Amounts by resource: `cpu`, `memory`, `disk`, `gpu`, `pages`."""
    names = {"disk": "ephemeral-storage", "gpu": "nvidia.com/gpu", "pages": "hugepages-2Mi"}
    return {names.get(name, name): text for name, text in named.items()}


def resources(requests: Amounts | None = None, limits: Amounts | None = None) -> Object:
    given = {"requests": requests, "limits": limits}
    return {side: dict(found) for side, found in given.items() if found is not None}


def container(
    name: str = "app", *, requests: Amounts | None = None, limits: Amounts | None = None, **further: Any
) -> Object:
    return {"name": name, "image": "app", "resources": resources(requests, limits), **further}


def sidecar(name: str, **keywords: Any) -> Object:
    return container(name, restartPolicy="Always", **keywords)


def pod(*containers: Object, inits: list[Object] | None = None, **further: Any) -> Object:
    """A pod spec."""
    spec: Object = {"containers": list(containers) or [container()]}
    if inits is not None:
        spec["initContainers"] = inits
    return {**spec, **further}


def asks(name: str = "app", **named: str) -> Object:
    """A container with requests alone."""
    return container(name, requests=amounts(**named))


def capped(name: str = "app", **named: str) -> Object:
    """A container with limits alone."""
    return container(name, limits=amounts(**named))


def affinity(**term: Any) -> Object:
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, **term}]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def preferred_anti_affinity(**term: Any) -> Object:
    weighted = {"weight": 1, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, **term}}
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


_DEFAULT = {"requests": amounts(cpu="200m", memory="256Mi"), "limits": amounts(memory="512Mi")}

_NOTHING = [
    Shape("nothing-limits-anything", "nothing", pod()),
]
_DEFAULTS = [
    Shape("nothing-given", "defaults", pod(), filled_in={"app": _DEFAULT}),
    Shape(
        "everything-given",
        "defaults",
        pod(container(requests=amounts(cpu="1", memory="1Gi"), limits=amounts(memory="1Gi"))),
    ),
    Shape(
        "request-above-the-default-limit",
        "defaults",
        pod(asks(memory="1Gi")),
        filled_in={"app": {"requests": amounts(cpu="200m"), "limits": amounts(memory="1Gi")}},
    ),
    Shape(
        "limit-becomes-the-request",
        "defaults",
        pod(capped(memory="128Mi")),
        filled_in={"app": {"requests": amounts(cpu="200m")}},
    ),
    Shape(
        "limit-of-another-resource",
        "defaults",
        pod(capped(cpu="1")),
        filled_in={"app": {"requests": amounts(memory="256Mi"), "limits": amounts(memory="512Mi")}},
    ),
    Shape(
        "explicit-zero-stays",
        "defaults",
        pod(asks(cpu="0", memory="0")),
        filled_in={"app": {"limits": amounts(memory="512Mi")}},
    ),
    Shape(
        "only-one-of-two-containers-lacks",
        "defaults",
        pod(container("web", requests=amounts(cpu="1", memory="1Gi"), limits=amounts(memory="2Gi")), container("log")),
        filled_in={"log": _DEFAULT},
    ),
    Shape(
        "init-containers-and-sidecars-too",
        "defaults",
        pod(inits=[container("init"), sidecar("mesh")]),
        filled_in={"app": _DEFAULT, "init": _DEFAULT, "mesh": _DEFAULT},
    ),
    Shape(
        "pod-gives-cpu-and-memory",
        "defaults",
        pod(resources=resources(amounts(cpu="1", memory="1Gi"), amounts(memory="1Gi"))),
    ),
    Shape(
        "pod-gives-cpu-only",
        "defaults",
        pod(resources=resources(amounts(cpu="1"))),
        filled_in={"app": {"requests": amounts(memory="256Mi"), "limits": amounts(memory="512Mi")}},
    ),
    Shape(
        "pod-gives-a-limit-of-memory",
        "defaults",
        pod(resources=resources(limits=amounts(memory="64Mi"))),
        filled_in={"app": {"requests": amounts(cpu="200m")}},
    ),
    Shape(
        "pod-limit-and-one-container-with-memory",
        "defaults",
        pod(asks("web", memory="32Mi"), container("log"), resources=resources(limits=amounts(cpu="2"))),
    ),
    Shape(
        "default-limit-is-the-request",
        "low-default-limit",
        pod(),
        filled_in={"app": {"requests": amounts(cpu="100m"), "limits": amounts(cpu="100m")}},
    ),
    Shape(
        "default-limit-is-raised",
        "low-default-limit",
        pod(asks(cpu="250m")),
        filled_in={"app": {"limits": amounts(cpu="250m")}},
    ),
    Shape(
        "default-limit-as-large-as-the-request",
        "low-default-limit",
        pod(asks(cpu="0.1")),
        filled_in={"app": {"limits": amounts(cpu="100m")}},
    ),
    Shape("audit-fills-in-nothing", "audit", pod()),
]
_CONTAINER_BOUNDS = [
    Shape("within-max", "max", pod(asks(cpu="1", memory="1Gi"))),
    Shape("max-alone-sets-nothing", "max", pod()),
    Shape("request-above-max", "max", pod(asks(cpu="1001m")), (BOUNDS,)),
    Shape("limit-above-max", "max", pod(container(requests=amounts(cpu="1"), limits=amounts(cpu="2"))), (BOUNDS,)),
    Shape("limit-alone-above-max", "max", pod(capped(memory="1025Mi")), (BOUNDS,)),
    Shape("max-in-another-spelling", "max", pod(asks(cpu="1000m", memory="1048576Ki"))),
    Shape("just-above-in-another-spelling", "max", pod(asks(memory="1048577Ki")), (BOUNDS,)),
    Shape("second-container-above-max", "max", pod(asks("web", cpu="1"), asks("log", cpu="2")), (BOUNDS,)),
    Shape("init-container-above-max", "max", pod(asks(cpu="1"), inits=[asks("init", cpu="2")]), (BOUNDS,)),
    Shape(
        "sidecar-above-max", "max", pod(asks(cpu="1"), inits=[sidecar("mesh", requests=amounts(cpu="2"))]), (BOUNDS,)
    ),
    Shape("both-above-max", "max", pod(asks(cpu="2", memory="2Gi")), (BOUNDS,)),
    Shape("pod-as-a-whole-may-have-more-than-a-container", "max", pod(resources=resources(amounts(cpu="4")))),
    Shape("other-resources-are-free", "max", pod(asks(disk="1Ti"))),
    Shape("at-min", "min", pod(asks(cpu="50m", memory="64Mi"))),
    Shape("request-below-min", "min", pod(asks(cpu="49m", memory="64Mi")), (BOUNDS,)),
    Shape("no-request-is-less-than-min", "min", pod(asks(cpu="50m")), (BOUNDS,)),
    Shape("nothing-at-all-is-less-than-min", "min", pod(), (BOUNDS,)),
    Shape("init-container-below-min", "min", pod(asks(cpu="1", memory="1Gi"), inits=[container("init")]), (BOUNDS,)),
    Shape("a-limit-that-is-the-request-at-min", "min", pod(capped(cpu="50m", memory="64Mi"))),
    Shape("pod-gives-what-containers-need-not", "min", pod(resources=resources(amounts(cpu="1", memory="1Gi")))),
    Shape(
        "pod-gives-cpu-and-a-container-too-little-memory",
        "min",
        pod(asks(memory="1Mi"), resources=resources(amounts(cpu="1"))),
        (BOUNDS,),
    ),
    Shape(
        "within-ratio",
        "ratio",
        pod(container(requests=amounts(cpu="1", memory="1Gi"), limits=amounts(cpu="2", memory="1536Mi"))),
    ),
    Shape(
        "beyond-ratio",
        "ratio",
        pod(container(requests=amounts(cpu="1", memory="1Gi"), limits=amounts(cpu="2001m", memory="1Gi"))),
        (BOUNDS,),
    ),
    Shape(
        "beyond-a-fractional-ratio",
        "ratio",
        pod(container(requests=amounts(cpu="1", memory="1Gi"), limits=amounts(cpu="1", memory="1537Mi"))),
        (BOUNDS,),
    ),
    Shape(
        "ratio-of-thirds",
        "ratio",
        pod(container(requests=amounts(cpu="333m", memory="3"), limits=amounts(cpu="666m", memory="4"))),
    ),
    Shape("ratio-without-a-limit", "ratio", pod(asks(cpu="1", memory="1Gi")), (BOUNDS,)),
    Shape("ratio-without-anything", "ratio", pod(), (BOUNDS,)),
    Shape(
        "ratio-of-a-request-of-zero",
        "ratio",
        pod(container(requests=amounts(cpu="0", memory="1Gi"), limits=amounts(cpu="1", memory="1Gi"))),
        (BOUNDS,),
    ),
    Shape(
        "ratio-of-zeros",
        "ratio",
        pod(container(requests=amounts(cpu="0", memory="1Gi"), limits=amounts(cpu="0", memory="1Gi"))),
        (BOUNDS,),
    ),
    Shape("ratio-of-a-limit-alone", "ratio", pod(capped(cpu="1", memory="1Gi"))),
    Shape("gpus-within-max", "gpu-bounds", pod(capped(gpu="2"))),
    Shape("gpus-above-max", "gpu-bounds", pod(capped(gpu="3")), (BOUNDS,)),
    Shape("hugepages-above-max", "hugepages", pod(capped(cpu="1", pages="6Mi")), (BOUNDS,)),
    Shape("bounds-hold-outside-of-the-scopes", "max-of-high", pod(asks(cpu="2")), (BOUNDS,)),
    Shape("bounds-hold-inside-of-the-scopes", "max-of-high", pod(asks(cpu="2"), priorityClassName="high"), (BOUNDS,)),
    Shape("audit-refuses-no-bounds", "audit", pod(asks(memory="2Gi"))),
]
_POD_BOUNDS = [
    Shape("containers-add-up-to-max", "pod-max", pod(asks("web", cpu="1"), asks("log", cpu="500m"))),
    Shape(
        "fractions-add-up-to-max",
        "pod-max",
        pod(*(asks(name, cpu=cpu) for name, cpu in (("web", "0.1"), ("log", "0.2"), ("job", "1.2")))),
    ),
    Shape("containers-add-up-to-more", "pod-max", pod(asks("web", cpu="1"), asks("log", cpu="501m")), (BOUNDS,)),
    Shape(
        "limits-add-up-to-more",
        "pod-max",
        pod(
            capped("web", memory="1Gi"),
            container("log", requests=amounts(memory="1Mi"), limits=amounts(memory="1025Mi")),
        ),
        (BOUNDS,),
    ),
    Shape("an-init-container-runs-before", "pod-max", pod(asks(cpu="1500m"), inits=[asks("init", cpu="1500m")])),
    Shape(
        "an-init-container-alone-above-max", "pod-max", pod(asks(cpu="1"), inits=[asks("init", cpu="1600m")]), (BOUNDS,)
    ),
    Shape(
        "a-sidecar-is-added",
        "pod-max",
        pod(asks(cpu="1"), inits=[sidecar("mesh", requests=amounts(cpu="600m"))]),
        (BOUNDS,),
    ),
    Shape(
        "an-init-container-before-the-sidecar",
        "pod-max",
        pod(asks(cpu="100m"), inits=[asks("init", cpu="1400m"), sidecar("mesh", requests=amounts(cpu="200m"))]),
    ),
    Shape(
        "an-init-container-beside-the-sidecar",
        "pod-max",
        pod(asks(cpu="100m"), inits=[sidecar("mesh", requests=amounts(cpu="200m")), asks("init", cpu="1400m")]),
        (BOUNDS,),
    ),
    Shape("pod-as-a-whole-above-max", "pod-max", pod(resources=resources(amounts(cpu="2"))), (BOUNDS,)),
    Shape(
        "pod-as-a-whole-replaces-the-sum",
        "pod-max",
        pod(asks("web", cpu="1"), asks("log", cpu="400m"), resources=resources(amounts(cpu="1500m"))),
    ),
    Shape("overhead-is-not-the-pods", "pod-max", pod(asks(cpu="1500m"), runtimeClassName="oracle-rc")),
    Shape("pod-at-min", "pod-min", pod(asks("web", cpu="50m"), asks("log", cpu="0.05"))),
    Shape("pod-below-min", "pod-min", pod(asks("web", cpu="50m"), asks("log", cpu="49m")), (BOUNDS,)),
    Shape("pod-that-requests-none", "pod-min", pod(asks(memory="1Gi")), (BOUNDS,)),
    Shape("pod-that-requests-none-where-zero-is-least", "pod-min-zero", pod(asks(memory="1Gi")), (BOUNDS,)),
    Shape("pod-that-requests-zero-where-zero-is-least", "pod-min-zero", pod(asks(cpu="0"))),
    Shape(
        "pod-within-ratio",
        "pod-ratio",
        pod(
            container("web", requests=amounts(memory="1Gi"), limits=amounts(memory="3Gi")), capped("log", memory="1Gi")
        ),
    ),
    Shape(
        "pod-beyond-ratio",
        "pod-ratio",
        pod(container(requests=amounts(memory="1Gi"), limits=amounts(memory="3Gi"))),
        (BOUNDS,),
    ),
    Shape("pod-without-a-limit-has-no-ratio", "pod-ratio", pod(asks(memory="1Gi")), (BOUNDS,)),
    Shape("two-quotas-bound-both", "two", pod(asks(cpu="2", memory="1Gi"))),
    Shape("two-quotas-first-refuses", "two", pod(asks(cpu="2500m")), (BOUNDS,)),
    Shape("two-quotas-second-refuses", "two", pod(asks("web", cpu="2"), asks("log", cpu="2")), (BOUNDS,)),
    Shape("two-quotas-and-defaults-of-one", "two", pod(), filled_in={"app": {"requests": amounts(cpu="100m")}}),
    Shape("of-two-quotas-one-audits", "one-of-two-audits", pod(asks(cpu="2"))),
    Shape("of-two-quotas-one-audits-and-one-refuses", "one-of-two-audits", pod(asks(cpu="3")), (BOUNDS,)),
]
_SPECIFY = [
    Shape("nothing-specified", "cpu", pod(), (SPECIFY,)),
    Shape("zero-is-specified", "cpu", pod(asks(cpu="0"))),
    Shape("another-resource-specified", "cpu", pod(asks(memory="1Gi")), (SPECIFY,)),
    Shape("one-container-is-silent", "cpu", pod(asks("web", cpu="1"), container("log")), (SPECIFY,)),
    Shape("an-init-container-is-silent", "cpu", pod(asks(cpu="1"), inits=[container("init")]), (SPECIFY,)),
    Shape("a-limit-specifies-the-request", "cpu", pod(capped(cpu="1"))),
    Shape("pod-as-a-whole-specifies", "cpu", pod(resources=resources(amounts(cpu="1")))),
    Shape(
        "pod-as-a-whole-specifies-one-of-two", "cpu-and-memory", pod(resources=resources(amounts(cpu="1"))), (SPECIFY,)
    ),
    Shape(
        "pod-and-container-specify-one-each",
        "cpu-and-memory",
        pod(asks(memory="1Gi"), resources=resources(amounts(cpu="1"))),
    ),
    Shape("request-is-no-limit", "memory-limits", pod(asks(memory="1Gi")), (SPECIFY,)),
    Shape("limit-is-specified", "memory-limits", pod(capped(memory="1Gi"))),
    Shape("pod-limit-is-specified", "memory-limits", pod(resources=resources(limits=amounts(memory="1Gi")))),
    Shape("disk-not-specified", "disk", pod(asks(cpu="1")), (SPECIFY,)),
    Shape("disk-specified", "disk", pod(asks(disk="1Gi"))),
    Shape("disk-not-specified-beside-pod-resources", "disk", pod(resources=resources(amounts(cpu="1"))), (SPECIFY,)),
    Shape("disk-limit-not-specified", "disk-limits", pod(asks(disk="1Gi")), (SPECIFY,)),
    Shape("gpus-need-not-be-specified", "gpus", pod()),
    Shape("outside-of-the-class", "cpu-of-high", pod()),
    Shape("inside-of-the-class", "cpu-of-high", pod(priorityClassName="high"), (SPECIFY,)),
    Shape("not-in-the-class", "cpu-of-others", pod(), (SPECIFY,)),
    Shape("in-the-class-that-is-left-out", "cpu-of-others", pod(priorityClassName="high")),
    Shape("with-a-deadline", "cpu-with-deadline", pod(activeDeadlineSeconds=60), (SPECIFY,)),
    Shape("without-a-deadline", "cpu-with-deadline", pod()),
    Shape("without-a-deadline-where-that-counts", "cpu-without-deadline", pod(), (SPECIFY,)),
    Shape("with-a-deadline-where-that-does-not-count", "cpu-without-deadline", pod(activeDeadlineSeconds=60)),
    Shape("best-effort", "cpu-unless-best-effort", pod()),
    Shape("zero-is-best-effort", "cpu-unless-best-effort", pod(asks(memory="0"))),
    Shape("more-than-best-effort", "cpu-unless-best-effort", pod(asks(memory="1Gi")), (SPECIFY,)),
    Shape(
        "more-than-best-effort-as-a-whole",
        "cpu-unless-best-effort",
        pod(resources=resources(amounts(memory="1Gi"))),
        (SPECIFY,),
    ),
    Shape("affinity-inside-of-the-namespace", "cpu-across-namespaces", pod(affinity=affinity())),
    Shape(
        "affinity-to-a-named-namespace",
        "cpu-across-namespaces",
        pod(affinity=affinity(namespaces=["other"])),
        (SPECIFY,),
    ),
    Shape(
        "affinity-to-all-namespaces", "cpu-across-namespaces", pod(affinity=affinity(namespaceSelector={})), (SPECIFY,)
    ),
    Shape(
        "preferred-anti-affinity",
        "cpu-across-namespaces",
        pod(affinity=preferred_anti_affinity(namespaces=["other"])),
        (SPECIFY,),
    ),
    Shape("audit-demands-nothing", "audit", pod(asks(memory="1Gi"))),
    Shape("defaults-specify", "all", pod(), filled_in={"app": _DEFAULT}),
    Shape(
        "silent-and-too-large",
        "all",
        pod(asks("web", memory="2Gi"), container("log", requests=amounts(cpu="5m", memory="3Gi"))),
        (BOUNDS,),
        filled_in={
            "web": {"requests": amounts(cpu="200m"), "limits": amounts(memory="2Gi")},
            "log": {"limits": amounts(memory="3Gi")},
        },
    ),
]

HELD: dict[str, Object] = {
    "total": pod(container("held", requests=amounts(cpu="400m", memory="512Mi"), limits=amounts(memory="1Gi"))),
    "number": pod(),
    "full": pod(),
    "gpu-total": pod(capped("held", gpu="1")),
    "default-and-total": pod(asks("held", cpu="600m")),
    "number-of-high": pod(priorityClassName="high"),
    "everything": pod(asks("held", cpu="600m")),
    "total-in-audit": pod(),
}
"""A pod that is there before, in the namespaces that have one."""


def sized(cpu: str, memory: str, **further: Any) -> Object:
    """A container whose memory is limited to what it requests."""
    return container(requests=amounts(cpu=cpu, memory=memory), limits=amounts(memory=memory), **further)


_TOTALS = [
    Shape("fills-the-total", "total", pod(sized("600m", "512Mi"))),
    Shape("one-beyond-the-total", "total", pod(sized("601m", "512Mi")), (TOTAL,)),
    Shape("memory-beyond-the-total", "total", pod(sized("100m", "513Mi")), (TOTAL,)),
    Shape(
        "limit-beyond-the-total",
        "total",
        pod(container(requests=amounts(cpu="100m", memory="1Mi"), limits=amounts(memory="1025Mi"))),
        (TOTAL,),
    ),
    Shape("silent-and-within-the-total", "total", pod(asks(cpu="100m")), (SPECIFY,)),
    Shape("silent-and-beyond-the-total", "total", pod(asks(cpu="700m")), (SPECIFY, TOTAL)),
    Shape(
        "sum-beyond-the-total",
        "total",
        pod(
            sized("400m", "1Mi"),
            container("log", requests=amounts(cpu="201m", memory="1Mi"), limits=amounts(memory="1Mi")),
        ),
        (TOTAL,),
    ),
    Shape(
        "init-container-beyond-the-total",
        "total",
        pod(
            sized("100m", "1Mi"),
            inits=[container("init", requests=amounts(cpu="601m", memory="1Mi"), limits=amounts(memory="1Mi"))],
        ),
        (TOTAL,),
    ),
    Shape(
        "init-container-that-makes-room-again",
        "total",
        pod(
            sized("100m", "1Mi"),
            inits=[container("init", requests=amounts(cpu="600m", memory="1Mi"), limits=amounts(memory="1Mi"))],
        ),
    ),
    Shape(
        "pod-as-a-whole-beyond-the-total",
        "total",
        pod(resources=resources(amounts(cpu="700m", memory="1Mi"), amounts(memory="1Mi"))),
        (TOTAL,),
    ),
    Shape("room-for-one-more", "number", pod()),
    Shape("no-room-for-one-more", "full", pod(), (COUNT,)),
    Shape("gpu-left", "gpu-total", pod(capped(gpu="1"))),
    Shape("no-gpu-left", "gpu-total", pod(capped(gpu="2")), (TOTAL,)),
    Shape("asks-for-no-gpu", "gpu-total", pod()),
    Shape(
        "a-default-counts", "default-and-total", pod(), (TOTAL,), filled_in={"app": {"requests": amounts(cpu="500m")}}
    ),
    Shape("less-than-the-default-fits", "default-and-total", pod(asks(cpu="400m"))),
    Shape("no-room-in-the-class", "number-of-high", pod(priorityClassName="high"), (COUNT,)),
    Shape("outside-of-the-full-class", "number-of-high", pod()),
    Shape("too-large-too-many-and-too-much", "everything", pod(asks(cpu="700m")), (BOUNDS, COUNT, TOTAL)),
    Shape("too-many-and-too-much", "everything", pod(asks(cpu="500m")), (COUNT, TOTAL)),
    Shape("audit-refuses-no-number", "total-in-audit", pod()),
]

SHAPES = [*_NOTHING, *_DEFAULTS, *_CONTAINER_BOUNDS, *_POD_BOUNDS, *_SPECIFY, *_TOTALS]
