"""Objects for tests on a real cluster, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from moorage.api import GROUP
from tests.cluster.rest import rest_client
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for

Object = dict[str, Any]
SETTLE_SECONDS = 30.0
"""It takes less than one; the rest is for a slow machine."""
KINDS = {
    "nsq": ("NamespaceQuota", "moorage.dev/v1alpha1"),
    "cbuf": ("CapacityBuffer", "moorage.dev/v1alpha1"),
    "resourcequota": ("ResourceQuota", "v1"),
    "hpa": ("HorizontalPodAutoscaler", "autoscaling/v2"),
}
"""What tests look at again and again, by the short name; other kinds are looked at with kubectl."""
_NEVER_KNOWN = ("NodesNotWatched",)
"""Reasons of conditions that stay Unknown."""


def quota(name: str = "quota", **spec: Any) -> Object:
    """A NamespaceQuota; unless `enforcement` says otherwise it only counts, so that it refuses no test's pods."""
    full = {"enforcement": "Audit", **spec}
    return {"apiVersion": "moorage.dev/v1alpha1", "kind": "NamespaceQuota", "metadata": {"name": name}, "spec": full}


def buffer(name: str = "buffer", *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """A CapacityBuffer; nothing is made for it unless `backend` says so."""
    metadata = {"name": name} | ({"annotations": dict(annotations)} if annotations else {})
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "CapacityBuffer",
        "metadata": metadata,
        "spec": {"backend": "None"} | spec,
    }


def sizing(rate: Any = 2, resume: str = "30s", cold: str = "90s") -> Object:
    """The `sizing` of a CapacityBuffer."""
    return {"scaleUpRate": rate, "standbyResumeLatency": resume, "coldNodeLatency": cold}


def pod_spec(cpu: str = "100m", memory: str = "64Mi", **further: Any) -> Object:
    """A pod spec with one container that requests this much."""
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    return {"containers": [{"name": "app", "image": "app", "resources": resources}], **further}


def pod(name: str = "pod", **spec: Any) -> Object:
    """A pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(**spec)}


def pod_template(name: str = "unit", **spec: Any) -> Object:
    """A PodTemplate."""
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(**spec)}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": template}


def deployment(name: str = "web", replicas: int = 1, **spec: Any) -> Object:
    """A Deployment."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(**spec)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def condition(status: Mapping[str, Any], kind: str) -> Object:
    """Return one condition of a status; empty when it is not there."""
    return next((dict(each) for each in status.get("conditions", ()) if each["type"] == kind), {})


def status_in(found: Mapping[str, Any]) -> Object:
    """Return the status of an object; empty while it tells of an older spec than the object has now.

    What was true of the old spec is often what is waited for with the new one, and would end the wait too soon.
    """
    status = dict(found.get("status") or {})
    is_ours = str(found["apiVersion"]).startswith(f"{GROUP}/")
    return {} if is_ours and status.get("observedGeneration") != found["metadata"]["generation"] else status


def status_of(cluster: Cluster, namespace: str, resource: str) -> Object:
    """Return the status of an object such as `nsq/quota`; empty while it tells of an older spec."""
    with _looking(cluster, namespace, resource) as look:
        return look()


@contextmanager
def _looking(cluster: Cluster, namespace: str, resource: str) -> Iterator[Callable[[], Object]]:
    """Give a function that returns the status of an object now.

    A look by a request costs half a millisecond of a processor, by kubectl a hundred: others wait for that processor.
    """
    short, _, name = resource.partition("/")
    if short not in KINDS or not name:
        yield lambda: status_in(cluster.get("-n", namespace, resource))
        return
    kind, version = KINDS[short]
    with rest_client(cluster.kubeconfig) as rest:
        yield lambda: status_in(rest.get(namespace, kind, name, version).require())


def pods_of(cluster: Cluster, namespace: str, selector: str) -> list[Object]:
    """Return the pods with these labels, such as `app=web`; a look as cheap as that at a status."""
    with rest_client(cluster.kubeconfig) as rest:
        return rest.items(namespace, "Pod", selector=selector)


def wait_for_status(
    cluster: Cluster, namespace: str, resource: str, expected: Mapping[str, Any], *, timeout: float = SETTLE_SECONDS
) -> Object:
    """Wait until the status has these values (at any depth), and return it whole."""
    seen: Object = {}

    with _looking(cluster, namespace, resource) as look:

        def settled() -> bool:
            seen.clear()
            seen.update(look())
            return _contains(seen, expected)

        wait_for(settled, timeout=timeout, message=lambda: f"{resource} with {expected}; it has {seen}")
    return seen


def wait_for_condition(
    cluster: Cluster,
    namespace: str,
    resource: str,
    kind: str,
    status: str,
    reason: str,
    *,
    timeout: float = SETTLE_SECONDS,
) -> Object:
    """Wait until an object has a condition, and return that."""
    seen: Object = {}

    with _looking(cluster, namespace, resource) as look:

        def settled() -> bool:
            seen.clear()
            seen.update(condition(look(), kind))
            return (seen.get("status"), seen.get("reason")) == (status, reason)

        wait_for(settled, timeout=timeout, message=lambda: f"{resource} {kind}={status} ({reason}); it has {seen}")
    return seen


def wait_for_rest(cluster: Cluster, namespace: str, *resources: str) -> dict[str, str]:
    """Wait until nothing about objects of ours is left to be written, and return their versions.

    kopf's note may come after the status. A condition that is Unknown tells of something that is still being looked at,
    such as the workloads of a namespace: once it is known, there is one more write.
    """
    seen: dict[str, Object] = {}

    def is_at_rest(found: Object) -> bool:
        status = status_in(found)
        return (
            "moorage.dev/last-handled-configuration" in found["metadata"].get("annotations", {})
            and bool(status)
            and all(each["status"] != "Unknown" or each["reason"] in _NEVER_KNOWN for each in status["conditions"])
        )

    def rest() -> bool:
        seen.update({each: cluster.get("-n", namespace, each) for each in resources})
        return all(map(is_at_rest, seen.values()))

    wait_for(rest, timeout=SETTLE_SECONDS, message=lambda: f"nothing left to be written: {seen}")
    return {each: found["metadata"]["resourceVersion"] for each, found in seen.items()}


def versions(cluster: Cluster, namespace: str, *resources: str) -> dict[str, str]:
    """Return the version of each of these objects: another one, and somebody has written to it."""
    return {each: cluster.get("-n", namespace, each)["metadata"]["resourceVersion"] for each in resources}


def _contains(value: Any, expected: Any) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(value, Mapping) and all(_contains(value.get(name), each) for name, each in expected.items())
    return bool(value == expected)
