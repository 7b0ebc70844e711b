"""Rows of upstream's tests that are about what a reference finds or misses, on a real API server."""

from __future__ import annotations

import pytest

from tests.cluster.objects import Object, buffer, deployment, pod_spec, status_of, wait_for_condition, wait_for_status
from tests.controlplane.cluster import Cluster
from tests.unit.buffer_rows import ROWS

pytestmark = pytest.mark.usefixtures("operator")

WEB = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
OUR_REASONS = {
    "PodTemplateNotFound": "TemplateNotFound",
    "ScalableRefNotFound": "WorkloadNotFound",
    "ResolutionFailed": "KindNotServed",
}
"""Of Ready, for Karpenter's of ReadyForProvisioning."""


def sizes(row: str) -> Object:
    fields = {"replicas": "spec_replicas", "percentage": "spec_percentage"}
    return {name: int(ROWS[row][column]) for name, column in fields.items() if ROWS[row][column]}


@pytest.mark.parametrize(
    ("row", "reference"),
    [
        ("KP-S02", {"podTemplateRef": {"name": "nowhere"}}),
        ("KP-S04", {"scalableRef": WEB}),
        ("KP-S07", {"scalableRef": {**WEB, "apiGroup": "batch"}}),
    ],
)
def test_what_is_missing_is_told_and_has_no_size(crds: Cluster, namespace: str, row: str, reference: Object) -> None:
    condition, _, reason = ROWS[row]["expected_condition"].partition("/")
    assert condition == "ReadyForProvisioning=False"
    crds.apply(buffer(**reference, **sizes(row)), namespace=namespace)
    wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", OUR_REASONS[reason])
    assert "replicas" not in status_of(crds, namespace, "cbuf/buffer")


def test_a_deployment_without_pods_is_sized_by_its_scale(crds: Cluster, namespace: str) -> None:
    """Rows CA-I01 and CA-I02: no node is there, so none of its pods ever runs."""
    for row in ("CA-I01", "CA-I02"):
        replicas = int(ROWS[row]["scalable_replicas"])
        crds.apply(deployment(replicas=replicas), buffer(scalableRef=WEB, **sizes(row)), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": int(ROWS[row]["expected_replicas"])})


@pytest.mark.parametrize(("row", "kind"), [("CA-S02", "ReplicaSet"), ("KP-S05", "StatefulSet")])
def test_other_kinds_of_workload_are_sized_by_their_scale(crds: Cluster, namespace: str, row: str, kind: str) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec()}
    spec = {"replicas": int(ROWS[row]["scalable_replicas"]), "selector": {"matchLabels": labels}, "template": template}
    workload = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": spec}
    crds.apply(workload, buffer(scalableRef={**WEB, "kind": kind}, **sizes(row)), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": int(ROWS[row]["expected_replicas"])})
