"""What people complained about in other implementations of buffers, one test each, named after the symptom.

The threads are those of the projects named; what they ask for is what is asserted here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.backends import made, nodes, on_nodes, patch, wait_for_made
from tests.cluster.objects import (
    Object,
    buffer,
    condition,
    deployment,
    pod_template,
    pods_of,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.waiting import wait_for

pytestmark = pytest.mark.usefixtures("operator", "placeholder_class")

UNIT = {"name": "unit"}
WEB = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}


def held(name: str = "buffer", replicas: int = 1, **spec: Any) -> Object:
    """A buffer of placeholders."""
    shape = {} if "scalableRef" in spec else {"podTemplateRef": UNIT}
    size = {} if "percentage" in spec else {"replicas": replicas}
    return buffer(name, **(shape | size | {"backend": "Placeholder"} | spec))


def placeholder(cluster: Cluster, namespace: str, name: str = "buffer") -> Object:
    """The Deployment of a buffer, once it is there."""
    return wait_for(
        lambda: made(cluster, namespace, "deployments").get(f"{name}-placeholder"),
        timeout=15,
        message=f"the placeholders of {name}",
    )


def pod_of(cluster: Cluster, namespace: str) -> Object:
    """A placeholder, once there is one."""
    found: list[Object] = wait_for(
        lambda: pods_of(cluster, namespace, "moorage.dev/buffer=buffer"),
        timeout=15,
        message="a placeholder",
    )
    return found[0]


def test_a_buffer_cannot_be_set_to_zero_at_night(crds: Cluster, namespace: str) -> None:
    """kubernetes/autoscaler#10170: there was no /scale for KEDA or kubectl scale."""
    crds.apply(pod_template(), held(replicas=5), namespace=namespace)
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 5})
    crds.kubectl("scale", "-n", namespace, "cbuf/buffer", "--replicas=0")
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 0})
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 0})
    scale = json.loads(
        crds.kubectl("get", "--raw", f"/apis/moorage.dev/v1alpha1/namespaces/{namespace}/capacitybuffers/buffer/scale")
    )
    assert (scale["spec"].get("replicas", 0), scale["status"]["replicas"]) == (0, 0)


def test_a_write_that_fails_leaves_a_buffer_silently_empty(crds: Cluster, namespace: str) -> None:
    """kubernetes/autoscaler#8855: writes failed, and nothing of the buffer said so."""
    limit = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    crds.apply(pod_template(), limit | {"spec": {"hard": {"count/deployments.apps": 0}}}, namespace=namespace)
    wait_for(
        lambda: crds.get("-n", namespace, "resourcequota/none").get("status", {}).get("hard"),
        timeout=30,
        message="the quota to be in force",
    )
    crds.apply(held(), namespace=namespace)
    found = wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "Forbidden", timeout=30)
    assert "exceeded quota" in found["message"]
    crds.kubectl("delete", "-n", namespace, "resourcequota/none")
    wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "True", "Reconciled", timeout=60)
    placeholder(crds, namespace)


def test_placeholders_that_are_refused_leave_a_buffer_silently_empty(crds: Cluster, namespace: str) -> None:
    """The same one level below: the Deployment is there, its pods are refused."""
    bounds: Object = {"type": "Container", "min": {"cpu": "500m"}}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": {"limits": [bounds]}}
    crds.apply(pod_template(), limits, namespace=namespace)
    crds.apply(held(), namespace=namespace)
    found = wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "PlaceholdersRefused", timeout=30)
    assert "minimum cpu usage per Container is 500m" in found["message"]


def test_deleting_a_buffer_leaves_what_it_had_made(crds: Cluster, namespace: str) -> None:
    """kubernetes-sigs/karpenter#3258: nodes stayed for ever on an idle cluster."""
    crds.apply(pod_template(), held(replicas=2), namespace=namespace)
    pod_of(crds, namespace)
    crds.kubectl("delete", "-n", namespace, "cbuf/buffer")
    for kind in ("deployments", "replicasets", "pods"):
        wait_for(
            lambda kind=kind: not crds.get("-n", namespace, kind, "-l", "moorage.dev/buffer=buffer"),  # type: ignore[misc]
            timeout=60,
            message=f"the end of its {kind}",
        )


