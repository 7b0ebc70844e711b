"""From a group and a kind to the path under which the API server serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
    kind: str
    has_scale: bool = False

    def path(self, namespace: str | None) -> str:
        """Return the path of the collection in a namespace, or in all of them."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    @property
    def label(self) -> str:
        """`deployments.apps`, as in quotas and `kubectl get`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def rule(self, *verbs: str, subresource: str = "") -> str:
        """Say which RBAC rule gives the operator these verbs."""
        group = self.group or '""'
        return f"give the operator's ClusterRole {', '.join(verbs)} on {self.plural}{subresource} in API group {group}"


async def find_kind(client: Client, group: str | None, kind: str) -> Resource | None:
    """Return the resource of a kind, or None when it is not served; its version is that of `find_resource`.

    Without a group the core group is searched, then `apps` and `batch`. Raises ClusterError.
    """
    for each in [group] if group else IMPLIED_GROUPS:
        async for resource in _served(client, each):
            if resource.kind == kind:
                return resource
    return None


async def find_resource(client: Client, label: str) -> Resource | None:
    """Return a resource such as `secrets` or `deployments.apps` in its group's preferred version, or in another one of
    the group when that does not have it, as is usual where some kinds are younger than others.

    None when it is not served, not namespaced, or cannot be listed and watched. Raises ClusterError.
    """
    plural, _, group = label.partition(".")
    async for resource in _served(client, group):
        if resource.plural == plural:
            return resource
    return None


async def is_aggregated(client: Client, resource: Resource) -> bool:
    """Whether a resource is served by an aggregated API server; False when that cannot be found out.

    Raises UnreachableError.
    """
    name = f"{resource.version}.{resource.group}"
    if not resource.group:
        return False
    try:
        found = await client.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")
    except ApiError:
        return False
    return (found.get("spec") or {}).get("service") is not None


async def _served(client: Client, group: str) -> AsyncIterator[Resource]:
    """Yield what a group serves in namespaces and lets us list and watch, the preferred version first."""
    for version in await _versions(client, group):
        try:
            found = await client.get(f"/apis/{group}/{version}" if group else f"/api/{version}")
        except ApiError as error:
            if error.not_found:
                continue
            raise
        resources: list[dict[str, Any]] = found.get("resources") or []
        names = {each["name"] for each in resources}
        for each in resources:
            if each["namespaced"] and "/" not in each["name"] and {"list", "watch"} <= set(each.get("verbs") or ()):
                scale = f"{each['name']}/scale" in names
                yield Resource(group, version, each["name"], each["kind"], has_scale=scale)


async def _versions(client: Client, group: str) -> list[str]:
    """Return the versions of a group, the preferred one first; none when the group is not served."""
    if not group:
        return ["v1"]
    try:
        found = await client.get(f"/apis/{group}")
    except ApiError as error:
        if error.not_found:
            return []
        raise
    preferred = str(found["preferredVersion"]["version"])
    return [preferred, *(each["version"] for each in found["versions"] if each["version"] != preferred)]
