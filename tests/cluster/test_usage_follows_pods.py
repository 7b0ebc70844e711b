"""What a NamespaceQuota shows is what the namespace's pods use, at every moment."""

from __future__ import annotations

import json
import time
from datetime import datetime

import pytest

from tests.cluster.objects import (
    Object,
    deployment,
    pod,
    quota,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.waiting import wait_for

pytestmark = pytest.mark.usefixtures("operator")

HARD = {"requests.cpu": "2", "requests.memory": "4Gi", "pods": 10}


def test_an_empty_namespace_shows_zeros_not_nothing(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard=HARD), namespace=namespace)
    status = wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "0", "pods": "0"}})
    assert status["remaining"] == {"requests.cpu": "2", "requests.memory": "4Gi", "pods": "10"}
    assert status["observedGeneration"] == 1


def test_pods_that_come_and_go_are_counted_and_returned(crds: Cluster, namespace: str) -> None:
    crds.apply(
        quota(hard=HARD), pod("a", cpu="500m", memory="1Gi"), pod("b", cpu="250m", memory="512Mi"), namespace=namespace
    )
    used = {"requests.cpu": "750m", "requests.memory": "1536Mi", "pods": "2"}
    wait_for_status(crds, namespace, "nsq/quota", {"used": used, "display": {"cpu": "750m/2"}})
    crds.kubectl("delete", "pod", "-n", namespace, "a", "--grace-period=0", "--force")
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "250m", "pods": "1"}})


def test_pods_older_than_the_quota_are_counted(crds: Cluster, namespace: str) -> None:
    crds.apply(pod("old", cpu="3"), namespace=namespace)
    crds.apply(quota(hard=HARD), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "3"}, "remaining": {"requests.cpu": "0"}})
    exceeded = wait_for_condition(crds, namespace, "nsq/quota", "Exceeded", "True", "AboveHard")
    assert exceeded["message"].startswith("requests.cpu at 3 of 2 (150%)")


def test_a_workload_that_scales_is_followed(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard=HARD), deployment(replicas=3, cpu="100m"), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "300m", "pods": "3"}})
    crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=9")
    near = wait_for_condition(crds, namespace, "nsq/quota", "NearLimit", "True", "NearLimit")
    assert near["message"] == "pods at 9 of 10 (90%)"


def test_a_resize_in_place_is_counted_without_a_new_pod(crds: Cluster, namespace: str) -> None:
    # Simulated nodes know no resize, so no scheduler may take it.
    crds.apply(quota(hard=HARD), pod(cpu="1", schedulerName="nobody"), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "1"}})
    smaller = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "400m"}}}]}}
    crds.kubectl("patch", "pod", "-n", namespace, "pod", "--subresource=resize", "-p", json.dumps(smaller))
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "400m", "pods": "1"}})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_frees_its_quota_but_not_its_object(crds: Cluster, namespace: str, phase: str) -> None:
    crds.apply(quota(hard={**HARD, "count/pods": 5}), pod(cpu="1", schedulerName="nobody"), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "1", "pods": "1", "count/pods": "1"}})
    crds.kubectl(
        "patch", "pod", "-n", namespace, "pod", "--subresource=status", "-p", json.dumps({"status": {"phase": phase}})
    )
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "0", "pods": "0", "count/pods": "1"}})


def test_finished_pods_are_read_from_the_moment_a_quota_counts_them(crds: Cluster, namespace: str) -> None:
    crds.apply(quota("a", hard=HARD), pod("done", schedulerName="nobody"), namespace=namespace)
    done = json.dumps({"status": {"phase": "Succeeded"}})
    crds.kubectl("patch", "pod", "-n", namespace, "done", "--subresource=status", "-p", done)
    wait_for_status(crds, namespace, "nsq/a", {"used": {"pods": "0"}})
    crds.apply(quota("b", hard={"count/pods": 5}), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/b", {"used": {"count/pods": "1"}})
    wait_for_condition(crds, namespace, "nsq/b", "Ready", "True", "Reconciled")


def test_each_of_several_quotas_counts_the_pods_of_its_scope(crds: Cluster, namespace: str) -> None:
    crds.apply(
        quota("all", hard={"pods": 9}),
        quota("effortless", hard={"pods": 9}, scopes=["BestEffort"]),
        quota("deadline", hard={"pods": 9, "requests.cpu": 9}, scopes=["Terminating"]),
        quota(
            "classless",
            hard={"pods": 9},
            scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]},
        ),
        pod("plain"),
        pod("short", activeDeadlineSeconds=600),
        pod("empty", containers=[_container("app")]),
        namespace=namespace,
    )
    wait_for_status(crds, namespace, "nsq/all", {"used": {"pods": "3"}})
    wait_for_status(crds, namespace, "nsq/effortless", {"used": {"pods": "1"}})
    wait_for_status(crds, namespace, "nsq/deadline", {"used": {"pods": "1", "requests.cpu": "100m"}})
    wait_for_status(crds, namespace, "nsq/classless", {"used": {"pods": "3"}})