def test_room_is_held_in_another_zone_than_the_volume(crds: Cluster, namespace: str) -> None:
    """kubernetes-sigs/karpenter#3189: volumes of units were left out without a word."""
    template = pod_template()
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    template["template"]["spec"]["volumes"] = [claim]
    crds.apply(template, held(), namespace=namespace)
    found = wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "VolumesIgnored")
    assert "placeholders mount no volumes (data)" in found["message"]


def test_units_crowd_on_one_node_against_the_workloads_own_anti_affinity(
    own_control_plane: ControlPlane, namespace: str
) -> None:
    """kubernetes-sigs/karpenter#3174: units had no labels, so their own anti-affinity did not see them."""
    cluster = own_control_plane
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "unit"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    with nodes(cluster, 2, namespace):
        cluster.apply(pod_template(affinity=apart, **on_nodes(namespace)), held(replicas=3), namespace=namespace)

        def places() -> list[str]:
            found = pods_of(cluster, namespace, "moorage.dev/buffer=buffer")
            return sorted(each["spec"].get("nodeName", "") for each in found)

        wait_for(lambda: len(set(places())) == 3, timeout=30, message=lambda: f"one on each node: {places()}")
        assert places()[0] == "", "the third waits for a node of its own"


def test_the_intended_pods_arrive_and_the_bill_doubles(own_control_plane: ControlPlane, namespace: str) -> None:
    """kubernetes/autoscaler#10108: a buffer that was kept for certain pods filled up again when they came."""
    cluster = own_control_plane
    with nodes(cluster, 1, namespace, cpu="4200m"):
        shape = {"cpu": "1", **on_nodes(namespace)}
        kept = held(scalableRef=WEB, replicas=4, refill="None")
        cluster.apply(deployment(replicas=0, **shape), kept, namespace=namespace)
        wait_for_status(cluster, namespace, "cbuf/buffer", {"readyReplicas": 4}, timeout=30)
        cluster.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=3")
        status = wait_for_status(cluster, namespace, "cbuf/buffer", {"refill": {"withheld": 3}}, timeout=30)
        assert status["replicas"] == 1
        wait_for_made(cluster, namespace, "deployments", {"buffer-placeholder": 1})
        patch(cluster, namespace, "cbuf/buffer", {"spec": {"refill": "Always"}})
        wait_for_made(cluster, namespace, "deployments", {"buffer-placeholder": 4})


def test_pods_that_may_not_preempt_wait_behind_placeholders(crds: Cluster, namespace: str) -> None:
    """kubernetes/autoscaler#4110: preemptionPolicy Never and placeholders do not go together."""
    template = pod_template()
    template["template"]["spec"]["preemptionPolicy"] = "Never"
    crds.apply(template, held(), namespace=namespace)
    found = wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "PreemptionNever")
    assert "backend Autoscaler, which needs no preemption" in found["message"]


def test_pause_pods_keep_nodes_from_being_removed(crds: Cluster, namespace: str) -> None:
    """deliveryhero/helm-charts#173: nodes could not be drained for pause pods, or for a disruption budget over them."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": "web"}}},
    }
    crds.apply(deployment(), budget, held(scalableRef=WEB, replicas=1), namespace=namespace)
    pod = pod_of(crds, namespace)
    assert pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "true"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod["metadata"]["name"]}}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/eviction"
    crds.kubectl("create", "--raw", path, "-f", "-", stdin=eviction)


def test_a_service_sends_requests_to_placeholders(crds: Cluster, namespace: str) -> None:
    """Pause pods with the workload's labels become its endpoints."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    crds.apply(deployment(), service | {"spec": spec}, held(scalableRef=WEB), namespace=namespace)
    selected = {each["metadata"]["name"] for each in crds.get("-n", namespace, "pods", "-l", "app=web")}
    assert pod_of(crds, namespace)["metadata"]["name"] not in selected


