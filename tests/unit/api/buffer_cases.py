"""Specs of CapacityBuffer and what is said about them."""

from __future__ import annotations

from typing import Any

from tests.unit.api.case import NEGATIVE, NOT_QUANTITY, Case
from tests.unit.api.sizing_cases import SIZINGS

RATE = (
    'is not a rate: write pods per second as a number, such as 2 or "0.5", or with a unit of time, such as "120/m" or '
    '"90/h"; at most 9 digits before and after the point; or Measured'
)
DURATION = "is not a duration: write a number and a unit (ms, s, m, h), such as 30s, 1m30s or 500ms"
DURATION_OR_MEASURED = f"{DURATION}; or Measured"
NO_COLD_START = "must be more than zero: without a cold start nothing needs to stand ready"
NEEDS_SIZE = "a buffer with podTemplateRef needs a size: give sizing, replicas or limits"
ONE_SHAPE = "give one of podTemplateRef, scalableRef and selector: each sets the shape of a unit"
NO_LABEL = "must ask for at least one label: an empty selector would take all pods of the namespace"
LABEL_VALUE = "not a label value: letters, digits, '-', '_' and '.', the first and last a letter or digit"
LABEL_KEY = (
    "not a label key: an optional lower-case DNS name and a slash, then at most 63 letters, digits, '-', '_' and '.'"
)
REFILL = 'is not a refill: write Always, None, or how many units to make anew in an hour, such as "20/h"'
CRON = (
    'is not a schedule: write minute, hour, day of the month, month and day of the week, such as "0 8 * * 1-5"; '
    "names in capitals, and no seconds"
)
NOT_CRON = (
    *("60 * * * *", "* * * *", "0 24 * * *", "0 0 32 * *", "0 0 1 13 *", "0 0 * * 8", "@daily", ""),
    *("0 8 * * mon", "*/0 * * * *", "0  8 * * *", "0 0 0 8 * *"),
)
ZONE = "is not a time zone: write its IANA name, such as Europe/Berlin or Etc/UTC"
INSTANCE_TYPE = "is not an instance type of EC2: write its name, such as m5.large"
NODES = {"instanceType": "u7i-12tb.224xlarge"}
FLAGS = ("dedicated", "preloadImages")
TEMPLATE = {"podTemplateRef": {"name": "unit"}}
WORKLOAD = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}
PODS = {"selector": {"matchLabels": {"app": "web"}}}
_EXPRESSION = "spec.selector.matchExpressions[0]"
_KEY = f"{_EXPRESSION}.key"


def _expression(expression: dict[str, Any]) -> dict[str, Any]:
    return {"selector": {"matchExpressions": [expression]}}


def _sizing(rate: Any = 2, resume: Any = "30s", cold: Any = "90s") -> dict[str, Any]:
    return {"sizing": {"scaleUpRate": rate, "standbyResumeLatency": resume, "coldNodeLatency": cold}}


def _schedule(**fields: Any) -> dict[str, Any]:
    return {"schedules": [{"schedule": "0 20 * * *", "duration": "10h", "replicas": 0} | fields]}


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _at_sizing(field: str, message: str) -> tuple[tuple[str, str], ...]:
    return ((f"spec.sizing.{field}", message),)


def _limits(name: str, value: Any, *problems: tuple[str, str]) -> dict[str, Any]:
    return {"spec": {**WORKLOAD, "limits": {name: value}}, "problems": problems}


def _not_text(field: str, value: int) -> dict[str, Any]:
    path = f"spec.sizing.{field}"
    return {
        "problems": ((path, f"must be of type string, not {value}"),),
        "server": ((path, f'Invalid value: "integer": {path} in body must be of type string: "integer"'),),
    }


