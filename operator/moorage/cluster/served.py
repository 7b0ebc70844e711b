"""What kinds of admission policies the API server has."""

from __future__ import annotations

from moorage.cluster.client import Client

_PATH = "/apis/admissionregistration.k8s.io/v1"


async def serves_mutating_policies(client: Client) -> bool:
    """Tell whether MutatingAdmissionPolicies of version v1 are served, as by default since Kubernetes 1.36.

    Raises ClusterError.
    """
    found = await client.get(_PATH)
    return any(each["name"] == "mutatingadmissionpolicies" for each in found.get("resources") or ())
