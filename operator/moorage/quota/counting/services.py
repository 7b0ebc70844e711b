"""What a Service counts for.

Follows `pkg/quota/v1/evaluator/core/services.go` of Kubernetes v1.36.
"""

from __future__ import annotations

from moorage.objects import Service, ServiceSpec
from moorage.quantity import NANO
from moorage.quota.names import COUNT, LOAD_BALANCERS, NODE_PORTS, SERVICES
from moorage.quota.usage import ObjectUse, Shapes


def service_use(service: Service, shapes: Shapes) -> ObjectUse:
    """Return the record of a stored service."""
    counted = {f"{COUNT}{SERVICES}": NANO}
    if service.spec.type == "LoadBalancer":
        counted[LOAD_BALANCERS] = NANO
    if ports := _node_ports(service.spec):
        counted[NODE_PORTS] = ports * NANO
    return shapes.use(SERVICES, service.metadata, counted, kind="Service")


def _node_ports(spec: ServiceSpec) -> int:
    """Count node ports: one per port, or only those that are set where the load balancer allocates none."""
    ports = spec.ports or ()
    if spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is False:
        return sum(1 for port in ports if port.node_port)
    return len(ports) if spec.type in ("LoadBalancer", "NodePort") else 0
