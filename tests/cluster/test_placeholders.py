"""Backend Placeholder: pods that hold the room of units, give way to any other pod, and come back."""

from __future__ import annotations

import pytest

from tests.cluster.backends import PRIORITY_CLASS, nodes, on_nodes, patch, wait_for_made
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
from tests.controlplane.cluster import Cluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.waiting import wait_for

pytestmark = pytest.mark.usefixtures("operator", "placeholder_class")

UNIT = {"name": "unit"}


def placeholders(cluster: Cluster, namespace: str, name: str = "buffer") -> list[Object]:
    """The pods of a buffer's placeholders that are not going away."""
    found = pods_of(cluster, namespace, f"moorage.dev/buffer={name}")
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


def running(pods: list[Object]) -> list[Object]:
    return [each for each in pods if each["status"].get("phase") == "Running"]


def test_a_buffer_is_a_deployment_of_pods_with_the_requests_of_the_unit(crds: Cluster, namespace: str) -> None:
    crds.apply(
        pod_template(cpu="250m"), buffer(podTemplateRef=UNIT, replicas=3, backend="Placeholder"), namespace=namespace
    )
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 3})
    wait_for(lambda: len(placeholders(crds, namespace)) == 3, timeout=15, message="three placeholders")
    spec = placeholders(crds, namespace)[0]["spec"]
    assert spec["priority"] == PRIORITY_CLASS["value"]
    assert spec["preemptionPolicy"] == "Never"
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "250m", "memory": "64Mi"}
    status = wait_for_status(crds, namespace, "cbuf/buffer", {"backend": {"name": "Placeholder"}})
    assert status["backend"]["reason"] == "spec.backend is Placeholder"


def test_the_size_is_followed_both_ways(crds: Cluster, namespace: str) -> None:
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=2, backend="Placeholder"), namespace=namespace)
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 2})
    for size in (5, 1, 0):
        crds.kubectl("scale", "-n", namespace, "cbuf/buffer", f"--replicas={size}")
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": size})


def test_pods_push_placeholders_out_and_the_buffer_fills_up_again(
    own_control_plane: ControlPlane, namespace: str
) -> None:
    """A node with room for four: four units, then three pods, for which three units have to go."""
    cluster = own_control_plane
    with nodes(cluster, 1, namespace, cpu="4200m"):
        shape = {"cpu": "1", **on_nodes(namespace)}
        cluster.apply(
            deployment(replicas=0, **shape),
            buffer(
                scalableRef={"apiGroup": "apps", "kind": "Deployment", "name": "web"},
                replicas=4,
                backend="Placeholder",
            ),
            namespace=namespace,
        )
        wait_for(lambda: len(running(placeholders(cluster, namespace))) == 4, timeout=30, message="four placeholders")
        cluster.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=3")
        wait_for(
            lambda: len(running(pods_of(cluster, namespace, "app=web"))) == 3,
            timeout=30,
            message="three pods of the workload",
        )
        wait_for(
            lambda: (len(running(placeholders(cluster, namespace))), len(placeholders(cluster, namespace))) == (1, 4),
            timeout=30,
            message="one unit left, three that wait for room",
        )
        with nodes(cluster, 1, namespace, cpu="4200m"):
            wait_for(
                lambda: len(running(placeholders(cluster, namespace))) == 4, timeout=30, message="four units again"
            )


def test_units_that_were_taken_come_back_one_by_one(own_control_plane: ControlPlane, namespace: str) -> None:
    """450 an hour is one every eight seconds; the first comes at once."""
    cluster = own_control_plane
    with nodes(cluster, 1, namespace, cpu="4200m"):
        web = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
        cluster.apply(
            deployment(replicas=0, cpu="1", **on_nodes(namespace)),
            buffer(scalableRef=web, replicas=4, backend="Placeholder", refill="450/h"),
            namespace=namespace,
        )
        wait_for_status(cluster, namespace, "cbuf/buffer", {"readyReplicas": 4}, timeout=30)
        cluster.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=3")
        status = wait_for_status(
            cluster, namespace, "cbuf/buffer", {"replicas": 3, "refill": {"withheld": 1}}, timeout=40
        )
        assert status["refill"]["nextTime"]
        status = wait_for_status(cluster, namespace, "cbuf/buffer", {"replicas": 4}, timeout=30)
        assert "refill" not in status


def test_a_workload_whose_pods_cannot_push_placeholders_out_is_told(crds: Cluster, namespace: str) -> None:
    template = pod_template()
    template["template"]["spec"]["preemptionPolicy"] = "Never"
    crds.apply(template, buffer(podTemplateRef=UNIT, replicas=1, backend="Placeholder"), namespace=namespace)
    found = wait_for_condition(crds, namespace, "cbuf/buffer", "Warning", "True", "PreemptionNever")
    assert "cannot push placeholders out" in found["message"]


def test_what_was_made_goes_with_backend_none(crds: Cluster, namespace: str) -> None:
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=2, backend="Placeholder"), namespace=namespace)
    wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 2})
    patch(crds, namespace, "cbuf/buffer", {"spec": {"backend": "None"}})
    wait_for_made(crds, namespace, "deployments", {})
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2, "backend": {"name": "None"}})
    assert condition(status_of(crds, namespace, "cbuf/buffer"), "Ready")["status"] == "True"
