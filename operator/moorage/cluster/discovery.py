"""From a group and a kind to the path under which the API server serves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError

IMPLIED_GROUPS = ("", "apps", "batch")
"""Where a kind is looked for when no group is given: the core group, then those of the built-in workloads."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A namespaced resource as it is served."""

    group: str
    version: str
    plural: str
    has_scale: bool

    def path(self, namespace: str) -> str:
        """Return the path of the collection in a namespace."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}"

    @property
    def label(self) -> str:
        """`deployments.apps`, as in RBAC rules and `kubectl get`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


async def find_resource(client: Client, group: str | None, kind: str) -> Resource | None:
    """Return the resource of a kind in its group's preferred version, or None when it is not served.

    Without a group the core group is searched, then `apps` and `batch`. Raises ClusterError.
    """
    for each in [group] if group else IMPLIED_GROUPS:
        version = await _preferred_version(client, each)
        if version is None:
            continue
        root = f"/apis/{each}/{version}" if each else f"/api/{version}"
        resources: list[dict[str, Any]] = (await client.get(root)).get("resources") or []
        names = {resource["name"] for resource in resources}
        for resource in resources:
            if resource["kind"] == kind and resource["namespaced"] and "/" not in resource["name"]:
                return Resource(each, version, resource["name"], f"{resource['name']}/scale" in names)
    return None


async def _preferred_version(client: Client, group: str) -> str | None:
    if not group:
        return "v1"
    try:
        found = await client.get(f"/apis/{group}")
    except ApiError as error:
        if error.not_found:
            return None
        raise
    return str(found["preferredVersion"]["version"])
