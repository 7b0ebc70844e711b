"""As much of an API server and its controllers as the cases of quota-cases.yaml need: what is stored, and when.

Nothing is refused here. What is stored reaches Moorage as it does from a real server: as JSON, through the decoder of
its kind. What each part follows is named beside it; it was seen on the live cluster that the cases come from.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from moorage.cluster.discovery import Resource
from moorage.handlers.counting import decoder
from moorage.objects import PodSpec
from moorage.quota.ledger import Ledger
from moorage.quota.usage import Shapes
from moorage.resources import with_defaults

Body = dict[str, Any]

NAMESPACE = "ns"
_FIRST_NODE_PORT = 30000

_SERVED = (
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("", "v1", "events", "Event"),
    Resource("", "v1", "limitranges", "LimitRange"),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource("", "v1", "pods", "Pod"),
    Resource("", "v1", "replicationcontrollers", "ReplicationController"),
    Resource("", "v1", "resourcequotas", "ResourceQuota"),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    Resource("", "v1", "services", "Service"),
    Resource("apps", "v1", "deployments", "Deployment"),
    Resource("apps", "v1", "replicasets", "ReplicaSet"),
    Resource("batch", "v1", "cronjobs", "CronJob"),
    Resource("batch", "v1", "jobs", "Job"),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource("example.com", "v1", "widgets", "Widget"),
    Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"),
    Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
)


class Api:
    """One namespace of a cluster; `cluster` are the objects that belong to no namespace."""

    def __init__(self, cluster: list[Body], ledger: Ledger, now: Callable[[], datetime]) -> None:
        self.objects: dict[str, Body] = {}
        """By kind and name, such as `Pod/web-0`."""
        self._cluster = cluster
        self._ledger = ledger
        self._now = now
        self._shapes = Shapes()
        self._served = {each.kind: each for each in _SERVED}
        self._classes = {
            each["metadata"]["name"]: each["spec"].get("extendedResourceName") for each in self._of("DeviceClass")
        }
        ledger.set_device_classes(self._classes)
        self._version = 0
        self._definitions: list[Body] = []
        # Namespaces are not empty when they are new (root-ca-cert-publisher, serviceaccounts controller).
        self.create({"kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}})
        self.create({"kind": "ServiceAccount", "metadata": {"name": "default"}})

    def serves(self, resource: str) -> bool:
        """Whether a namespaced resource such as `jobs.batch` exists."""
        return any(each.label == resource for each in self._served.values())

    def dump(self) -> list[Body]:
        """Return all that is stored, as `kubectl get` prints it."""
        found = [*self._definitions]
        for body in self.objects.values():
            resource = self._served[body["kind"]]
            version = f"{resource.group}/{resource.version}" if resource.group else resource.version
            found.append({**body, "apiVersion": version})
        return found

    def create(self, manifest: Body) -> None:
        """Store a manifest, and all that controllers make of it."""
        kind = manifest["kind"]
        if kind == "CustomResourceDefinition":
            self._definitions.append(manifest)
            spec = manifest["spec"]
            names = spec["names"]
            self._served[names["kind"]] = Resource(
                spec["group"], spec["versions"][0]["name"], names["plural"], names["kind"]
            )
            return
        body = {**manifest, "metadata": {**manifest["metadata"], "creationTimestamp": self._now().isoformat()}}
        match kind:
            case "Pod":
                body["spec"] = self._admitted_pod(body["spec"])
            case "Service":
                body["spec"] = self._allocated(body["spec"])
            case "PersistentVolumeClaim":
                body["spec"] = self._with_storage_class(body["spec"])
        self._store(body)
        for made in _made_by(body):
            self.create(made)
        if kind == "Pod":
            self._make_device_claims(body)

    def patch(self, name: str, patch: Any, *, subresource: str | None, type: str | None) -> None:
        """Change an object by a merge patch, a strategic merge patch or a JSON patch that removes."""
        body = self.objects[name]
        if type == "json":
            for step in patch:
                body = _without(body, step["path"])
        else:
            body = merged(body, patch, lists_by_name=type == "strategic")
        if body["kind"] == "Service":
            body["spec"] = self._allocated(body["spec"])
        if body["kind"] == "Pod" and subresource == "resize":
            body["spec"] = self._limit_ranged(body["spec"])
        self._store(body)

    def mark_deleted(self, name: str, deleted_at: datetime, grace: int) -> None:
        """Begin a deletion that something holds up: a node that does not answer, or a finalizer."""
        body = self.objects[name]
        meta = {"deletionTimestamp": deleted_at.isoformat(), "deletionGracePeriodSeconds": grace}
        self._store({**body, "metadata": body["metadata"] | meta})

    def bind(self, name: str) -> None:
        """Give a claim the volume that is meant for it (PV controller)."""
        body = self.objects[name]
        (volume,) = (
            each for each in self._of("PersistentVolume") if each["spec"]["claimRef"]["name"] == name.split("/")[1]
        )
        attributes = volume["spec"].get("volumeAttributesClassName")
        status = {"phase": "Bound"} | ({"currentVolumeAttributesClassName": attributes} if attributes else {})
        self._store(merged(body, {"status": status}))

    def _store(self, body: Body) -> None:
        self._version += 1
        kind, name = body["kind"], body["metadata"]["name"]
        identity = {"namespace": NAMESPACE, "uid": uid_of(kind, name), "resourceVersion": str(self._version)}
        body = {**body, "metadata": body["metadata"] | identity}
        self.objects[f"{kind}/{name}"] = body
        decode = decoder(self._served[kind], self._shapes, self._classes)
        self._ledger.put(decode(msgspec.json.encode(body)))

    # What admission fills in

    def _admitted_pod(self, raw: Body) -> Body:
        """Fill in overhead (RuntimeClass), the default PriorityClass, API defaults and those of LimitRanges."""
        spec = dict(raw)
        for runtime_class in self._of("RuntimeClass"):
            if runtime_class["metadata"]["name"] == raw.get("runtimeClassName"):
                spec["overhead"] = runtime_class["overhead"]["podFixed"]
        for priority_class in self._of("PriorityClass"):
            if priority_class.get("globalDefault"):
                spec.setdefault("priorityClassName", priority_class["metadata"]["name"])
        counted = msgspec.to_builtins(with_defaults(msgspec.convert(spec, PodSpec)))
        return self._limit_ranged({**raw, **counted})

    def _limit_ranged(self, spec: Body) -> Body:
        """Fill in the defaults of containers (LimitRanger; SetDefaults_LimitRangeItem)."""
        for limit_range in [each for each in self.objects.values() if each["kind"] == "LimitRange"]:
            for item in limit_range["spec"]["limits"]:
                if item["type"] != "Container":
                    continue
                limits = item.get("max", {}) | item.get("default", {})
                requests = item.get("min", {}) | limits | item.get("defaultRequest", {})
                for side in ("containers", "initContainers"):
                    for container in spec.get(side) or ():
                        given = container.get("resources") or {}
                        container["resources"] = {
                            "limits": limits | (given.get("limits") or {}),
                            "requests": requests | (given.get("requests") or {}),
                        }
        return spec

    def _with_storage_class(self, spec: Body) -> Body:
        """Fill in the default class (storageclass/setdefault)."""
        if spec.get("storageClassName") is None:
            for storage_class in self._of("StorageClass"):
                annotations = storage_class["metadata"].get("annotations", {})
                if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
                    return {**spec, "storageClassName": storage_class["metadata"]["name"]}
        return spec

    def _allocated(self, raw: Body) -> Body:
        """Give a service's ports the node ports that its type asks for; a type without them loses them."""
        spec = {"type": "ClusterIP", **raw}
        if spec["type"] == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
        ports = [dict(port) for port in spec.get("ports", ())]
        for at, port in enumerate(ports):
            if spec["type"] not in ("NodePort", "LoadBalancer"):
                port.pop("nodePort", None)
            elif spec["type"] == "NodePort" or spec["allocateLoadBalancerNodePorts"]:
                port.setdefault("nodePort", _FIRST_NODE_PORT + at)
        return {**spec, "ports": ports}

    # What controllers make

    def _make_device_claims(self, pod: Body) -> None:
        """Make the claims that a pod asks for by a template (resourceclaim controller)."""
        meta = pod["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "controller": True}
        for claim in pod["spec"].get("resourceClaims", ()):
            if template := claim.get("resourceClaimTemplateName"):
                spec = self.objects[f"ResourceClaimTemplate/{template}"]["spec"]["spec"]
                own = {"name": f"{meta['name']}-{claim['name']}", "ownerReferences": [owner]}
                self.create({"kind": "ResourceClaim", "metadata": own, "spec": spec})

    def _of(self, kind: str) -> list[Body]:
        return [each for each in self._cluster if each["kind"] == kind]


def uid_of(kind: str, name: str) -> str:
    """Return the uid that an object gets."""
    return f"{kind}-{name}".lower()


def _made_by(body: Body) -> list[Body]:
    """Return what the controller of a workload makes at once."""
    kind, name, spec = body["kind"], body["metadata"]["name"], body.get("spec", {})

    def meta(suffix: str) -> Body:
        owner = {"kind": kind, "name": name, "uid": uid_of(kind, name), "controller": True}
        return {"name": f"{name}-{suffix}", "ownerReferences": [owner]}

    match kind:
        case "Deployment":
            return [{"kind": "ReplicaSet", "metadata": meta("5d9f"), "spec": spec}]
        case "ReplicaSet" | "ReplicationController":
            count = spec.get("replicas", 1)
        case "Job":
            count = spec.get("parallelism", 1)
        case _:
            return []
    template = spec["template"]["spec"]
    return [{"kind": "Pod", "metadata": meta(str(number)), "spec": template} for number in range(count)]


def merged(value: Any, patch: Any, *, lists_by_name: bool = False) -> Any:
    """Apply a merge patch; a strategic one merges lists of named entries."""
    if isinstance(value, dict) and isinstance(patch, dict):
        return value | {key: merged(value.get(key), new, lists_by_name=lists_by_name) for key, new in patch.items()}
    if lists_by_name and isinstance(value, list) and isinstance(patch, list):
        patches = {each["name"]: each for each in patch}
        return [merged(each, patches.get(each["name"], {}), lists_by_name=True) for each in value]
    return patch


def _without(value: Any, path: str) -> Any:
    """Return a copy without the entry of a list at a JSON pointer."""
    first, _, rest = path.removeprefix("/").partition("/")
    if isinstance(value, dict):
        return {**value, first: _without(value[first], rest)}
    return [each for at, each in enumerate(value) if at != int(first)]
