"""Specs of NamespaceQuota and what is said about them."""

from __future__ import annotations

from typing import Any

from tests.unit.api.case import NEGATIVE, NOT_QUANTITY, Case

UNKNOWN_NAME = (
    "not a name that quotas know. Without a domain these are: cpu, memory, ephemeral-storage (also with requests. or "
    "limits. in front), requests.storage, hugepages-<size>, pods, services, services.loadbalancers, "
    "services.nodeports, configmaps, secrets, persistentvolumeclaims, replicationcontrollers, resourcequotas; all "
    "others carry one, such as requests.nvidia.com/gpu or count/deployments.apps"
)
MALFORMED_NAME = (
    "not a valid resource name: at most one slash, a lower-case DNS name of at most 253 characters before it, and at "
    "most 63 letters, digits, '-', '_' and '.' after it"
)
NOT_INTEGER = "must be an integer, since this counts whole objects"
TOO_LARGE = "is too large: Kubernetes counts up to 9223372036854775807, which is just below 8Ei"
MISFIT = (
    "cannot be counted under these scopes. BestEffort goes with pods only; VolumeAttributesClass with "
    "persistentvolumeclaims and requests.storage; every other scope with pods, cpu and memory (also with requests. or "
    "limits. in front). Names with a domain go with any scope"
)
CONTRADICTION = "BestEffort with NotBestEffort, or Terminating with NotTerminating, selects nothing: give one of them"
EXISTS_ONLY = "must be Exists: only PriorityClass and VolumeAttributesClass take another operator"
SCOPE_NAMES = (
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
)
STANDARD_NAMES = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
    "hugepages-2Mi",
    "requests.hugepages-1Gi",
]
"""The fixed list of `pkg/apis/core/helper` in Kubernetes v1.36."""
_POD_NAMES = {"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
_NAMES_OF = {"BestEffort": {"pods"}, "VolumeAttributesClass": {"persistentvolumeclaims", "requests.storage"}}
FORBIDDEN = [
    (scope, name) for scope in SCOPE_NAMES for name in STANDARD_NAMES if name not in _NAMES_OF.get(scope, _POD_NAMES)
]
"""Every scope with every standard name that does not go with it (`IsResourceQuotaScopeValidForResource`)."""
QUALIFIED_NAMES = [
    "requests.nvidia.com/gpu",
    "count/pods",
    "count/deployments.apps",
    "count/widgets.example.com",
    "gold.storageclass.storage.k8s.io/requests.storage",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
    "gpu.deviceclass.resource.k8s.io/devices",
    "requests.deviceclass.resource.kubernetes.io/gpu",
    "nvidia.com/gpu",
    "count/services.loadbalancers",
]
LONG_DOMAIN = ".".join(["d" * 62] * 4)


def _bad_value(value: Any, message: str, name: str = "requests.cpu") -> dict[str, Any]:
    return {"spec": {"hard": {name: value}}, "problems": ((f"spec.hard[{name}]", message),)}


def _selector(*expressions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**spec, "scopeSelector": {"matchExpressions": list(expressions)}}


def _scope(name: str, operator: str = "Exists", **values: Any) -> dict[str, Any]:
    return {"scopeName": name, "operator": operator, **values}


_EXPRESSION = "spec.scopeSelector.matchExpressions"

QUOTAS = [
    Case("an empty spec", {}),
    Case("every standard name", {"hard": dict.fromkeys(STANDARD_NAMES, 1)}),
    Case(
        "names with a domain, also those that native quotas accept but never count",
        {"hard": dict.fromkeys(QUALIFIED_NAMES, 1)},
    ),
    Case("a hundred names", {"hard": {f"count/things{n}.example.com": n for n in range(100)}}),
    Case("the longest name", {"hard": {f"{LONG_DOMAIN}.d/{'n' * 63}": 1}}),
    Case(
        "all that the bounds allow",
        {
            "hard": {f"{LONG_DOMAIN}.d/{n:063}": "1." + "0" * 30 for n in range(100)},
            "scopes": ["Terminating"] * 20,
            "scopeSelector": {
                "matchExpressions": [
                    {"scopeName": "PriorityClass", "operator": "NotIn", "values": [f"{n:0253}" for n in range(100)]}
                ]
                * 20
            },
        },
    ),
    Case("integers and strings", {"hard": {"pods": 3, "services": "4", "cpu": "1.5", "memory": "64Gi"}}),
    Case("zero", {"hard": {"pods": 0, "cpu": "0", "memory": "-0"}}),
    Case("other spellings", {"hard": {"cpu": "+5", "memory": "2.5e9", "limits.cpu": ".5", "limits.memory": "0010"}}),
    Case(
        "the largest amounts",
        {"hard": {"cpu": "9223372036854775807", "memory": "7Ei", "services": 9223372036854775807}},
    ),
    Case(
        "whole numbers in any spelling",
        {"hard": {"pods": "2000m", "services": "1.0", "count/jobs.batch": "2k"}},
    ),
    Case("fractions of an extended resource", {"hard": {"requests.example.com/fpga": "1500m"}}),
    Case(
        "per-class storage beyond 9Pi",
        {"hard": {"gold.storageclass.storage.k8s.io/requests.storage": "10Pi"}},
        native_differs="its test for integers overflows (kubernetes/kubernetes#88965)",
    ),
    Case("unknown name without domain", {"hard": {"gpu": 1}}, (("spec.hard", f'["gpu"]: {UNKNOWN_NAME}'),)),
    Case(
        "limits of hugepages",
        {"hard": {"limits.hugepages-2Mi": "1Gi"}},
        (("spec.hard", f'["limits.hugepages-2Mi"]: {UNKNOWN_NAME}'),),
    ),
    Case("storage without requests", {"hard": {"storage": "1Gi"}}, (("spec.hard", f'["storage"]: {UNKNOWN_NAME}'),)),
    Case("two slashes", {"hard": {"a/b/c": 1}}, (("spec.hard", f'["a/b/c"]: {MALFORMED_NAME}'),)),
    Case(
        "domain in capitals",
        {"hard": {"requests.Nvidia.com/gpu": 1}},
        (("spec.hard", f'["requests.Nvidia.com/gpu"]: {MALFORMED_NAME}'),),
    ),
    Case(
        "name of 64 characters", {"hard": {f"a/{'n' * 64}": 1}}, (("spec.hard", f'["a/{"n" * 64}"]: {MALFORMED_NAME}'),)
    ),
    Case(
        "empty name",
        {"hard": {"": 1}},
        (("spec.hard", f'[""]: {UNKNOWN_NAME}'), ("spec.hard", f'[""]: {MALFORMED_NAME}')),
    ),
    Case("half a pod", {"hard": {"pods": "1.5"}}, (("spec.hard", f'["pods"]: {NOT_INTEGER}'),)),
    Case(
        "half an object",
        {"hard": {"count/jobs.batch": "500m"}},
        (("spec.hard", f'["count/jobs.batch"]: {NOT_INTEGER}'),),
    ),
    Case("negative text", **_bad_value("-1", NEGATIVE)),
    Case("negative integer", **_bad_value(-1, NEGATIVE)),
    Case("negative pods", **_bad_value("-500m", NEGATIVE, "memory")),
    Case("not a quantity", **_bad_value("lots", NOT_QUANTITY)),
    Case("fraction in the exponent", **_bad_value("1e1.5", NOT_QUANTITY)),
    Case("suffix without a number", **_bad_value("Ki", NOT_QUANTITY), native_differs="it reads it as 0"),
    Case("empty value", **_bad_value("", NOT_QUANTITY)),
    Case("suffix with a blank", **_bad_value("1 Gi", NOT_QUANTITY, "memory")),
    Case(
        "text beyond int64",
        **_bad_value("9223372036854775808", TOO_LARGE),
        native_differs="it is silently cut to int64",
    ),
    Case("8Ei", **_bad_value("8Ei", TOO_LARGE, "memory"), native_differs="it is silently cut to int64"),
    Case("absurd exponent", **_bad_value("1e400", TOO_LARGE), native_differs="it is silently cut to int64"),
    Case("absurd negative exponent", **_bad_value("-1e400", NEGATIVE)),
    Case(
        "several faults at once",
        {"hard": {"pods": "1.5", "gpu": 1, "requests.cpu": "-1", "limits.cpu": "x"}},
        (
            ("spec.hard", f'["gpu"]: {UNKNOWN_NAME}'),
            ("spec.hard", f'["pods"]: {NOT_INTEGER}'),
            ("spec.hard[requests.cpu]", NEGATIVE),
            ("spec.hard[limits.cpu]", NOT_QUANTITY),
        ),
    ),
    Case(
        "bare fraction",
        {"hard": {"cpu": 0.5}},
        (("spec.hard[cpu]", 'must be an integer or a string, not 0.5; quote it: "0.5"'),),
        (("spec.hard.cpu", 'Invalid value: "number": spec.hard.cpu in body must be of type integer,string: "number"'),),
        native_differs="only built-in kinds read bare fractions",
    ),
    Case(
        "bare integer beyond int64",
        {"hard": {"memory": 9223372036854775808}},
        (("spec.hard[memory]", "9223372036854775808 is too large: a bare integer is at most 9223372036854775807"),),
        (
            (
                "spec.hard.memory",
                'Invalid value: "number": spec.hard.memory in body must be of type integer,string: "number"',
            ),
        ),
        native_differs="it is silently cut to int64",
    ),
    Case(
        "value of 33 characters",
        {"hard": {"cpu": "1" + "0" * 32}},
        (("spec.hard[cpu]", "may not be longer than 32 characters"),),
        (("spec.hard.cpu", "Too long: may not be more than 32 bytes"),),
        native_differs="it is not bounded",
    ),
    Case(
        "hundred and one names",
        {"hard": {f"count/things{n}.example.com": n for n in range(101)}},
        (("spec.hard", "must have at most 100 entries"),),
        (("spec.hard", "Too many: 101: must have at most 100 items"),),
        native_differs="it is not bounded",
    ),
    Case(
        "hard as a list",
        {"hard": ["cpu"]},
        (("spec.hard", 'must be of type object, not ["cpu"]'),),
        (("spec.hard", 'Invalid value: "array": spec.hard in body must be of type object: "array"'),),
    ),
    Case(
        "unknown field",
        {"hrad": {}},
        (("spec.hrad", "unknown field; did you mean hard?"),),
        (
            (
                "",
                'NamespaceQuota in version "v1alpha1" cannot be handled as a NamespaceQuota: '
                'strict decoding error: unknown field "spec.hrad"',
            ),
        ),
    ),
    # scopes
    *(
        Case(f"scope {scope} with what it goes with", {"scopes": [scope], "hard": {"pods": 1, "count/jobs.batch": 1}})
        for scope in SCOPE_NAMES
        if scope != "VolumeAttributesClass"
    ),
    *(
        Case(
            f"scope {scope} with cpu and memory",
            {"scopes": [scope], "hard": dict.fromkeys(["cpu", "memory", "requests.cpu", "limits.memory"], 1)},
        )
        for scope in SCOPE_NAMES
        if scope not in ("BestEffort", "VolumeAttributesClass")
    ),
    Case(
        "claims of a class",
        {"scopes": ["VolumeAttributesClass"], "hard": {"persistentvolumeclaims": 1, "requests.storage": "1Gi"}},
    ),
    *(
        Case(
            f"{name} under {scope}", {"scopes": [scope], "hard": {name: 1}}, (("spec.scopes", f'["{name}"]: {MISFIT}'),)
        )
        for scope, name in FORBIDDEN
    ),
    *(
        Case(
            f"{name} under {scope} in the selector",
            _selector(_scope(scope), hard={name: 1}),
            (("spec.scopeSelector", f'["{name}"]: {MISFIT}'),),
        )
        for scope, name in FORBIDDEN
        if scope.endswith("Class")
    ),
    Case(
        "names with a domain under any scope",
        {
            "scopes": ["VolumeAttributesClass"],
            "hard": {"gold.storageclass.storage.k8s.io/requests.storage": 1, "requests.x.com/gpu": 1, "count/pods": 1},
        },
    ),
    Case(
        "unknown scope",
        {"scopes": ["Terminatin"]},
        (("spec.scopes[0]", f'must be one of {", ".join(SCOPE_NAMES)}, not "Terminatin"'),),
        (
            (
                "spec.scopes[0]",
                'Unsupported value: "Terminatin": supported values: ' + ", ".join(f'"{name}"' for name in SCOPE_NAMES),
            ),
        ),
    ),
    Case(
        "cpu of pods without requests",
        {"scopes": ["BestEffort"], "hard": {"requests.cpu": 1}},
        (("spec.scopes", f'["requests.cpu"]: {MISFIT}'),),
    ),
    Case(
        "hugepages under a scope",
        {"scopes": ["NotTerminating"], "hard": {"hugepages-2Mi": "1Gi"}},
        (("spec.scopes", f'["hugepages-2Mi"]: {MISFIT}'),),
    ),
    Case(
        "local storage under PriorityClass, though the documentation lists it",
        {"scopes": ["PriorityClass"], "hard": {"ephemeral-storage": 1}},
        (("spec.scopes", f'["ephemeral-storage"]: {MISFIT}'),),
    ),
    Case(
        "pods under a scope of claims",
        {"scopes": ["VolumeAttributesClass"], "hard": {"pods": 1}},
        (("spec.scopes", f'["pods"]: {MISFIT}'),),
    ),
    Case(
        "scopes that exclude each other",
        {"scopes": ["Terminating", "NotTerminating"], "hard": {"pods": 1}},
        (("spec.scopes", CONTRADICTION),),
    ),
    Case(
        "qualities that exclude each other",
        {"scopes": ["BestEffort", "NotBestEffort"]},
        (("spec.scopes", CONTRADICTION),),
    ),
    Case(
        "a scope and its opposite across the two fields, which native quotas accept",
        _selector(_scope("NotTerminating"), scopes=["Terminating"]),
    ),
    # scope selector
    Case(
        "two classes",
        _selector(_scope("PriorityClass", "In", values=["high", "critical"]), hard={"pods": 10, "requests.cpu": "4"}),
    ),
    Case("all but one class", _selector(_scope("PriorityClass", "NotIn", values=["low"]))),
    Case("pods without a class", _selector(_scope("PriorityClass", "DoesNotExist"))),
    Case("any class, with an empty list of values", _selector(_scope("PriorityClass", "Exists", values=[]))),
    Case("an empty selector", {"scopeSelector": {}}),
    Case(
        "In without values",
        _selector(_scope("PriorityClass", "In")),
        ((f"{_EXPRESSION}[0].values", "must name at least one class when the operator is In or NotIn"),),
    ),
    Case(
        "NotIn with an empty list",
        _selector(_scope("PriorityClass", "NotIn", values=[])),
        ((f"{_EXPRESSION}[0].values", "must name at least one class when the operator is In or NotIn"),),
    ),
    Case(
        "Exists with values",
        _selector(_scope("PriorityClass", "Exists", values=["a"])),
        ((f"{_EXPRESSION}[0].values", "must be empty when the operator is Exists or DoesNotExist"),),
    ),
    *(
        Case(
            f"{scope} In a list",
            _selector(_scope(scope, "In", values=["a"])),
            ((f"{_EXPRESSION}[0].operator", EXISTS_ONLY),),
        )
        for scope in SCOPE_NAMES
        if not scope.endswith("Class")
    ),
    Case(
        "Terminating does not exist",
        _selector(_scope("Terminating", "DoesNotExist")),
        ((f"{_EXPRESSION}[0].operator", EXISTS_ONLY),),
    ),
    Case(
        "a class that is in a list and one that is in none",
        _selector(
            _scope("VolumeAttributesClass", "In", values=["gold"]),
            _scope("VolumeAttributesClass", "NotIn", values=["silver"]),
            hard={"persistentvolumeclaims": 1},
        ),
    ),
    Case(
        "claims without a class",
        _selector(_scope("VolumeAttributesClass", "DoesNotExist"), hard={"requests.storage": "1Gi"}),
    ),
    Case(
        "deadlines that exclude each other",
        _selector(_scope("Terminating"), _scope("NotTerminating")),
        ((_EXPRESSION, CONTRADICTION),),
    ),
    Case(
        "expressions that exclude each other",
        _selector(_scope("BestEffort"), _scope("NotBestEffort")),
        ((_EXPRESSION, CONTRADICTION),),
    ),
    Case(
        "a selector and names that do not go with it",
        _selector(_scope("BestEffort"), _scope("PriorityClass"), hard={"memory": 1}),
        (("spec.scopeSelector", f'["memory"]: {MISFIT}'),),
    ),
    Case(
        "an unknown operator",
        _selector(_scope("PriorityClass", "Is")),
        ((f"{_EXPRESSION}[0].operator", 'must be one of DoesNotExist, Exists, In, NotIn, not "Is"'),),
        (
            (
                f"{_EXPRESSION}[0].operator",
                'Unsupported value: "Is": supported values: "DoesNotExist", "Exists", "In", "NotIn"',
            ),
        ),
    ),
    Case(
        "an expression without an operator",
        _selector({"scopeName": "BestEffort"}),
        ((f"{_EXPRESSION}[0].operator", "is required"),),
        ((f"{_EXPRESSION}[0].operator", "Required value"),),
    ),
    # buffers
    *(
        Case(
            f"buffers {value}",
            {"hard": {"pods": 1}, "buffers": value},
            native_differs="a ResourceQuota knows no buffers",
        )
        for value in ("Count", "Ignore")
    ),
    Case(
        "buffers of another word",
        {"buffers": "Yield"},
        (("spec.buffers", 'must be one of Count, Ignore, not "Yield"'),),
        (("spec.buffers", 'Unsupported value: "Yield": supported values: "Count", "Ignore"'),),
    ),
]