def test_the_priority_class_is_made_and_not_used(crds: Cluster, namespace: str, placeholder_class: str) -> None:
    """codecentric/cluster-overprovisioner#15: nothing was pushed out."""
    crds.apply(pod_template(), held(), namespace=namespace)
    spec = pod_of(crds, namespace)["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == (placeholder_class, -10)


def test_placeholders_of_a_very_low_priority_bring_no_nodes(
    own_control_plane: ControlPlane, namespace: str, placeholder_class: str
) -> None:
    """kubernetes/autoscaler#1037: below -10 Cluster Autoscaler takes no notice of pods."""
    cluster = own_control_plane
    shipped = cluster.get("priorityclass", placeholder_class)
    low = {name: shipped[name] for name in ("apiVersion", "kind")} | {"metadata": {"name": placeholder_class}}
    cluster.kubectl("delete", "priorityclass", placeholder_class)
    try:
        cluster.apply(low | {"value": -1000, "preemptionPolicy": "Never"})
        cluster.apply(pod_template(), held(), namespace=namespace)
        told = "value -1000: below -10 Cluster Autoscaler adds no nodes"  # not that there is no such class

        def warning() -> Object:
            return condition(status_of(cluster, namespace, "cbuf/buffer"), "Warning")

        wait_for(
            lambda: (warning().get("reason"), told in warning().get("message", "")) == ("PriorityClass", True),
            timeout=30,
            message=lambda: f"{told}; there is {warning()}",
        )
    finally:
        cluster.kubectl("delete", "priorityclass", placeholder_class)
        cluster.apply(low | {"value": -10, "preemptionPolicy": "Never"})
    wait_for(
        lambda: not condition(status_of(cluster, namespace, "cbuf/buffer"), "Warning"),
        timeout=15,
        message="the end of the warning",
    )


def test_a_buffer_goes_up_and_down_with_its_inputs(crds: Cluster, namespace: str) -> None:
    """aws/karpenter-provider-aws#4452: nodes came and went around one pause pod."""
    crds.apply(
        deployment(replicas=10), held(scalableRef=WEB, percentage=50,
                                      scaleDownStabilization="10m"), namespace=namespace,
    )  # fmt: skip
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 5})
    for replicas in (2, 8, 4):
        crds.kubectl("scale", "-n", namespace, "deployment/web", f"--replicas={replicas}")
        wait_for_status(crds, namespace, "cbuf/buffer", {"sizing": {"workloadReplicas": replicas}, "replicas": 5})
    assert made(crds, namespace, "deployments")["buffer-placeholder"]["metadata"]["generation"] == 1


def test_placeholders_that_wait_for_room_keep_a_delivery_red(crds: Cluster, namespace: str) -> None:
    """openshift/release#74056: GitOps tools called the application failed for 30 hours."""
    nowhere = {"nodeSelector": {"moorage-test": "nowhere"}}
    crds.apply(pod_template(**nowhere), held(replicas=2), namespace=namespace)
    found = placeholder(crds, namespace)
    assert found["spec"]["progressDeadlineSeconds"] == 2147483647
    with pytest.raises(KubectlError, match="timed out waiting for the condition"):
        crds.kubectl("rollout", "status", "-n", namespace, "deployment/buffer-placeholder", "--timeout=3s")
    conditions = {each["type"]: each["reason"] for each in placeholder(crds, namespace)["status"]["conditions"]}
    assert conditions.get("Progressing") != "ProgressDeadlineExceeded"
    assert condition(status_of(crds, namespace, "cbuf/buffer"), "Ready")["status"] == "True"


def test_pods_of_a_soft_spread_crowd_while_placeholders_stay(crds: Cluster, namespace: str) -> None:
    """kubernetes/autoscaler#5611: ScheduleAnyway pushes out nothing."""
    soft = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    crds.apply(pod_template(topologySpreadConstraints=[soft]), held(), namespace=namespace)
    found = wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "SoftSpread")
    assert "DoNotSchedule pushes them out" in found["message"]


def test_any_pod_takes_the_units_that_were_meant_for_one_workload(crds: Cluster, namespace: str) -> None:
    """kueue#14700 and others: a selector is wanted."""
    crds.apply(deployment(), held(scalableRef=WEB, dedicated=True), namespace=namespace)
    spec = pod_of(crds, namespace)["spec"]
    assert spec["nodeSelector"] == {"moorage.dev/dedicated": "buffer"}
    assert {"key": "moorage.dev/dedicated", "operator": "Equal", "value": "buffer", "effect": "NoSchedule"} in spec[
        "tolerations"
    ]
    wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "WorkloadNotDedicated")
    nodes_of_web = {"moorage-test": "web"}
    toleration = {"key": "moorage-test", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
    template = {"spec": {"nodeSelector": nodes_of_web, "tolerations": [toleration]}}
    patch(crds, namespace, "deployment/web", {"spec": {"template": template}})
    wait_for(
        lambda: (
            placeholder(crds, namespace)["spec"]["template"]["spec"]["nodeSelector"] == nodes_of_web
            and not condition(status_of(crds, namespace, "cbuf/buffer"), "Warning")
        ),
        timeout=20,
        message="the workload's own nodes",
    )
