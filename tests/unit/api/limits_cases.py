"""Entries of `spec.limits` and what is said about them; `native_differs` speaks of a LimitRange with these entries."""

from __future__ import annotations

from typing import Any

from tests.unit.api.case import NEGATIVE, NOT_QUANTITY, Case
from tests.unit.api.quota_cases import LONG_DOMAIN, MALFORMED_NAME

NOT_ASKED_FOR = (
    "nothing a container or claim can request: write cpu, memory, ephemeral-storage, hugepages-<size>, a name with a "
    "domain such as nvidia.com/gpu, or storage for claims; numbers of objects stand in hard"
)
PREFIXED = "takes container resource names: write it without requests. or limits."
WRONG_TYPE = (
    "storage is what a PersistentVolumeClaim asks for, and all that it asks for; containers and pods ask for the rest"
)
ONLY_CONTAINERS = "must be left out: only entries of type Container fill anything in"
NO_RATIO = "must be left out: a PersistentVolumeClaim has no limit to compare"
NO_BOUND = "an entry of type PersistentVolumeClaim must give min or max of storage"
MIN_ABOVE_MAX = "min is above max, so that nothing would be admitted: lower it, or raise max"
REQUEST_BELOW_MIN = "defaultRequest is below min, so that what is filled in would be refused: raise it to min at least"
REQUEST_ABOVE_MAX = "defaultRequest is above max, so that what is filled in would be refused: lower it to max at most"
REQUEST_ABOVE_LIMIT = (
    "defaultRequest is above default, but a request may not be above its limit: lower it, or raise default"
)
LIMIT_BELOW_MIN = "default is below min, so that what is filled in would be refused: raise it to min at least"
LIMIT_ABOVE_MAX = "default is above max, so that what is filled in would be refused: lower it to max at most"
CONTAINER_ABOVE_POD = (
    "min, defaultRequest or default of a Container is above max of the Pod that it is in, so that such a pod would be "
    "refused: lower it, or raise max of type Pod"
)
RATIO_BELOW_1 = "must be at least 1, since a limit is never below its request"
RATIO_TOO_HIGH = "is above max divided by min, so that it could never refuse anything: lower it, or leave it out"
RATIO_OF_DEFAULTS = (
    "default is more than this multiple of defaultRequest, so that what is filled in would be refused: bring the two "
    "closer together, or raise the ratio"
)
NOT_EQUAL = (
    "must stand in default too, with the same amount: limits and requests of hugepages and of extended resources are "
    "equal. default alone is enough, since it becomes the request"
)
NOT_WHOLE = "must be an integer, since pods can only ask for whole extended resources"
RATIO = "maxLimitRequestRatio"
GPU = "nvidia.com/gpu"


def _entry(type: str = "Container", **maps: dict[str, Any]) -> dict[str, Any]:
    return {"limits": [{"type": type, **maps}]}


def _refused(
    name: str, message: str, field: str, *keys: str, type: str = "Container", native_differs: str = "", **maps: Any
) -> Case:
    """Return a case of one entry in which `field` is to blame, for these names if any."""
    blamed = "[" + ", ".join(f'"{key}"' for key in keys) + "]: " if keys else ""
    problem = (f"spec.limits[0].{field}", f"{blamed}{message}")
    return Case(name, _entry(type, **maps), (problem,), native_differs=native_differs)


