"""What a Service counts for."""

from typing import Any

import msgspec
import pytest

from moorage.objects import Service
from moorage.quota.counting import service_use
from moorage.quota.usage import Shapes
from tests.builders import nano, service


def amounts(found: Service) -> dict[str, int]:
    return dict(service_use(found, Shapes()).shape.amounts)


@pytest.mark.parametrize(
    ("keywords", "load_balancers", "node_ports"),
    [
        pytest.param({"type": "ClusterIP", "ports": 3}, 0, 0, id="ClusterIP"),
        pytest.param({"type": None, "ports": 3}, 0, 0, id="no type is ClusterIP"),
        pytest.param({"type": "ExternalName", "ports": 2}, 0, 0, id="ExternalName"),
        pytest.param({"type": "NodePort", "ports": 3}, 0, 3, id="NodePort: one per port"),
        pytest.param({"type": "NodePort", "ports": 0}, 0, 0, id="NodePort without ports"),
        pytest.param({"type": "LoadBalancer", "ports": 2}, 1, 2, id="LoadBalancer: one per port"),
        pytest.param({"type": "LoadBalancer", "ports": 2, "allocates": True}, 1, 2, id="and when it says so"),
        pytest.param({"type": "LoadBalancer", "ports": 2, "allocates": False}, 1, 0, id="unless it allocates none"),
        pytest.param(
            {"type": "LoadBalancer", "ports": 3, "allocates": False, "node_ports": [32101]}, 1, 1, id="then those set"
        ),
        pytest.param(
            {"type": "LoadBalancer", "ports": 2, "allocates": False, "node_ports": [0, 0]}, 1, 0, id="and 0 is not set"
        ),
        pytest.param({"type": "NodePort", "ports": 2, "allocates": False}, 0, 2, id="which is nothing to NodePort"),
        pytest.param({"type": "ClusterIP", "ports": 1, "node_ports": [32101]}, 0, 0, id="nor a port to ClusterIP"),
    ],
)
def test_a_service_counts_with_its_load_balancer_and_node_ports(
    keywords: dict[str, Any], load_balancers: int, node_ports: int
) -> None:
    assert amounts(service(**keywords)) == {
        name: amount
        for name, amount in nano(
            **{
                "count/services": "1",
                "services.loadbalancers": str(load_balancers),
                "services.nodeports": str(node_ports),
            }
        ).items()
        if amount
    }


def test_the_api_servers_json_is_read_and_the_rest_skipped() -> None:
    encoded = b"""{"apiVersion": "v1", "kind": "Service",
      "metadata": {"name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7", "annotations": {"a": "b"}},
      "spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "allocateLoadBalancerNodePorts": false,
        "ports": [{"port": 80, "nodePort": 31000, "targetPort": "http"}, {"port": 81, "targetPort": 8081}]},
      "status": {"loadBalancer": {}}}"""
    record = service_use(msgspec.json.decode(encoded, type=Service), Shapes())
    assert (record.uid, record.namespace, record.name, record.resource_version) == ("u", "n", "web", 7)
    assert (record.shape.resource, record.shape.facts, record.holder) == ("services", None, "Service/web")
    assert record.shape.amounts == nano(
        **{"count/services": "1", "services.loadbalancers": "1", "services.nodeports": "1"}
    )
