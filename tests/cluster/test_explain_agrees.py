"""`moorage explain` on a live cluster says beforehand what the API server then does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.cluster.objects import Object, deployment, pod, quota
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.waiting import wait_for


def explain(cluster: Cluster, namespace: str, manifest: Object, *arguments: str) -> tuple[int, Any]:
    command = [sys.executable, "-m", "moorage", "explain", "-f", "-", "-n", namespace, "-o", "json", *arguments]
    done = subprocess.run(
        [*command, "--kubeconfig", str(cluster.kubeconfig)],
        input=json.dumps(manifest),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _wait_until_in_force(cluster: Cluster, namespace: str) -> None:
    def used() -> Any:
        return cluster.get("resourcequota/q", "-n", namespace).get("status", {}).get("used")

    wait_for(used, timeout=15, message="the native quota to be in force")


def test_it_refuses_the_pod_that_the_api_server_refuses_with_the_same_numbers(crds: Cluster, namespace: str) -> None:
    hard = {"requests.cpu": "1", "pods": "3"}
    native = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    crds.apply(native, namespace=namespace)
    wait_for(
        lambda: crds.get("resourcequota/q", "-n", namespace).get("status", {}).get("used"), timeout=15, message="q"
    )
    crds.apply(pod("a", cpu="600m", schedulerName="nobody"), namespace=namespace)

    create = ("create", "--dry-run=server", "-f", "-", "-n", namespace)
    assert explain(crds, namespace, pod("b", cpu="400m"))[0] == 0
    crds.kubectl(*create, stdin=pod("b", cpu="400m"))

    code, answer = explain(crds, namespace, pod("b", cpu="401m"))
    (failure,) = answer["objects"][0]["failures"]
    named = f"requested: requests.cpu={failure['requested']}, used: requests.cpu={failure['used']}"
    assert code == 1
    with pytest.raises(KubectlError) as refused:
        crds.kubectl(*create, stdin=pod("b", cpu="401m"))
    assert f"{named}, limited: requests.cpu={failure['hard']}" in refused.value.stderr


def test_it_tells_how_many_replicas_would_come(crds: Cluster, namespace: str) -> None:
    hard = {"requests.cpu": "1", "requests.memory": "1Gi", "count/replicasets.apps": "5"}
    native = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    crds.apply(native, quota(hard=hard), namespace=namespace)
    wait_for(
        lambda: crds.get("resourcequota/q", "-n", namespace).get("status", {}).get("used"), timeout=15, message="q"
    )
    code, answer = explain(crds, namespace, deployment(cpu="150m"), "--replicas", "9")
    (found,) = answer["objects"]
    assert (code, found["fits"], found["replicas"]) == (1, 6, 9)

    crds.apply(deployment(cpu="150m", replicas=9), namespace=namespace)

    def pods() -> int:
        return len(crds.get("pods", "-n", namespace))

    wait_for(lambda: pods() == found["fits"], timeout=30, message=lambda: f"6 pods; there are {pods()}")
    code, answer = explain(crds, namespace, deployment(cpu="150m", replicas=6))
    assert (code, answer["objects"][0]["fits"]) == (0, 6)