BUFFERS = [
    *SIZINGS,
    Case("neither a shape nor a size", {}),
    Case("the hybrid of the documentation", {**WORKLOAD, **_sizing()}),
    Case(
        "everything",
        {**WORKLOAD, **_sizing(), "replicas": 10, "percentage": 20, "limits": {"cpu": "400", "memory": "1Ti"}},
    ),
    Case("a template with replicas", {**TEMPLATE, "replicas": 3}),
    Case("a template with limits", {**TEMPLATE, "limits": {"cpu": 4}}),
    Case("a template with sizing", {**TEMPLATE, **_sizing()}),
    Case("a workload alone", WORKLOAD),
    Case("a workload without a group", {"scalableRef": {"kind": "ReplicationController", "name": "web"}}),
    Case("a template alone", TEMPLATE, (("spec", NEEDS_SIZE),)),
    Case("a template with a percentage", {**TEMPLATE, "percentage": 20}, (("spec", NEEDS_SIZE),)),
    Case("two shapes", {**TEMPLATE, **WORKLOAD, "replicas": 1}, (("spec", ONE_SHAPE),)),
    Case(
        "a template without a name",
        {"podTemplateRef": {}, "replicas": 1},
        (("spec.podTemplateRef.name", "is required"),),
        (("spec.podTemplateRef.name", "Required value"),),
    ),
    Case(
        "a template with an empty name",
        {"podTemplateRef": {"name": ""}, "replicas": 1},
        (("spec.podTemplateRef.name", "must not be empty"),),
        (
            (
                "spec.podTemplateRef.name",
                'Invalid value: "": spec.podTemplateRef.name in body should be at least 1 chars long',
            ),
        ),
    ),
    # selector
    Case("a selector alone", PODS),
    Case("a selector with a percentage", {**PODS, "percentage": 20}),
    *(
        Case(f"a selector by {operator}", _expression({"key": "a.io/app", "operator": operator, **values}))
        for operator, values in (
            ("In", {"values": ["a", ""]}),
            ("NotIn", {"values": ["a_b.c-d"]}),
            ("Exists", {}),
            ("DoesNotExist", {"values": []}),
        )
    ),
    *(
        Case(f"a selector by {operator} with {values}", spec, ((_EXPRESSION + ".values", message),))
        for operator, values, message in (
            ("In", [], "must name at least one value when the operator is In or NotIn"),
            ("Exists", ["a"], "must be empty when the operator is Exists or DoesNotExist"),
        )
        for spec in [_expression({"key": "app", "operator": operator, "values": values})]
    ),
    *(
        Case(f"an expression with the key {key}", _expression({"key": key, "operator": "Exists"}), ((_KEY, LABEL_KEY),))
        for key in ("a/b/c", "-app")
    ),
    *(
        Case(f"an empty selector {text}", {"selector": text}, (("spec.selector", NO_LABEL),))
        for text in ({}, {"matchLabels": {}}, {"matchExpressions": []})
    ),
    *(
        Case(
            f"a selector with the key {key}",
            {"selector": {"matchLabels": {key: "a"}}},
            (("spec.selector.matchLabels", f'["{key}"]: {LABEL_KEY}'),),
        )
        for key in ("a/b/c", "A.io/app", "-app", "a" * 64)
    ),
    *(
        Case(
            f"a selector with {value!r}",
            {"selector": {"matchLabels": {"app": value}}},
            (("spec.selector.matchLabels[app]", LABEL_VALUE),),
        )
        for value in ("a b", "-a")
    ),
    *(
        Case(f"a selector and {name}", {**PODS, **other, "replicas": 1}, (("spec", ONE_SHAPE),))
        for name, other in (("a template", TEMPLATE), ("a workload", WORKLOAD))
    ),
    # priority
    *(Case(f"priority {value}", {**WORKLOAD, "priority": value}) for value in (-1000000000, 0, 1000000000)),
    Case(
        "a priority too high",
        {**WORKLOAD, "priority": 1000000001},
        (("spec.priority", "must be at most 1000000000"),),
        (
            (
                "spec.priority",
                "Invalid value: 1000000001: spec.priority in body should be less than or equal to 1000000000",
            ),
        ),
    ),
    # sizing
    *(
        Case(f"rate {rate!r}", {**WORKLOAD, **_sizing(rate=rate)})
        for rate in (0, 2, "2", "0.5", "120/m", "0.25/s", "90/h", "999999999", 999999999)
    ),
    *(
        Case(f"rate {rate!r}", {**WORKLOAD, **_sizing(rate=rate)}, _at_sizing("scaleUpRate", RATE))
        for rate in ("fast", "500m", "2 /s", "2/d", ".5", "2.", "", "1e3", 1000000000, "1234567890")
    ),
    *(
        Case(f"rate {rate!r}", {**WORKLOAD, **_sizing(rate=rate)}, _at_sizing("scaleUpRate", NEGATIVE))
        for rate in (-1, "-0.5/m")
    ),
    Case(
        "bare fraction as rate",
        {**WORKLOAD, **_sizing(rate=0.5)},
        _at_sizing("scaleUpRate", 'must be an integer or a string, not 0.5; quote it: "0.5"'),
        _at_sizing(
            "scaleUpRate",
            'Invalid value: "number": spec.sizing.scaleUpRate in body must be of type integer,string: "number"',
        ),
    ),
    *(
        Case(f"latencies {resume} and {cold}", {**WORKLOAD, **_sizing(resume=resume, cold=cold)})
        for resume, cold in [
            ("0s", "90s"),
            ("0", "1ms"),
            ("500ms", "1m30s"),
            ("1.5s", "1h2m3.5s"),
            ("90s", "30s"),
            ("24h", "24h"),
            ("300000ms", "1ns"),
        ]
    ),
    *(
        Case(
            f"resume {text!r}",
            {**WORKLOAD, **_sizing(resume=text)},
            _at_sizing("standbyResumeLatency", DURATION_OR_MEASURED),
        )
        for text in ("30", "soon", "", "s", "1d", "30 s", "1m 30s", "+30s", "PT30S", "123456s")
    ),
    *(
        Case(f"cold {text!r}", {**WORKLOAD, **_sizing(cold=text)}, _at_sizing("coldNodeLatency", NO_COLD_START))
        for text in ("0", "0s", "0m0.0s")
    ),
    Case("negative resume", {**WORKLOAD, **_sizing(resume="-30s")}, _at_sizing("standbyResumeLatency", NEGATIVE)),
    Case("negative cold", {**WORKLOAD, **_sizing(cold="-1m30s")}, _at_sizing("coldNodeLatency", NEGATIVE)),
    Case(
        "more than a day", {**WORKLOAD, **_sizing(cold="24h1s")}, _at_sizing("coldNodeLatency", "must be at most 24h")
    ),
    Case("seconds without a unit", {**WORKLOAD, **_sizing(cold=90)}, **_not_text("coldNodeLatency", 90)),
    Case(
        "sizing without a latency",
        {**WORKLOAD, "sizing": {"scaleUpRate": 2, "standbyResumeLatency": "30s"}},
        _at_sizing("coldNodeLatency", "is required"),
        _at_sizing("coldNodeLatency", "Required value"),
    ),
    # counts
    *(
        Case(f"{field} {value}", {**WORKLOAD, field: value})
        for field in ("replicas", "percentage")
        for value in (0, 250, 2147483647)
    ),
    *(
        Case(
            f"negative {field}",
            {**WORKLOAD, field: -1},
            ((f"spec.{field}", "must be at least 0"),),
            ((f"spec.{field}", f"Invalid value: -1: spec.{field} in body should be greater than or equal to 0"),),
        )
        for field in ("replicas", "percentage")
    ),
    Case(
        "percentage beyond int32",
        {**WORKLOAD, "percentage": 2147483648},
        (("spec.percentage", "must be at most 2147483647"),),
        (
            (
                "spec.percentage",
                "Invalid value: 2147483648: spec.percentage in body should be less than or equal to 2147483647",
            ),
        ),
    ),
    # limits
    *(
        Case(f"limits of {name}", **_limits(name, 4))
        for name in ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu")
    ),
    Case("limits of nothing", **_limits("cpu", 0)),
    Case(
        "no limits at all",
        {**WORKLOAD, "limits": {}},
        (("spec.limits", 'must name at least one resource, such as cpu: "400"; leave limits out for no cap'),),
    ),
    Case("negative limits", **_limits("cpu", "-1", ("spec.limits[cpu]", NEGATIVE))),
    Case("limits that do not parse", **_limits("cpu", "four", ("spec.limits[cpu]", NOT_QUANTITY))),
    *(
        Case(f"limits with the key {name}", **_limits(name, 4, ("spec.limits", f'["{name}"]: {message}')))
        for message, names in [
            (
                "limits caps the sum of what the units request, not their number: give the number as replicas",
                ("pods", "count/pods"),
            ),
            (
                "limits caps requests and takes container resource names: write it without requests. or limits.",
                ("requests.cpu", "limits.memory", "requests.nvidia.com/gpu"),
            ),
            (
                "nothing a container can request: write cpu, memory, ephemeral-storage, hugepages-<size> or a name "
                "with a domain, such as nvidia.com/gpu",
                ("gpu", "storage", "services"),
            ),
        ]
        for name in names
    ),
    # strategy
    *(
        Case(f"strategy {text!r}", {**WORKLOAD, "replicas": 1, "provisioningStrategy": text})
        for text in ("buffer.x-k8s.io/active-capacity", "buffer.gke.io/standby-capacity", "", "example.com/other")
    ),
    # backends
    *(Case(f"backend {name}", {**WORKLOAD, "backend": name}) for name in ("Auto", "Autoscaler", "Placeholder", "None")),
    *(
        Case(
            f"unknown {field}",
            {**WORKLOAD, field: "Other"},
            ((f"spec.{field}", f'must be one of {", ".join(known)}, not "Other"'),),
            ((f"spec.{field}", f'Unsupported value: "Other": supported values: {_quoted(known)}'),),
        )
        for field, known in (
            ("backend", ("Auto", "Autoscaler", "None", "Placeholder")),
            ("standbyFallback", ("Active", "None")),
            ("placement", ("Pack", "Spread", "Template")),
        )
    ),
    *(Case(f"{field} {value}", {**WORKLOAD, field: value}) for field in FLAGS for value in (True, False)),
    *(
        Case(
            f"{field} as text",
            {**WORKLOAD, field: "true"},
            ((f"spec.{field}", 'must be of type boolean, not "true"'),),
            (
                (
                    f"spec.{field}",
                    f'Invalid value: "string": spec.{field} in body must be of type boolean: "string"',
                ),
            ),
        )
        for field in FLAGS
    ),
    *(Case(f"refill {text}", {**WORKLOAD, "refill": text}) for text in ("Always", "None", "1/h", "999999/h")),
    *(
        Case(f"refill {text!r}", {**WORKLOAD, "refill": text}, (("spec.refill", REFILL),))
        for text in ("always", "0/h", "20", "20/m", "-1/h", "", "1000000/h")
    ),
    Case("stabilization", {**WORKLOAD, "scaleDownStabilization": "5m"}),
    Case("no stabilization", {**WORKLOAD, "scaleDownStabilization": "0s"}),
    Case(
        "negative stabilization",
        {**WORKLOAD, "scaleDownStabilization": "-5m"},
        (("spec.scaleDownStabilization", NEGATIVE),),
    ),
    # nodes
    Case("nodes of a type", {**WORKLOAD, "nodes": {"instanceType": "m5.large"}}),
    Case(
        "nodes with everything",
        {**WORKLOAD, "nodes": {**NODES, "networking": "Prefix", "customNetworking": True, "maxPods": 110}},
    ),
    *(
        Case(
            f"nodes of type {name!r}",
            {**WORKLOAD, "nodes": {"instanceType": name}},
            (("spec.nodes.instanceType", INSTANCE_TYPE),),
        )
        for name in ("", "m5", "M5.large", "m5.large ")
    ),
    # schedules
    Case("no schedules", {**WORKLOAD, "schedules": []}),
    Case("a schedule with everything", {**WORKLOAD, **_sizing(), **_schedule(percentage=20, scaleUpRate="0.5")}),
    *(
        Case(f"schedule {text}", {**WORKLOAD, **_schedule(schedule=text)})
        for text in ("0 8 * * 1-5", "*/15 0-6,20-23 1,15 JAN-MAR MON", "59 23 31 12 7", "0 0 1 */3 *", "5/10 * * * *")
    ),
    *(
        Case(f"schedule {text!r}", {**WORKLOAD, **_schedule(schedule=text)}, (("spec.schedules[0].schedule", CRON),))
        for text in NOT_CRON
    ),
    *(
        Case(f"time zone {name}", {**WORKLOAD, **_schedule(timeZone=name)})
        for name in ("UTC", "America/Port-au-Prince")
    ),
    *(
        Case(f"time zone {name!r}", {**WORKLOAD, **_schedule(timeZone=name)}, (("spec.schedules[0].timeZone", ZONE),))
        for name in ("", "../etc", "Europe/", "+01:00")
    ),
    Case("a schedule of a week", {**WORKLOAD, **_schedule(duration="168h")}),
    Case(
        "a schedule of more than a week",
        {**WORKLOAD, **_schedule(duration="168h1s")},
        (("spec.schedules[0].duration", "must be at most 168h"),),
    ),
    Case(
        "a schedule that is never in force",
        {**WORKLOAD, **_schedule(duration="0s")},
        (
            (
                "spec.schedules[0].duration",
                "must be more than zero: otherwise the schedule is never in force",
            ),
        ),
    ),
    Case(
        "a schedule without a size",
        {**WORKLOAD, "schedules": [{"schedule": "0 8 * * *", "duration": "1h"}]},
        (
            (
                "spec.schedules[0]",
                "needs a size: give replicas, percentage or scaleUpRate (replicas: 0 for none)",
            ),
        ),
    ),
    Case(
        "a rate in a schedule without latencies",
        {**WORKLOAD, **_schedule(scaleUpRate=2)},
        (("spec", "scaleUpRate in schedules needs sizing, which has the latencies"),),
    ),
    Case("twenty schedules", {**WORKLOAD, "schedules": _schedule()["schedules"] * 20}),
    Case(
        "too many schedules",
        {**WORKLOAD, "schedules": _schedule()["schedules"] * 21},
        (("spec.schedules", "must have at most 20 entries"),),
        (("spec.schedules", "Too many: 21: must have at most 20 items"),),
    ),
]