def test_a_changed_limit_changes_what_remains_and_the_generation(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard=HARD), pod(cpu="1"), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"remaining": {"requests.cpu": "1"}})
    crds.apply(quota(hard={"requests.cpu": 8, "limits.cpu": 9}), namespace=namespace)
    status = wait_for_status(
        crds, namespace, "nsq/quota", {"observedGeneration": 2, "remaining": {"requests.cpu": "7"}}
    )
    assert set(status["used"]) == {"requests.cpu", "limits.cpu"}, "names that are no longer limited must vanish"
    assert {each["observedGeneration"] for each in status["conditions"]} == {2}


def test_a_scope_can_be_changed_later(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard={"pods": 9}), pod("a"), pod("b", activeDeadlineSeconds=60), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "2"}})
    crds.apply(quota(hard={"pods": 9}, scopes=["Terminating"]), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "1"}})


def test_a_name_that_is_not_counted_is_named_and_the_rest_is_counted(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard={"pods": 9, "nvidia.com/gpu": 3}), pod(), namespace=namespace)
    ready = wait_for_condition(crds, namespace, "nsq/quota", "Ready", "False", "UnsupportedResource")
    assert ready["message"] == (
        "nvidia.com/gpu is never counted; write requests.nvidia.com/gpu; the other 1 resource is counted"
    )
    status = wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "1"}})
    assert set(status["used"]) == {"pods"}


def test_what_is_no_pod_is_counted_too(crds: Cluster, namespace: str) -> None:
    hard = {
        "secrets": 5,
        "services": 5,
        "services.nodeports": 5,
        "requests.storage": "9Gi",
        "count/deployments.apps": 2,
    }
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    crds.apply(
        quota(hard=hard),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        service | {"spec": {"type": "NodePort", "ports": [{"port": 80}]}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim},
        deployment(replicas=0),
        namespace=namespace,
    )
    used = {"secrets": "1", "services": "1", "services.nodeports": "1", "requests.storage": "2Gi"}
    wait_for_status(crds, namespace, "nsq/quota", {"used": used | {"count/deployments.apps": "1"}})
    crds.kubectl("delete", "secret/s", "service/s", "deployment/web", "-n", namespace)
    gone = {"secrets": "0", "services": "0", "services.nodeports": "0", "count/deployments.apps": "0"}
    wait_for_status(crds, namespace, "nsq/quota", {"used": gone})


def test_status_names_the_largest_holders(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard=HARD), deployment(replicas=3, cpu="200m"), pod("lone", cpu="900m"), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"requests.cpu": "1500m"}})
    holders = {each["resource"]: each["top"] for each in status_of(crds, namespace, "nsq/quota")["holders"]}
    assert holders["requests.cpu"] == [
        {"workload": "Pod/lone", "used": "900m", "pods": 1},
        {"workload": "Deployment/web", "used": "600m", "pods": 3},
    ]
    assert [each["workload"] for each in holders["pods"]] == ["Deployment/web", "Pod/lone"]


def test_a_bad_quota_is_refused_and_disturbs_no_other(crds: Cluster, namespace: str) -> None:
    crds.apply(quota("good", hard=HARD), namespace=namespace)
    for value, complaint in {
        "lots": "is not a quantity",
        "-1": "must not be negative",
        "9223372036854775808": "is too large",
    }.items():
        with pytest.raises(KubectlError, match=complaint):
            crds.apply(quota("bad", hard={"requests.cpu": value}), namespace=namespace)
    crds.apply(pod(cpu="1"), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/good", {"used": {"requests.cpu": "1"}})


def test_the_last_of_many_quick_edits_is_what_counts(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard={"pods": 1}), pod(), namespace=namespace)
    for pods in range(2, 22):
        crds.apply(quota(hard={"pods": pods}), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"observedGeneration": 21, "remaining": {"pods": "20"}})


