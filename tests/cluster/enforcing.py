"""Quotas that are enforced: made, changed, looked at, and the scenario that they are to pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cluster.crds import OURS
from tests.cluster.native import NSQ, RQ
from tests.cluster.objects import Object, wait_for_condition
from tests.cluster.pod_shapes import limits, pod
from tests.cluster.policies import pod_of
from tests.cluster.rest import Answer, Rest
from tests.controlplane.cluster import Cluster

PROJECTED = "moorage-team"
WITHOUT_MUTATING_POLICIES = [
    "--feature-gates=MutatingAdmissionPolicy=false",
    *(
        f"--runtime-config=admissionregistration.k8s.io/v1/{kind}=false"
        for kind in ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
    ),
]
"""Flags that take from an API server what it has had since Kubernetes 1.36."""
SCENARIO = {
    "hard": {"requests.cpu": "2", "requests.memory": "2Gi", "pods": 6},
    "limits": limits(
        Container={"defaultRequest": {"cpu": "200m", "memory": "256Mi"}}, Pod={"max": {"cpu": "1", "memory": "1Gi"}}
    ),
}


def enforced_quota(name: str, spec: Mapping[str, Any]) -> Object:
    """A NamespaceQuota as it is without a word about enforcement."""
    return {"apiVersion": OURS, "kind": NSQ, "metadata": {"name": name}, "spec": dict(spec)}


def enforce(cluster: Cluster, rest: Rest, namespace: str, spec: Object, name: str = "team") -> Object:
    """Make a quota and wait until it is proved to be in force; return the condition that says so."""
    rest.create(namespace, enforced_quota(name, spec)).require()
    return wait_for_condition(cluster, namespace, f"nsq/{name}", "Enforced", "True", "Proved", timeout=30)


def change(rest: Rest, namespace: str, spec: Object, name: str = "team") -> None:
    """Merge changes into the spec of a quota."""
    rest.patch(namespace, NSQ, name, {"spec": spec}, version=OURS).require()


def projected(rest: Rest, namespace: str, name: str = PROJECTED) -> Object | None:
    """Return the ResourceQuota that was made for a quota."""
    answer = rest.get(namespace, RQ, name)
    return answer.body if answer.ok else None


def create(rest: Rest, namespace: str, name: str, *containers: Object, **spec: Any) -> Answer:
    """Create a pod that nothing starts, so that it is gone as soon as it is deleted."""
    return rest.create(namespace, pod_of({**pod(*containers), "schedulerName": "nobody", **spec}, name=name))
