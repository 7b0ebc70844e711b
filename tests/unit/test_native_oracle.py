"""Quantities, pods and whole namespaces, compared with what Kubernetes' own code makes of them (tests/data/native)."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from moorage.api.namespacequota import NamespaceQuotaSpec
from moorage.cluster.discovery import Resource
from moorage.handlers.counting import decoder
from moorage.objects import Pod, PodSpec
from moorage.quantity import MAX_INT64, NANO, QuantityError, canonical, parse_nano
from moorage.quota.counting import DeviceClasses, pod_use
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import ObjectUse, Shapes
from moorage.resources import with_defaults
from moorage.status.namespacequota import quota_rules

NATIVE = Path(__file__).parents[1] / "data" / "native"
Case = dict[str, Any]
RESOURCES = (
    Resource("", "v1", "pods", "Pod"),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource("", "v1", "services", "Service"),
    Resource("", "v1", "secrets", "Secret"),
    Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"),
)

with (NATIVE / "quantities.csv").open(newline="") as _table:
    QUANTITIES = list(csv.DictReader(_table))
PODS: list[Case] = [json.loads(line) for line in (NATIVE / "pods.jsonl").read_text().splitlines()]
NAMESPACES: list[Case] = [json.loads(line) for line in (NATIVE / "namespaces.jsonl").read_text().splitlines()]

VALID = [row for row in QUANTITIES if row["value"] and abs(Fraction(row["value"])) < MAX_INT64]
"""Without what Kubernetes cuts to the largest int64; ours stays exact, and the schema refuses it."""
SPELLED = [row for row in VALID if row["format"] != "DecimalExponent"]
REFUSED = [row for row in QUANTITIES if not row["value"]]

every_pod = pytest.mark.parametrize("case", PODS, ids=[f"pod-{at}" for at in range(len(PODS))])


@pytest.mark.parametrize("row", VALID, ids=lambda row: row["text"])
def test_a_quantity_has_the_same_value(row: dict[str, str]) -> None:
    assert Fraction(parse_nano(row["text"]), NANO) == Fraction(row["value"])


@pytest.mark.parametrize("row", SPELLED, ids=lambda row: row["text"])
def test_a_quantity_is_spelled_the_same(row: dict[str, str]) -> None:
    assert canonical(parse_nano(row["text"]), binary=row["format"] == "BinarySI") == row["canonical"]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["text"])
def test_a_text_that_is_no_quantity_is_refused(row: dict[str, str]) -> None:
    with pytest.raises(QuantityError):
        parse_nano(row["text"])


@every_pod
def test_a_pod_counts_for_the_same(case: Case) -> None:
    ledger = Ledger()
    ledger.set_quota("ns", "q", Terms(frozenset(case["usage"])))
    ledger.put(record(case))
    ledger.release_due(case["now"])
    counted = ledger.usage("ns", "q").used
    assert {name: Fraction(amount, NANO) for name, amount in counted.items()} == {
        name: Fraction(amount) for name, amount in case["usage"].items()
    }


@every_pod
def test_a_pod_matches_the_same_scopes(case: Case) -> None:
    facts = record(case).shape.facts
    assert {text: selects([requirement(text)], facts) for text in case["matches"]} == case["matches"]


@pytest.mark.parametrize("case", NAMESPACES, ids=[f"namespace-{at}" for at in range(len(NAMESPACES))])
def test_every_quota_of_a_namespace_uses_the_same(case: Case) -> None:
    ledger, classes = Ledger(), classes_of(case)
    objects = records(case, classes)
    Random(len(objects)).shuffle(objects)
    specs = [msgspec.convert(spec, NamespaceQuotaSpec) for spec in case["quotas"]]
    for at, spec in enumerate(specs[::2]):  # half of them before the objects come
        ledger.set_quota("ns", str(2 * at), quota_rules(spec).terms)
    for each in objects:
        ledger.put(each)
    ledger.set_device_classes(classes)
    for at, spec in enumerate(specs):
        ledger.set_quota("ns", str(at), quota_rules(spec).terms)
    for at, native in enumerate(case["used"]):
        counted = ledger.usage("ns", str(at)).used
        assert {name: Fraction(amount, NANO) for name, amount in counted.items()} == {
            name: Fraction(amount) for name, amount in native.items()
        }


def test_namespaces_hold_every_kind() -> None:
    assert len(NAMESPACES) == 100
    for resource in RESOURCES:
        assert sum(len(case[resource.label]) for case in NAMESPACES) > 50


def classes_of(case: Case) -> DeviceClasses:
    return {each["metadata"]["name"]: each["spec"].get("extendedResourceName") for each in case["deviceclasses"]}


def records(case: Case, classes: DeviceClasses) -> list[ObjectUse]:
    """Return the ledger's records of all that is in a namespace, as the API server would have stored it."""
    shapes, found = Shapes(), []
    for resource in RESOURCES:
        decode = decoder(resource, shapes, classes)
        for body in case[resource.label]:
            stored = body
            if resource.label == "pods":
                spec = with_defaults(msgspec.convert(body["spec"], PodSpec))
                stored = {**body, "spec": msgspec.to_builtins(spec)}
            found.append(decode(msgspec.json.encode(stored)))
    return found


def record(case: Case) -> ObjectUse:
    """Return the ledger's record of a case's pod as the API server would have stored it."""
    pod = msgspec.convert(case["pod"], Pod)
    return pod_use(msgspec.structs.replace(pod, spec=with_defaults(pod.spec)), Shapes())


def requirement(text: str) -> Requirement:
    scope, operator, *values = text.split()
    return Requirement(scope, operator, frozenset(values))