def test_a_deleted_quota_is_gone_at_once_since_nothing_holds_it(crds: Cluster, namespace: str) -> None:
    crds.apply(quota(hard=HARD), namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "0"}})
    assert "finalizers" not in crds.get("-n", namespace, "nsq/quota")["metadata"]
    crds.kubectl("delete", "nsq", "-n", namespace, "quota", "--timeout=5s")


def test_a_quota_made_anew_under_its_old_name_counts_anew(crds: Cluster, namespace: str) -> None:
    crds.apply(pod(cpu="1"), namespace=namespace)
    for hard in ({"pods": 5}, {"requests.cpu": 2}, {"requests.memory": "1Gi"}):
        crds.apply(quota(hard=hard), namespace=namespace)
        used = {"pods": "1", "requests.cpu": "1", "requests.memory": "64Mi"}
        expected = {name: amount for name, amount in used.items() if name in hard}
        status = wait_for_status(crds, namespace, "nsq/quota", {"observedGeneration": 1, "used": expected})
        assert status["used"] == expected
        crds.kubectl("delete", "nsq", "-n", namespace, "quota")


def test_a_deleted_pod_counts_until_its_grace_is_over_twice(crds: Cluster, namespace: str) -> None:
    """Its deletionTimestamp contains the grace period, and the API server adds it once more."""
    held = pod(cpu="1")
    held["metadata"]["finalizers"] = ["example.com/held"]
    held["spec"]["nodeName"] = "a-node-without-kubelet"
    crds.apply(quota(hard={**HARD, "count/pods": 5}), held, namespace=namespace)
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "1"}})
    try:
        crds.kubectl("delete", "pod", "-n", namespace, "pod", "--grace-period=2", "--wait=false")
        meta = crds.get("-n", namespace, "pod/pod")["metadata"]
        due = datetime.fromisoformat(meta["deletionTimestamp"]).timestamp() + meta["deletionGracePeriodSeconds"]
        wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "0", "requests.cpu": "0", "count/pods": "1"}})
        assert time.time() >= due
    finally:
        crds.kubectl("patch", "pod", "-n", namespace, "pod", "-p", json.dumps({"metadata": {"finalizers": None}}))
        crds.kubectl("delete", "pod", "-n", namespace, "pod", "--grace-period=0", "--force", "--ignore-not-found")
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"count/pods": "0"}})


def test_all_pod_shapes_are_counted_as_the_native_controller_counts_them(crds: Cluster, namespace: str) -> None:
    amounts = {"cpu": "1000", "memory": "1000Gi", "ephemeral-storage": "1000Gi"}
    hard = {f"{side}.{name}": most for side in ("requests", "limits") for name, most in amounts.items()}
    hard |= {"requests.example.com/device": "1000", "pods": "1000", "count/pods": "1000"}
    native = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "native"}, "spec": {"hard": hard}}
    crds.apply(native, quota(hard=hard), namespace=namespace)
    wait_for(lambda: status_of(crds, namespace, "resourcequota/native").get("used"), timeout=15, message="its status")
    wait_for_status(crds, namespace, "nsq/quota", {"used": {"pods": "0"}})
    some = {"cpu": "300m", "memory": "96Mi", "ephemeral-storage": "1Gi"}
    much, more = {"cpu": "2", "memory": "10Mi"}, {"cpu": "1", "memory": "1Gi"}
    init = [
        _container("first", requests=much, limits=some | {"cpu": "3"}),
        _container("side", requests=some, limits=some) | {"restartPolicy": "Always"},
        _container("last", requests=more, limits=more),
    ]
    app = [_container("app", limits=some | {"example.com/device": "2"})]
    whole = {"requests": {"cpu": "700m"}, "limits": {"cpu": "900m", "memory": "1Gi"}}
    crds.apply(
        pod("limits", containers=app),
        pod("init", containers=app, initContainers=init),
        pod("level", containers=app, resources=whole),
        namespace=namespace,
    )

    def equal() -> bool:
        ours, theirs = (status_of(crds, namespace, each)["used"] for each in ("nsq/quota", "resourcequota/native"))
        return bool(ours == theirs and ours["pods"] == "3")

    wait_for(
        equal,
        timeout=15,
        message=lambda: "\n".join(str(status_of(crds, namespace, each)) for each in ("nsq/quota", "quota/native")),
    )


def _container(name: str, **resources: Object) -> Object:
    return {"name": name, "image": name, "resources": resources}
