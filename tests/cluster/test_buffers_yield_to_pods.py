"""Units count in the quotas of their namespace as if they ran, and never keep a real pod out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.backends import patch, wait_for_made
from tests.cluster.objects import (
    Object,
    buffer,
    deployment,
    pod,
    pod_template,
    pods_of,
    quota,
    sizing,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.waiting import wait_for

pytestmark = pytest.mark.usefixtures("operator", "placeholder_class")

UNIT = {"name": "unit"}
LIMITED, REASON = "LimitedByQuotas", "ResourceQuotasAllocated"
PLACEHOLDERS = "moorage.placeholders-ours"


def ours(**hard: Any) -> Object:
    return quota("ours", hard=hard, enforcement="Enforce")


def native(cluster: Cluster, namespace: str, name: str) -> Object:
    """What a ResourceQuota enforces; empty while there is none."""
    found = {each["metadata"]["name"]: each for each in cluster.get("-n", namespace, "resourcequota")}
    hard: Object = found.get(name, {}).get("status", {}).get("hard", {})
    return hard


def wait_for_native(cluster: Cluster, namespace: str, name: str, expected: Object) -> None:
    wait_for(
        lambda: native(cluster, namespace, name) == expected,
        timeout=20,
        message=lambda: f"{name} with {expected}; there is {native(cluster, namespace, name)}",
    )


def placed(cluster: Cluster, namespace: str, name: str = "buffer") -> int:
    return len(pods_of(cluster, namespace, f"moorage.dev/buffer={name}"))


def test_the_whole_of_a_full_namespace_is_for_real_pods_and_the_buffer_shrinks(crds: Cluster, namespace: str) -> None:
    """Four of five are units. A second pod fits beside them, a third only if one of them goes."""
    crds.apply(
        ours(**{"pods": 5, "requests.cpu": "5"}),
        pod_template(cpu="1"),
        deployment("web", replicas=1, cpu="1"),
        namespace=namespace,
    )
    wait_for_status(crds, namespace, "nsq/ours", {"used": {"pods": "1"}})
    crds.apply(buffer(podTemplateRef=UNIT, replicas=4, backend="Placeholder"), namespace=namespace)
    wait_for(lambda: placed(crds, namespace) == 4, timeout=30, message="four placeholders")
    wait_for_status(
        crds, namespace, "nsq/ours", {"used": {"pods": "5"}, "buffered": {"pods": "4", "requests.cpu": "4"}}
    )
    crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=3")
    wait_for(lambda: len(pods_of(crds, namespace, "app=web")) == 3, timeout=15, message="three real pods")
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 2})
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2})
    told = wait_for_condition(crds, namespace, "cbuf/buffer", LIMITED, "True", REASON)
    assert "NamespaceQuota ours has room for 2 (of pods 5, 3 in use)" in told["message"]
    wait_for_status(
        crds, namespace, "nsq/ours", {"used": {"pods": "5"}, "buffered": {"pods": "2", "requests.cpu": "2"}}
    )
    status = status_of(crds, namespace, "nsq/ours")
    assert any(line.endswith("2 by buffers") for line in status["summary"])
    crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=5")
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 0})
    crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=0")
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 4})
    wait_for(lambda: placed(crds, namespace) == 4, timeout=30, message="four placeholders again")


def test_real_pods_beyond_the_quota_are_refused_with_a_buffer_as_without_one(crds: Cluster, namespace: str) -> None:
    crds.apply(
        ours(pods=3),
        pod_template(),
        buffer(podTemplateRef=UNIT, replicas=2, backend="Placeholder"),
        namespace=namespace,
    )
    wait_for(lambda: placed(crds, namespace) == 2, timeout=30, message="two placeholders")
    wait_for_native(crds, namespace, "moorage-ours", {"pods": "3"})
    for name in ("one", "two", "three"):
        crds.apply(pod(name), namespace=namespace)
    with pytest.raises(
        KubectlError, match="exceeded quota: moorage-ours, requested: pods=1, used: pods=3, limited: pods=3"
    ):
        crds.apply(pod("four"), namespace=namespace)


def test_local_disk_is_for_real_pods_too_though_no_quota_can_tell_placeholders_apart(
    crds: Cluster, namespace: str
) -> None:
    template = pod_template()
    template["template"]["spec"]["containers"][0]["resources"]["requests"]["ephemeral-storage"] = "1Gi"
    crds.apply(
        ours(**{"pods": 9, "requests.ephemeral-storage": "2Gi"}),
        template,
        buffer(podTemplateRef=UNIT, replicas=2, backend="Placeholder"),
        namespace=namespace,
    )
    told = wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "NotHeld")
    assert "placeholders hold no ephemeral-storage" in told["message"]
    wait_for(lambda: placed(crds, namespace) == 2, timeout=30, message="two placeholders")
    wait_for_status(crds, namespace, "nsq/ours", {"buffered": {"requests.ephemeral-storage": "2Gi", "pods": "2"}})
    for name in ("one", "two"):
        real = pod(name)
        real["spec"]["containers"][0]["resources"]["requests"]["ephemeral-storage"] = "1Gi"
        crds.apply(real, namespace=namespace)
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 0})


def test_who_names_the_class_of_placeholders_gains_nothing(crds: Cluster, namespace: str) -> None:
    crds.apply(ours(**{"pods": 5, "requests.cpu": "5"}), namespace=namespace)
    wait_for_native(crds, namespace, PLACEHOLDERS, {"pods": "0", "requests.cpu": "0"})
    sneaky = pod("sneaky", priorityClassName="moorage-placeholder")
    with pytest.raises(KubectlError, match=f"exceeded quota: {PLACEHOLDERS}"):
        crds.apply(sneaky, namespace=namespace)
    crds.apply(
        pod_template(cpu="1"), buffer(podTemplateRef=UNIT, replicas=3, backend="Placeholder"), namespace=namespace
    )
    wait_for_native(crds, namespace, PLACEHOLDERS, {"pods": "3", "requests.cpu": "3"})
    wait_for(lambda: placed(crds, namespace) == 3, timeout=30, message="three placeholders")
    with pytest.raises(KubectlError, match=f"exceeded quota: {PLACEHOLDERS}"):
        crds.apply(sneaky, namespace=namespace)
    crds.kubectl("delete", "cbuf", "-n", namespace, "buffer")
    wait_for_native(crds, namespace, PLACEHOLDERS, {"pods": "0", "requests.cpu": "0"})


def test_active_and_suspended_units_count_as_if_they_ran_whatever_makes_them(crds: Cluster, namespace: str) -> None:
    """GKE's example: 60 active and 120 standby units. Nothing at all has been made for them here."""
    crds.apply(
        ours(**{"pods": 400, "requests.cpu": "400", "limits.memory": "400Gi", "services": 10}),
        pod_template(cpu="1"),
        buffer(podTemplateRef=UNIT, sizing=sizing()),
        namespace=namespace,
    )
    used = {"pods": "180", "requests.cpu": "180", "limits.memory": "0", "services": "0"}
    buffered = {"pods": "180", "requests.cpu": "180"}
    status = wait_for_status(
        crds, namespace, "nsq/ours", {"used": used, "buffered": buffered, "remaining": {"pods": "220"}}
    )
    assert status["used"] == used
    assert {"workload": "CapacityBuffer/buffer", "used": "180"} in next(
        each["top"] for each in status["holders"] if each["resource"] == "pods"
    )
    wait_for_native(crds, namespace, "moorage-ours", {"pods": "400", "requests.cpu": "400", "limits.memory": "400Gi"})
    wait_for_native(crds, namespace, "moorage.others-ours", {"services": "10"})
    wait_for_native(crds, namespace, PLACEHOLDERS, {"pods": "0", "requests.cpu": "0", "limits.memory": "0"})


