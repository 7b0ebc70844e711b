"""An operator for some namespaces only does not read nodes: it says so, and counts the placeholders it can see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.backends import nodes, on_nodes
from tests.cluster.objects import buffer, condition, deployment, pod_template, wait_for_condition, wait_for_status
from tests.controlplane import ControlPlane
from tests.controlplane.cluster import Cluster
from tests.operator_process import OperatorProcess

UNIT = {"name": "unit"}


@pytest.mark.usefixtures("placeholder_class")
def test_placeholders_are_counted_and_nothing_else_is_claimed(
    crds: Cluster,
    own_control_plane: ControlPlane,
    namespace: str,
    start_operator: Callable[..., OperatorProcess],
) -> None:
    start_operator("-n", namespace)
    place = on_nodes(namespace)
    with nodes(own_control_plane, 2, namespace, cpu="4"):
        crds.apply(
            pod_template(cpu="1", **place),
            buffer("virtual", podTemplateRef=UNIT, replicas=2),
            buffer("held", backend="Placeholder", podTemplateRef=UNIT, replicas=8),
            namespace=namespace,
        )
        wait_for_status(crds, namespace, "cbuf/held", {"active": {"replicas": 8, "readyReplicas": 8}})
        unknown = wait_for_condition(crds, namespace, "cbuf/virtual", "Provisioned", "Unknown", "NodesNotWatched")
        assert "--namespace" in unknown["message"]

        crds.apply(deployment(replicas=3, cpu="1", **place), namespace=namespace)
        expected = {"active": {"readyReplicas": 5, "consumed": 3}}
        status = wait_for_status(crds, namespace, "cbuf/held", expected)
        assert condition(status, "Infeasible")["reason"] == "NodesNotWatched"
