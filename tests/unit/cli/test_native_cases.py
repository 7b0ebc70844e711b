"""`moorage usage` on the conformance cases: their manifests, and dumps of what is stored at their end."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.unit.cli.conftest import Answer, Moorage
from tests.unit.native_api import NAMESPACE
from tests.unit.native_cases import CASES, PREREQUISITES, Case, Play, expected, quotas_of

from moorage.quantity import parse_nano

API_VERSIONS = {
    "DeviceClass": "resource.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
    "VolumeAttributesClass": "storage.k8s.io/v1",
}
"""The cases leave these out."""

NEW_NAMESPACE = [
    {"kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}},
    {"kind": "ServiceAccount", "metadata": {"name": "default"}},
]
"""What a namespace has from the start."""

LIMIT_RANGES = {
    "lr-explicit-zero-is-kept": "LimitRanges are not applied to manifests",
}


def manifests(case: Case) -> list[dict[str, Any]]:
    """Return the manifests of a case: of its cluster, its quotas and its objects."""
    cluster = [each for each in PREREQUISITES if each["kind"] != "CustomResourceDefinition"]
    quotas = [
        {"kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec} for name, spec in quotas_of(case).items()
    ]
    return complete([*cluster, *case.get("cluster", ()), *NEW_NAMESPACE, *quotas, *case.get("objects", ())])


def complete(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"apiVersion": API_VERSIONS.get(each["kind"], "v1"), **each} for each in documents]


def changes_nothing(step: dict[str, Any]) -> bool:
    """Whether a step leaves what is stored as it is."""
    return step.get("verdict") == "denied" or step.keys() <= {"sleep", "used", "within"}


STATIC = sorted(
    name
    for name, case in CASES.items()
    if any(expected(case).values()) and all(map(changes_nothing, case.get("steps", ()))) and name not in LIMIT_RANGES
)


def test_most_cases_are_static() -> None:
    assert len(STATIC) >= 44


@pytest.mark.parametrize("case", STATIC)
def test_manifests_count_what_the_native_controller_counts_of_them(moorage: Moorage, case: str) -> None:
    text = yaml.safe_dump_all(manifests(CASES[case]))
    answer = moorage("usage", "-f", "-", "-n", NAMESPACE, "-o", "json", stdin=text)
    compare(answer, CASES[case])


@pytest.mark.parametrize("case", sorted(name for name, case in CASES.items() if any(expected(case).values())))
def test_a_dump_counts_what_the_native_controller_counts_of_it(moorage: Moorage, case: str) -> None:
    play = Play(CASES[case])
    classes = [each for each in complete(PREREQUISITES) if each["kind"] == "DeviceClass"]
    dump = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [*classes, *play.api.dump()]})
    answer = moorage("usage", "-f", "-", "-n", NAMESPACE, "--at", play.now.isoformat(), "-o", "json", stdin=dump)
    compare(answer, CASES[case])


def compare(answer: Answer, case: Case) -> None:
    assert answer.code == 0, answer.err
    found = {each["name"]: each["used"] for each in answer.json["quotas"]}
    for quota, used in expected(case).items():
        counted = {name: amount for name, amount in found[quota].items() if name in used}
        assert amounts(counted) == amounts(used)


def amounts(used: dict[str, str]) -> dict[str, int]:
    return {name: parse_nano(text) for name, text in used.items()}