LIMITS = [
    Case("no entry", {"limits": []}),
    Case("an entry that says nothing", _entry()),
    Case(
        "every map, each amount where it may be",
        _entry(
            min={"cpu": "100m"},
            defaultRequest={"cpu": "200m"},
            default={"cpu": "400m"},
            max={"cpu": 1},
            maxLimitRequestRatio={"cpu": 2},
        ),
    ),
    Case(
        "all amounts the same, in different spellings",
        _entry(min={"cpu": "1000m"}, defaultRequest={"cpu": "1"}, default={"cpu": 1}, max={"cpu": "1e0"}),
    ),
    Case(
        "one entry of each type",
        {
            "limits": [
                {"type": "Container", "max": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", GPU: 1}},
                {"type": "Pod", "max": {"cpu": "2", "hugepages-2Mi": "1Gi"}, "maxLimitRequestRatio": {"memory": "1.5"}},
                {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "1Ti"}},
            ]
        },
    ),
    Case(
        "all that the bounds allow",
        {
            "limits": [
                {"type": type, field: {f"{LONG_DOMAIN}.d/{n:063}": "1." + "0" * 30 for n in range(32)}}
                | ({} if type == "Pod" else {"default": {f"{LONG_DOMAIN}.d/{n:063}": 1 for n in range(32)}})
                for type, field in (("Container", "max"), ("Pod", "min"))
            ]
        },
        native_differs="quotas take names of 317 characters, containers of 308",
    ),
    # contradictions
    _refused("min above max", MIN_ABOVE_MAX, "min", "cpu", min={"cpu": "2"}, max={"cpu": "1999m"}),
    _refused(
        "several names, each compared on its own",
        MIN_ABOVE_MAX,
        "min",
        "cpu",
        "memory",
        min={"cpu": 2, "memory": "1Gi", GPU: 1},
        max={"memory": "1G", "cpu": 1, GPU: 1},
    ),
    _refused(
        "min above max of a pod", MIN_ABOVE_MAX, "min", "memory", type="Pod", min={"memory": 2}, max={"memory": 1}
    ),
    _refused(
        "min above max of a claim",
        MIN_ABOVE_MAX,
        "min",
        "storage",
        type="PersistentVolumeClaim",
        min={"storage": "2Gi"},
        max={"storage": "2G"},
    ),
    _refused(
        "request filled in below min",
        REQUEST_BELOW_MIN,
        "defaultRequest",
        "cpu",
        min={"cpu": "200m"},
        defaultRequest={"cpu": "0.1"},
    ),
    _refused(
        "request filled in above max",
        REQUEST_ABOVE_MAX,
        "defaultRequest",
        "cpu",
        max={"cpu": 1},
        defaultRequest={"cpu": "1001m"},
    ),
    _refused(
        "request filled in above the limit filled in",
        REQUEST_ABOVE_LIMIT,
        "defaultRequest",
        "memory",
        defaultRequest={"memory": "1Gi"},
        default={"memory": "512Mi"},
    ),
    _refused(
        "limit filled in below min", LIMIT_BELOW_MIN, "default", "cpu", min={"cpu": "500m"}, default={"cpu": "400m"}
    ),
    _refused(
        "limit filled in above max", LIMIT_ABOVE_MAX, "default", "cpu", max={"cpu": "500m"}, default={"cpu": "501m"}
    ),
    Case(
        "several contradictions at once",
        _entry(min={"cpu": 3}, defaultRequest={"cpu": 2}, default={"cpu": 1}, max={"cpu": "0.5"}),
        (
            ("spec.limits[0].min", f'["cpu"]: {MIN_ABOVE_MAX}'),
            ("spec.limits[0].defaultRequest", f'["cpu"]: {REQUEST_BELOW_MIN}'),
            ("spec.limits[0].defaultRequest", f'["cpu"]: {REQUEST_ABOVE_MAX}'),
            ("spec.limits[0].defaultRequest", f'["cpu"]: {REQUEST_ABOVE_LIMIT}'),
            ("spec.limits[0].default", f'["cpu"]: {LIMIT_BELOW_MIN}'),
            ("spec.limits[0].default", f'["cpu"]: {LIMIT_ABOVE_MAX}'),
        ),
    ),
    Case(
        "a container above the pod that it is in",
        {
            "limits": [
                {"type": "Pod", "max": {"cpu": 1, "memory": "1Gi", GPU: 1}},
                {
                    "type": "Container",
                    "default": {"memory": "2Gi"},
                    "defaultRequest": {"memory": "1Gi"},
                    "min": {"cpu": "1001m"},
                    "max": {GPU: 2},
                },
            ]
        },
        (("spec.limits", CONTAINER_ABOVE_POD),),
        native_differs="it does not compare its entries",
    ),
    # ratios
    _refused("a ratio below 1", RATIO_BELOW_1, RATIO, "cpu", maxLimitRequestRatio={"cpu": "0.9"}),
    _refused("a ratio of 0", RATIO_BELOW_1, RATIO, "cpu", maxLimitRequestRatio={"cpu": 0}),
    Case(
        "a ratio of max divided by min, which floating point cannot hold",
        _entry(min={"cpu": "100m"}, max={"cpu": "110m"}, maxLimitRequestRatio={"cpu": "1.1"}),
    ),
    _refused(
        "a ratio above max divided by min",
        RATIO_TOO_HIGH,
        RATIO,
        "cpu",
        min={"cpu": "100m"},
        max={"cpu": "110m"},
        maxLimitRequestRatio={"cpu": "1.101"},
    ),
    Case("a ratio with a min of 0", _entry(min={"cpu": 0}, max={"cpu": 1}, maxLimitRequestRatio={"cpu": 9})),
    Case(
        "defaults at the ratio",
        _entry(defaultRequest={"cpu": "100m"}, default={"cpu": "110m"}, maxLimitRequestRatio={"cpu": "1.1"}),
    ),
    _refused(
        "defaults beyond the ratio",
        RATIO_OF_DEFAULTS,
        RATIO,
        "cpu",
        defaultRequest={"cpu": "100m"},
        default={"cpu": "210m"},
        maxLimitRequestRatio={"cpu": 2},
        native_differs="it refuses every pod that it fills in instead",
    ),
    _refused(
        "a default request of 0 under a ratio",
        RATIO_OF_DEFAULTS,
        RATIO,
        "cpu",
        defaultRequest={"cpu": 0},
        default={"cpu": 1},
        maxLimitRequestRatio={"cpu": 100},
        native_differs="it refuses every pod that it fills in instead",
    ),
    # what cannot be overcommitted
    Case("a limit of an extended resource alone", _entry(default={GPU: 1, "hugepages-2Mi": "4Mi"})),
    Case("equal amounts of an extended resource", _entry(default={GPU: 1}, defaultRequest={GPU: "1"}, max={GPU: 4})),
    _refused(
        "unequal amounts of extended resources and hugepages",
        NOT_EQUAL,
        "defaultRequest",
        "hugepages-2Mi",
        GPU,
        default={GPU: 2, "hugepages-2Mi": "4Mi", "cpu": 2, "x.kubernetes.io/y": 2},
        defaultRequest={GPU: 1, "hugepages-2Mi": "2Mi", "cpu": 1, "x.kubernetes.io/y": 1},
    ),
    _refused(
        "a request of an extended resource alone",
        NOT_EQUAL,
        "defaultRequest",
        GPU,
        defaultRequest={GPU: 1},
        native_differs="every pod that it fills in is invalid instead",
    ),
    Case(
        "half an extended resource",
        _entry(default={GPU: "500m"}, defaultRequest={GPU: "500m"}, max={GPU: "2.5"}),
        (
            ("spec.limits[0].default", f'["{GPU}"]: {NOT_WHOLE}'),
            ("spec.limits[0].defaultRequest", f'["{GPU}"]: {NOT_WHOLE}'),
        ),
        native_differs="every pod that it fills in is invalid instead",
    ),
    # what goes with which type
    *(
        _refused(f"{field} of a pod", ONLY_CONTAINERS, field, type="Pod", **{field: {"cpu": 1}})
        for field in ("default", "defaultRequest")
    ),
    *(
        _refused(
            f"{field} of a claim",
            ONLY_CONTAINERS,
            field,
            type="PersistentVolumeClaim",
            max={"storage": "1Gi"},
            native_differs="it takes and never applies it",
            **{field: {"storage": "1Gi"}},
        )
        for field in ("default", "defaultRequest")
    ),
    Case("empty maps where none belongs", _entry("Pod", default={}, defaultRequest={})),
    _refused(
        "a ratio of a claim",
        NO_RATIO,
        RATIO,
        type="PersistentVolumeClaim",
        max={"storage": "1Gi"},
        maxLimitRequestRatio={"storage": 2},
        native_differs="it takes and never applies it",
    ),
    Case("a claim without bounds", _entry("PersistentVolumeClaim"), (("spec.limits[0]", NO_BOUND),)),
    _refused(
        "cpu of a claim",
        WRONG_TYPE,
        "max",
        "cpu",
        type="PersistentVolumeClaim",
        max={"storage": "1Gi", "cpu": 1},
        native_differs="it refuses every claim instead",
    ),
    _refused("storage of a container", WRONG_TYPE, "max", "storage", max={"storage": "1Gi"}),
    Case(
        "an unknown type",
        _entry("Image"),
        (("spec.limits[0].type", 'must be one of Container, PersistentVolumeClaim, Pod, not "Image"'),),
        (
            (
                "spec.limits[0].type",
                'Unsupported value: "Image": supported values: "Container", "PersistentVolumeClaim", "Pod"',
            ),
        ),
    ),
    Case(
        "an entry without a type",
        {"limits": [{"max": {"cpu": 1}}]},
        (("spec.limits[0].type", "is required"),),
        (("spec.limits[0].type", "Required value"),),
    ),
    Case(
        "two entries of a type",
        {"limits": [{"type": "Pod", "max": {"cpu": 1}}, {"type": "Pod", "min": {"cpu": 1}}]},
        (("spec.limits[1]", 'there is an entry with type "Pod" already: put both into one'),),
        (("spec.limits[1]", 'Duplicate value: {"type":"Pod"}'),),
    ),
    Case(
        "four entries",
        {"limits": [{"type": type} for type in ("Container", "Pod", "PersistentVolumeClaim", "Container")]},
        (
            ("spec.limits", "must have at most 3 entries"),
            ("spec.limits[3]", 'there is an entry with type "Container" already: put both into one'),
        ),
        (
            ("spec.limits", "Too many: 4: must have at most 3 items"),
            ("spec.limits[3]", 'Duplicate value: {"type":"Container"}'),
        ),
    ),
    # names and amounts
    *(
        _refused(f"the name {name}", NOT_ASKED_FOR, "max", name, max={name: 1})
        for name in ("pods", "gpu", "services.nodeports")
    ),
    _refused("a name of a quota", PREFIXED, "min", "requests.cpu", min={"requests.cpu": 1}),
    _refused("a name of a quota with a domain", PREFIXED, "max", f"requests.{GPU}", max={f"requests.{GPU}": 1}),
    _refused(
        "a name of limits with a domain",
        PREFIXED,
        "max",
        f"limits.{GPU}",
        max={f"limits.{GPU}": 1},
        native_differs="it could be the name of an extended resource",
    ),
    _refused("a malformed name", MALFORMED_NAME, "default", "a/b/c", default={"a/b/c": 1}),
    Case("a name of Kubernetes itself", _entry(max={"attachable.kubernetes.io/x": 1})),
    Case(
        "amounts that are none",
        _entry(min={"cpu": "-1"}, max={"cpu": "many"}),
        (("spec.limits[0].min[cpu]", NEGATIVE), ("spec.limits[0].max[cpu]", NOT_QUANTITY)),
    ),
    Case(
        "a negative amount",
        _entry(min={"cpu": "-1"}),
        (("spec.limits[0].min[cpu]", NEGATIVE),),
        native_differs="it takes it, without effect",
    ),
    Case(
        "thirty-three names",
        _entry(max={f"example.com/r{n}": 1 for n in range(33)}),
        (("spec.limits[0].max", "must have at most 32 entries"),),
        (("spec.limits[0].max", "Too many: 33: must have at most 32 items"),),
        native_differs="it is not bounded",
    ),
]

ENFORCEMENT = [
    Case("enforced", {"enforcement": "Enforce"}),
    Case("only watched", {"enforcement": "Audit"}),
    Case(
        "an unknown enforcement",
        {"enforcement": "audit"},
        (("spec.enforcement", 'must be one of Audit, Enforce, not "audit"'),),
        (("spec.enforcement", 'Unsupported value: "audit": supported values: "Audit", "Enforce"'),),
    ),
]
