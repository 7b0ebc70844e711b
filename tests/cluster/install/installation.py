"""The base as it is installed, and of every kind that the operator works with an object to be worked on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.cluster.objects import (
    Object,
    buffer,
    pod_spec,
    pod_template,
    quota,
    sizing,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane import ControlPlane, KubectlError, wait_for
from tests.manifests.documents import BASE, operator_rules, rights
from tests.operator_process import OperatorProcess

SYSTEM, ACCOUNT = "moorage-system", "moorage"
USER = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
COUNTED = (
    "configmaps",
    "serviceaccounts",
    "deployments.apps",
    "daemonsets.apps",
    "cronjobs.batch",
    "horizontalpodautoscalers.autoscaling",
    "ingresses.networking.k8s.io",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
    "resourceclaimtemplates.resource.k8s.io",
)
HARD = {
    "pods": 100,
    "count/pods": 200,
    "requests.cpu": 8,
    "requests.nvidia.com/gpu": 4,
    "services.nodeports": 10,
    "requests.storage": "1Ti",
    "resourcequotas": 3,
    **{f"count/{resource}": 99 for resource in COUNTED},
}
LIMITS = [
    {"type": "Container", "max": {"cpu": "100"}, "defaultRequest": {"ephemeral-storage": "1Mi"}},
    {"type": "PersistentVolumeClaim", "max": {"storage": "1Ti"}},
]
REPLICAS = 3
SCALABLE = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "ReplicationController": "",
    "Job": "batch",
}
StartInstalled = Callable[..., OperatorProcess]
"""Starts the operator with the rights that it was installed with."""
BUFFERS = [f"of-{kind.lower()}" for kind in (*SCALABLE, "PodTemplate")]


def install_base(cluster: ControlPlane, folder: Path = BASE) -> None:
    cluster.kubectl("apply", "--server-side", "--validate=strict", "--warnings-as-errors", "-k", str(folder))
    cluster.wait_until_served("namespacequotas.moorage.dev", "capacitybuffers.moorage.dev")
    wanted = set(rights(operator_rules([each for each in build(cluster, folder) if each["kind"] == "ClusterRole"])))
    wait_for(
        lambda: wanted <= rights_of_the_operator(cluster),
        timeout=30,
        message=lambda: f"the rights of the operator, summed up, without {wanted - rights_of_the_operator(cluster)}",
    )


def rights_of_the_operator(cluster: ControlPlane) -> set[tuple[str, str, str]]:
    """What the API server now allows the operator everywhere."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    # Asked in its name and not by itself, so that tests which look at what it asks for do not find this.
    told = cluster.kubectl("create", "-f", "-", "-o", "json", "--validate=false", f"--as={USER}", stdin=review)
    answer = json.loads(told)
    return set(rights(answer["status"]["resourceRules"]))


def build(cluster: ControlPlane, folder: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(cluster.kubectl("kustomize", str(folder))) if each]


def answers(cluster: ControlPlane, *question: str) -> bool:
    """Whether `kubectl auth can-i` says yes."""
    try:
        return cluster.kubectl(*question).strip() == "yes"
    except KubectlError as error:
        if error.stderr.strip():
            raise
        return False


def everything(cpu: str = "100m") -> list[Object]:
    """A quota, and of each kind that a buffer may refer to one object and its buffer."""
    workloads = [workload(kind, group, cpu) for kind, group in SCALABLE.items()]
    buffers = [
        buffer(
            f"of-{kind.lower()}",
            scalableRef={"kind": kind, "name": kind.lower()} | ({"apiGroup": group} if group else {}),
            percentage=100,
        )
        for kind, group in SCALABLE.items()
    ]
    return [
        quota(hard=HARD, buffers="Ignore"),
        quota("enforced", hard={"requests.memory": "1Ti"}, limits=LIMITS, enforcement="Enforce", buffers="Ignore"),
        *workloads,
        *buffers,
        pod_template(),
        buffer("of-podtemplate", podTemplateRef={"name": "unit"}, sizing=sizing()),
    ]


def workload(kind: str, group: str, cpu: str) -> Object:
    name = kind.lower()
    template: Object = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu=cpu)}
    spec: Object = {"template": template, "replicas": REPLICAS, "selector": {"matchLabels": {"app": name}}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec = {"template": template, "parallelism": REPLICAS, "completions": REPLICAS}
    elif kind == "ReplicationController":
        spec["selector"] = {"app": name}
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def wait_until_all_is_ready(cluster: ControlPlane, namespace: str) -> None:
    wait_for_condition(cluster, namespace, "nsq/quota", "Ready", "True", "Reconciled")
    wait_for_condition(cluster, namespace, "nsq/enforced", "Enforced", "True", "Proved", timeout=30)
    for name in BUFFERS:
        replicas = 180 if name == "of-podtemplate" else REPLICAS
        wait_for_status(cluster, namespace, f"cbuf/{name}", {"replicas": replicas})
        wait_for_condition(cluster, namespace, f"cbuf/{name}", "Ready", "True", "Reconciled")
