"""The autoscalers' API (autoscaling.x-k8s.io CapacityBuffer) on a test's cluster, and controllers that answer on it.

The schema has the fields and rules of the CRD that Cluster Autoscaler ships (v1beta1 stored, v1alpha1 served too). The
controllers write what the real ones write on an object and make no nodes; the real Karpenter is tested elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import urllib3

from tests.cluster.objects import Object
from tests.cluster.rest import Rest, rest_client
from tests.controlplane.cluster import Cluster

GROUP, PLURAL = "autoscaling.x-k8s.io", "capacitybuffers"
CRD = f"{PLURAL}.{GROUP}"
UPSTREAM = CRD
"""What kubectl calls their objects."""
_POLL_SECONDS = 0.1
_STAMP = "2026-01-01T00:00:00Z"


def upstream_crd(*versions: str) -> Object:
    """The definition, serving these versions; the first is stored."""
    name_only = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}
    count = {"type": "integer", "format": "int32", "minimum": 0}
    quantity = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    spec = {
        "type": "object",
        "properties": {
            "provisioningStrategy": {"type": "string", "default": "buffer.x-k8s.io/active-capacity"},
            "podTemplateRef": name_only,
            "scalableRef": {
                "type": "object",
                "required": ["kind", "name"],
                "properties": {each: {"type": "string"} for each in ("apiGroup", "kind", "name")},
            },
            "replicas": count,
            "percentage": count,
            "limits": {"type": "object", "additionalProperties": quantity},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)"},
            {"rule": "!(has(self.podTemplateRef) && has(self.scalableRef))"},
        ],
    }
    condition = {
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            **{each: {"type": "string"} for each in ("type", "status", "reason", "message")},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": {"type": "integer", "format": "int64"},
        },
    }
    status = {
        "type": "object",
        "properties": {
            "conditions": {
                "type": "array",
                "items": condition,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            "podTemplateRef": name_only,
            "podTemplateGeneration": {"type": "integer", "format": "int64"},
            "provisioningStrategy": {"type": "string"},
            "replicas": {"type": "integer", "format": "int32"},
        },
    }
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": CRD,
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": "CapacityBuffer",
                "listKind": "CapacityBufferList",
                "plural": PLURAL,
                "singular": "capacitybuffer",
                "shortNames": ["cb"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": at == 0,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
                for at, version in enumerate(versions)
            ],
        },
    }


def install_upstream(cluster: Cluster, *versions: str) -> None:
    """Serve the API in these versions (both by default)."""
    cluster.apply(upstream_crd(*(versions or ("v1beta1", "v1alpha1"))))
    cluster.wait_until_served(UPSTREAM)


def remove_upstream(cluster: Cluster) -> None:
    """Stop to serve the API; its objects go too."""
    cluster.kubectl("delete", "crd", CRD, "--ignore-not-found", "--timeout=30s")


def says(reason: str, *, observed: int = 0, kind: str = "ReadyForProvisioning") -> Object:
    """A condition."""
    condition = {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": _STAMP}
    return condition | ({"observedGeneration": observed} if observed else {})


def karpenter(stored: Object) -> Object | None:
    """What Karpenter writes: the strategy does not matter to it."""
    return {
        "replicas": stored["spec"].get("replicas"),
        "provisioningStrategy": stored["spec"]["provisioningStrategy"],
        "conditions": [says("Resolved", observed=stored["metadata"]["generation"])],
    }


def cluster_autoscaler(stored: Object) -> Object | None:
    """What Cluster Autoscaler writes: nothing on strategies that it does not know."""
    if stored["spec"]["provisioningStrategy"] not in ("", "buffer.x-k8s.io/active-capacity"):
        return None
    return gke(stored)


def gke(stored: Object) -> Object | None:
    """What GKE writes, which knows standby too."""
    return {
        "replicas": stored["spec"].get("replicas"),
        "provisioningStrategy": stored["spec"]["provisioningStrategy"],
        "conditions": [says("AttributesSetSuccessfully")],
    }


class Controller:
    """Answers on every object of the API until it is stopped."""

    def __init__(self, rest: Rest, answer: Any, version: str = "v1beta1") -> None:
        self._rest = rest
        self._answer = answer
        self._path = f"/apis/{GROUP}/{version}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it as a crash would: what it wrote stays."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            with suppress(urllib3.exceptions.HTTPError, AssertionError, ValueError):  # the API may be gone
                for stored in self._rest.request("GET", f"{self._path}/{PLURAL}").require()["items"]:
                    self._reconcile(stored)

    def _reconcile(self, stored: Object) -> None:
        wanted = self._answer(stored)
        if wanted is None or _is_there(wanted, stored.get("status") or {}):
            return
        meta = stored["metadata"]
        path = f"{self._path}/namespaces/{meta['namespace']}/{PLURAL}/{meta['name']}/status"
        self._rest.request("PATCH", path, {"status": wanted}, content_type="application/merge-patch+json")


def _is_there(wanted: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    return all(status.get(name) == value for name, value in wanted.items())


@contextmanager
def controller(cluster: Cluster, answer: Any, version: str = "v1beta1") -> Iterator[Controller]:
    """A controller for the length of a block."""
    with rest_client(cluster.kubeconfig) as rest:
        found = Controller(rest, answer, version)
        try:
            yield found
        finally:
            found.stop()
