"""`moorage usage` counts files as the operator counts a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Moorage

QUOTA = """
apiVersion: moorage.dev/v1alpha1
kind: NamespaceQuota
metadata: {name: q, namespace: a}
spec: {hard: {requests.cpu: "2", limits.memory: 4Gi, pods: 10}}
"""
PODS = """
kind: Pod
metadata: {name: one, namespace: a}
spec: {containers: [{name: c, resources: {requests: {cpu: 500m}, limits: {memory: 1Gi}}}]}
---
kind: Pod
metadata: {name: two, namespace: a}
spec: {containers: [{name: c, resources: {limits: {cpu: 0.25}}}]}
---
kind: Pod
metadata: {name: done, namespace: a}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
status: {phase: Succeeded}
---
kind: Pod
metadata: {name: elsewhere, namespace: b}
spec: {containers: [{name: c}]}
"""


def test_manifests_are_counted_as_the_api_server_would_store_them(moorage: Moorage) -> None:
    answer = moorage("usage", "-f", "-", "-o", "json", stdin=f"{QUOTA}---{PODS}")
    assert answer.code == 0
    (found,) = answer.json["quotas"]
    assert (found["namespace"], found["name"], found["kind"]) == ("a", "q", "NamespaceQuota")
    assert found["hard"] == {"requests.cpu": "2", "limits.memory": "4Gi", "pods": "10"}
    assert found["used"] == {"requests.cpu": "750m", "limits.memory": "1Gi", "pods": "2"}
    assert found["remaining"] == {"requests.cpu": "1250m", "limits.memory": "3Gi", "pods": "8"}
    assert found["untracked"] == []


def test_the_table_is_that_of_kubectl_describe(moorage: Moorage) -> None:
    answer = moorage("usage", "-f", "-", stdin=f"{QUOTA}---{PODS}")
    assert answer.out == (
        "NamespaceQuota a/q\n"
        "  requests.cpu   750m of 2    38%\n"
        "  limits.memory   1Gi of 4Gi  25%\n"
        "  pods              2 of 10   20%\n"
        "  held by\n"
        "    requests.cpu   Pod/one  500m  1 pod\n"
        "                   Pod/two  250m  1 pod\n"
        "    limits.memory  Pod/one  1Gi   1 pod\n"
        "    pods           Pod/one  1     1 pod\n"
        "                   Pod/two  1     1 pod\n"
    )


def test_a_list_as_kubectl_prints_it_is_read(moorage: Moorage, tmp_path: Path) -> None:
    quota = tmp_path / "quota.yaml"
    quota.write_text(QUOTA)
    pod = {"metadata": {"name": "one", "namespace": "a"}, "spec": {"containers": [{"name": "c"}]}}
    for listed in ({"kind": "List", "items": [pod | {"kind": "Pod"}]}, {"kind": "PodList", "items": [pod]}):
        answer = moorage("usage", "-f", "-", "--quota", str(quota), "-o", "json", stdin=json.dumps(listed))
        assert answer.json["quotas"][0]["used"]["pods"] == "1"


def test_a_folder_is_read_file_by_file(moorage: Moorage, tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(QUOTA)
    (tmp_path / "pods.yml").write_text(PODS)
    (tmp_path / "notes.txt").write_text("not: [a manifest")
    answer = moorage("usage", "-f", str(tmp_path), "-o", "json")
    assert answer.json["quotas"][0]["used"]["pods"] == "2"


def test_a_native_quota_is_counted_by_the_same_rules(moorage: Moorage) -> None:
    native = QUOTA.replace("moorage.dev/v1alpha1", "v1").replace("NamespaceQuota", "ResourceQuota")
    native = native.replace("pods: 10", "pods: 10, nvidia.com/gpu: 3")
    answer = moorage("usage", "-f", "-", "-o", "json", stdin=f"{native}---{PODS}")
    (found,) = answer.json["quotas"]
    assert (found["kind"], found["untracked"]) == ("ResourceQuota", ["nvidia.com/gpu"])
    assert found["used"] == {"requests.cpu": "750m", "limits.memory": "1Gi", "pods": "2"}


def test_documents_without_a_namespace_take_the_one_that_is_asked_for(moorage: Moorage) -> None:
    text = f"{QUOTA}---{PODS}".replace(", namespace: a", "")
    answer = moorage("usage", "-f", "-", "-n", "c", "-o", "json", stdin=text)
    (found,) = answer.json["quotas"]
    assert (found["namespace"], found["used"]["pods"]) == ("c", "2")


def test_a_pod_being_deleted_counts_until_its_grace_is_over(moorage: Moorage) -> None:
    deleted = PODS.replace(
        "{name: one, namespace: a}",
        '{name: one, namespace: a, deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30}',
    )
    text = f"{QUOTA}---{deleted}"
    for moment, pods in (("2026-01-01T00:01:00Z", "2"), ("2026-01-01T00:01:01Z", "1")):
        answer = moorage("usage", "-f", "-", "--at", moment, "-o", "json", stdin=text)
        assert answer.json["quotas"][0]["used"]["pods"] == pods


@pytest.mark.parametrize(
    ("arguments", "stdin", "complaint"),
    [
        pytest.param([], PODS, "there is no NamespaceQuota or ResourceQuota", id="no quota"),
        pytest.param([], "a: [b", "standard input is neither YAML nor JSON", id="no yaml"),
        pytest.param([], "kind: Pod\nmetadata: 3\n", "metadata is not a mapping", id="metadata"),
        pytest.param(
            [], f"{QUOTA}---\nkind: Pod\nspec: {{containers: 3}}\n", "Pod: spec.containers: Expected", id="containers"
        ),
        pytest.param(["--at", "noon"], QUOTA, "--at: 'noon' is not a time", id="time"),
        pytest.param([], QUOTA.replace('"2"', "lots"), "spec.hard[requests.cpu]", id="quantity"),
        pytest.param(
            [],
            f"{QUOTA}---{PODS}".replace("500m", "500mm"),
            "Pod one: '500mm' is not a quantity",
            id="pod quantity",
        ),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(
    moorage: Moorage, arguments: list[str], stdin: str, complaint: str
) -> None:
    answer = moorage("usage", "-f", "-", *arguments, stdin=stdin)
    assert answer.code == 2
    assert answer.out == ""
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
