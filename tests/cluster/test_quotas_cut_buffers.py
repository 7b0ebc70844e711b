"""A buffer holds what the quotas of its namespace leave, and says which quota and which other buffer has the rest."""

from __future__ import annotations

import pytest

from tests.cluster.objects import (
    Object,
    buffer,
    deployment,
    pod_template,
    quota,
    sizing,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane.cluster import Cluster

pytestmark = pytest.mark.usefixtures("operator")

UNIT = {"name": "unit"}
WEB = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
LIMITED, REASON = "LimitedByQuotas", "ResourceQuotasAllocated"


def resource_quota(**hard: str | int) -> Object:
    spec = {"hard": hard}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "theirs"}, "spec": spec}


def test_two_buffers_share_a_quota_as_cluster_autoscaler_has_it(crds: Cluster, namespace: str) -> None:
    """Rows CA-Q15a to CA-Q15e."""
    crds.apply(pod_template(cpu="1"), resource_quota(cpu=5), namespace=namespace)
    for name, replicas in (("b1", 2), ("b2", 4)):
        crds.apply(buffer(name, podTemplateRef=UNIT, replicas=replicas), namespace=namespace)
        wait_for_status(crds, namespace, f"cbuf/{name}", {"observedGeneration": 1})
    for b1, b2, change in (
        (2, 3, None),
        (4, 1, buffer("b1", podTemplateRef=UNIT, replicas=4)),
        (4, 4, resource_quota(cpu=10)),
    ):
        if change is not None:
            crds.apply(change, namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/b1", {"replicas": b1})
        wait_for_status(crds, namespace, "cbuf/b2", {"replicas": b2})
        wait_for_condition(crds, namespace, "cbuf/b1", LIMITED, "False", REASON)
        told = wait_for_condition(crds, namespace, "cbuf/b2", LIMITED, "False" if b2 == 4 else "True", REASON)
        assert ("for buffer b1, which goes before" in told["message"]) == (b2 < 4)


def test_priority_goes_before_age(crds: Cluster, namespace: str) -> None:
    crds.apply(
        pod_template(), resource_quota(pods=10), buffer("old", podTemplateRef=UNIT, replicas=8), namespace=namespace
    )
    wait_for_status(crds, namespace, "cbuf/old", {"replicas": 8})
    crds.apply(buffer("urgent", podTemplateRef=UNIT, replicas=8, priority=100), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/urgent", {"replicas": 8})
    wait_for_status(crds, namespace, "cbuf/old", {"replicas": 2, "sizing": {"room": 2}})


def test_a_cut_takes_standby_first_and_gives_way_to_pods_that_come(crds: Cluster, namespace: str) -> None:
    crds.apply(
        quota("ours", hard={"pods": 100}, enforcement="Enforce"),
        deployment(replicas=0),
        buffer("web", scalableRef=WEB, sizing=sizing()),
        namespace=namespace,
    )
    expected = {"replicas": 100, "active": {"replicas": 60}, "standby": {"replicas": 40}}
    status = wait_for_status(crds, namespace, "cbuf/web", expected)
    assert status["sizing"]["explanation"].endswith("quotas leave room for 100, which decides")
    crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=15")
    wait_for_status(crds, namespace, "cbuf/web", {"active": {"replicas": 60}, "standby": {"replicas": 25}})
    told = wait_for_condition(crds, namespace, "cbuf/web", LIMITED, "True", REASON)
    assert "NamespaceQuota ours has room for 85 (of pods 100, 15 in use)" in told["message"]
    crds.kubectl("delete", "nsq", "ours", "-n", namespace)
    wait_for_status(crds, namespace, "cbuf/web", {"replicas": 180})
    wait_for_condition(crds, namespace, "cbuf/web", LIMITED, "False", REASON)
