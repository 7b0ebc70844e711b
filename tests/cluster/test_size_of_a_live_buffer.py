"""`moorage size NAME` explains a buffer as it stands in the cluster."""

from __future__ import annotations

import json

import pytest

from moorage.cli import main
from tests.cluster.objects import buffer, deployment, quota, sizing, wait_for_condition, wait_for_status
from tests.controlplane.cluster import Cluster

pytestmark = pytest.mark.usefixtures("operator")


def test_each_input_is_that_of_the_cluster(crds: Cluster, namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    crds.apply(
        deployment(replicas=33, cpu="500m"),
        quota("ours", hard={"pods": 150}, enforcement="Enforce"),
        buffer("web", scalableRef={"apiGroup": "apps", "kind": "Deployment", "name": "web"}, sizing=sizing()),
        namespace=namespace,
    )
    wait_for_status(crds, namespace, "cbuf/web", {"replicas": 117, "sizing": {"workloadReplicas": 33}})
    arguments = ["-n", namespace, "--kubeconfig", str(crds.kubeconfig)]
    capsys.readouterr()
    assert main(["size", "web", *arguments, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["replicas"], found["inForce"], found["boundBy"]) == (117, 117, "quotas")
    room = next(each for each in found["inputs"] if each["input"] == "quotas")
    more = {"units": 1, "active": 0, "requests": {"cpu": "500m", "memory": "64Mi"}}
    assert room["more"].items() >= more.items(), "and its nodes, where there are some to judge by"


def test_a_buffer_that_is_not_there_and_one_without_a_size_are_told_apart(
    crds: Cluster, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crds.apply(buffer("lost", podTemplateRef={"name": "missing"}, replicas=2), namespace=namespace)
    wait_for_condition(crds, namespace, "cbuf/lost", "Ready", "False", "TemplateNotFound")
    arguments = ["-n", namespace, "--kubeconfig", str(crds.kubeconfig)]
    capsys.readouterr()
    assert main(["size", "lost", *arguments]) == 1
    assert "missing" in capsys.readouterr().err
    assert main(["size", "nobody", *arguments]) == 2
    assert f"there is no CapacityBuffer nobody in namespace {namespace}" in capsys.readouterr().err
