"""The checked-in policies are what the code says; `make crds` writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.admission.policies import policy_documents

OF_OUR_ACCOUNT = ("moorage-probes", "moorage-labels")
FOLDER = Path(__file__).parents[3] / "manifests" / "policies"


def policies() -> Iterator[dict[str, Any]]:
    for text in policy_documents().values():
        yield from (each for each in yaml.safe_load_all(text) if each["kind"].endswith("Policy"))


def bindings() -> Iterator[dict[str, Any]]:
    for text in policy_documents().values():
        yield from (each for each in yaml.safe_load_all(text) if each["kind"].endswith("Binding"))


def named(documents: Iterator[dict[str, Any]]) -> list[Any]:
    return [pytest.param(each, id=each["metadata"]["name"]) for each in documents]


def test_checked_in_policies_are_those_of_the_code() -> None:
    written = {path.name: path.read_text() for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml"}
    assert written == policy_documents(), "run `make crds` and commit manifests/policies/"


def test_generation_does_not_depend_on_the_process(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    command = [sys.executable, "-m", "moorage.admission.policies", str(tmp_path)]
    subprocess.run(command, check=True, env=environment)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == policy_documents()


def of_quotas(documents: Iterator[dict[str, Any]]) -> list[Any]:
    """Those that read NamespaceQuotas."""
    return named(each for each in documents if each["metadata"]["name"] not in OF_OUR_ACCOUNT)


@pytest.mark.parametrize("policy", of_quotas(policies()))
def test_a_policy_can_lock_neither_the_cluster_nor_the_operator(policy: dict[str, Any]) -> None:
    [exempt, _] = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert exempt == {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["kube-system", "moorage-system"],
    }


@pytest.mark.parametrize("policy", of_quotas(policies()))
def test_a_policy_that_cannot_be_evaluated_concerns_namespaces_with_limits_alone(policy: dict[str, Any]) -> None:
    # An API server that has not found our definitions refuses what a policy selects before it looks for quotas.
    [_, labelled] = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert labelled == {"key": "moorage.dev/enforced", "operator": "In", "values": ["true"]}


@pytest.mark.parametrize("policy", named(policies()))
def test_a_policy_that_cannot_be_evaluated_refuses(policy: dict[str, Any]) -> None:
    assert policy["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize("binding", of_quotas(bindings()))
def test_a_namespace_without_quotas_is_left_alone(binding: dict[str, Any]) -> None:
    assert binding["spec"]["paramRef"] == {"selector": {}, "parameterNotFoundAction": "Allow"}
    assert binding["spec"]["policyName"] == binding["metadata"]["name"]


@pytest.mark.parametrize("policy", named(policies()))
def test_what_is_asked_of_every_pod_needs_no_variables(policy: dict[str, Any]) -> None:
    # The API server knows them in conditions only by accident, and each use costs.
    assert all("variables." not in each["expression"] for each in policy["spec"]["matchConditions"])
