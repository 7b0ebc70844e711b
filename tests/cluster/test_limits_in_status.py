"""What the status of quotas says of their limits: contradictions among them, and workloads that they would refuse."""

from __future__ import annotations

import json

import pytest

from tests.cluster.objects import Object, deployment, quota, wait_for_condition
from tests.controlplane.cluster import Cluster

pytestmark = pytest.mark.usefixtures("operator")


def test_two_quotas_that_contradict_each_other_both_say_so_until_one_is_corrected(
    crds: Cluster, namespace: str
) -> None:
    generous = quota("generous", enforcement="Enforce", limits=[{"type": "Container", "default": {"cpu": "2"}}])
    strict = quota("strict", enforcement="Enforce", limits=[{"type": "Container", "max": {"cpu": "1"}}])
    crds.apply(generous, strict, namespace=namespace)
    for name in ("generous", "strict"):
        found = wait_for_condition(crds, namespace, f"nsq/{name}", "LimitsConflict", "True", "OtherQuota")
        assert "default cpu=2 per Container in generous is above max cpu=1 per Container in strict" in found["message"]
    crds.kubectl("delete", "nsq", "strict", "-n", namespace)
    wait_for_condition(crds, namespace, "nsq/generous", "LimitsConflict", "False", "Consistent")


def test_a_quota_names_the_workloads_whose_next_pod_it_would_refuse(crds: Cluster, namespace: str) -> None:
    # Nobody schedules these, and the Deployment's ReplicaSet and pods are not to be named beside it.
    crds.apply(_without_memory(deployment("older")), deployment("fine"), _nightly(cpu="4"), namespace=namespace)
    limits = [{"type": "Container", "max": {"cpu": "1"}}]
    crds.apply(quota(enforcement="Enforce", hard={"requests.memory": "4Gi"}, limits=limits), namespace=namespace)
    found = wait_for_condition(crds, namespace, "nsq/quota", "WorkloadsRefused", "True", "NextPodRefused")
    assert found["message"].startswith("2 workloads could not make another pod: CronJob/nightly (maximum cpu per")
    assert "Deployment/older (must specify requests.memory for container app" in found["message"]

    crds.kubectl("delete", "cronjob", "nightly", "-n", namespace)
    memory = {"spec": {"template": {"spec": deployment("older")["spec"]["template"]["spec"]}}}
    crds.kubectl("patch", "deployment", "older", "-n", namespace, "-p", json.dumps(memory))
    wait_for_condition(crds, namespace, "nsq/quota", "WorkloadsRefused", "False", "AllAdmitted", timeout=60)


def _without_memory(workload: Object) -> Object:
    del workload["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"]
    return workload


def _nightly(cpu: str) -> Object:
    template = deployment(cpu=cpu)["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}