def test_units_alone_bring_a_quota_neither_near_its_limit_nor_over_it(crds: Cluster, namespace: str) -> None:
    crds.apply(
        ours(pods=10),
        pod_template(),
        buffer(podTemplateRef=UNIT, replicas=10, backend="Placeholder"),
        namespace=namespace,
    )
    wait_for_status(crds, namespace, "nsq/ours", {"used": {"pods": "10"}, "utilization": {"pods": "100%"}})
    wait_for_condition(crds, namespace, "nsq/ours", "NearLimit", "False", "BelowThreshold")
    wait_for_condition(crds, namespace, "nsq/ours", "Exceeded", "False", "WithinHard")


def test_a_quota_that_ignores_buffers_neither_counts_nor_cuts_them(crds: Cluster, namespace: str) -> None:
    ignoring = ours(pods=3)
    ignoring["spec"]["buffers"] = "Ignore"
    crds.apply(
        ignoring, pod_template(), buffer(podTemplateRef=UNIT, replicas=8, backend="Placeholder"), namespace=namespace
    )
    wait_for(lambda: placed(crds, namespace) == 8, timeout=30, message="eight placeholders")
    status = wait_for_status(crds, namespace, "nsq/ours", {"used": {"pods": "0"}})
    assert "buffered" not in status
    wait_for_native(crds, namespace, PLACEHOLDERS, {"pods": "8"})
    patch(crds, namespace, "nsq/ours", {"spec": {"buffers": "Count"}})
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 3})
    wait_for_native(crds, namespace, PLACEHOLDERS, {"pods": "3"})


def test_no_buffer_starves_without_a_word(crds: Cluster, namespace: str) -> None:
    crds.apply(ours(pods=5), pod_template(), namespace=namespace)
    crds.apply(buffer("first", podTemplateRef=UNIT, replicas=5, backend="Placeholder"), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/first", {"replicas": 5})
    crds.apply(buffer("second", podTemplateRef=UNIT, replicas=2, backend="Placeholder"), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/second", {"replicas": 0})
    told = wait_for_condition(crds, namespace, "cbuf/second", LIMITED, "True", REASON)
    assert "5 for buffer first, which goes before" in told["message"]
    crds.kubectl("patch", "-n", namespace, "cbuf/second", "--type=merge", "-p", json.dumps({"spec": {"priority": 1}}))
    wait_for_made(crds, namespace, "deployments", {"first-placeholder": 3, "second-placeholder": 2})
    told = wait_for_condition(crds, namespace, "cbuf/first", LIMITED, "True", REASON)
    assert "2 for buffer second, which goes before" in told["message"]
    wait_for(lambda: placed(crds, namespace, "second") == 2, timeout=30, message="the placeholders of the urgent one")
