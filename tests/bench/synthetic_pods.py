"""A hundred thousand pods of the size and shape that real clusters have, made as bytes when they are asked for.

A template per shape is encoded once; a pod is the template with its name, uid and version put in. So a server of them
needs neither memory nor much time, and what is measured is the reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

NAMESPACES = 300
SHAPES = 60
"""Workloads differ in requests, container count, environment and labels."""

_MARKS = ("@NAMESPACE@", "@NAME@", "@UID@", "@VERSION@")


def pod_bytes(number: int, version: int) -> bytes:
    """Return a pod as the API server encodes it, 3 to 7 KB."""
    pieces = _TEMPLATES[number % SHAPES]
    namespace = f"team-{number % NAMESPACES:03d}"
    name = f"service-{number % SHAPES:02d}-7d4b9c6f58-{number:06d}"
    uid = f"{number:08x}-5b6c-4d7e-8f90-0123456789ab"
    values = {"@NAMESPACE@": namespace, "@NAME@": name, "@UID@": uid, "@VERSION@": str(version)}
    return b"".join(values[piece].encode() if isinstance(piece, str) else piece for piece in pieces)


def pages(count: int, *, size: int, version: int) -> Iterator[bytes]:
    """Return a list of pods page by page."""
    for first in range(0, count, size):
        items = b",".join(pod_bytes(number, version) for number in range(first, min(first + size, count)))
        more = f',"continue":"{first + size}"' if first + size < count else ""
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"{more}}},"items":['
        yield head.encode() + items + b"]}"


def event(kind: str, number: int, version: int) -> bytes:
    """Return a line of a watch, without its end."""
    return b'{"type":"' + kind.encode() + b'","object":' + pod_bytes(number, version) + b"}"


def initial_end(version: int) -> bytes:
    """Return the bookmark that ends a streamed list."""
    annotations = {"k8s.io/initial-events-end": "true"}
    meta = {"resourceVersion": str(version), "creationTimestamp": None, "annotations": annotations}
    return json.dumps({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": meta}}).encode()


def _template(shape: int) -> dict[str, Any]:
    containers = [_container(shape, index) for index in range(1 + (shape % 3 == 2))]
    labels = {"app": f"service-{shape:02d}", "pod-template-hash": "7d4b9c6f58", "team": "@NAMESPACE@"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "@NAME@",
            "generateName": f"service-{shape:02d}-7d4b9c6f58-",
            "namespace": "@NAMESPACE@",
            "uid": "@UID@",
            "resourceVersion": "@VERSION@",
            "generation": 1,
            "creationTimestamp": "2026-10-01T08:00:00Z",
            "labels": labels | {f"example.com/label-{index}": "some-value" for index in range(shape % 5)},
            "annotations": {"prometheus.io/scrape": "true", "checksum/config": "0f" * 32},
            "ownerReferences": [_owner(shape)],
            "managedFields": [_managed("kube-controller-manager", containers), _managed("kubelet", containers)],
        },
        "spec": _spec(shape, containers),
        "status": _status(containers),
    }


def _spec(shape: int, containers: list[dict[str, Any]]) -> dict[str, Any]:
    sidecar = _container(shape, 9) | {"restartPolicy": "Always"}
    return {
        "volumes": [
            {"name": "config", "configMap": {"name": "config", "defaultMode": 420}},
            {"name": "kube-api-access-x7x2k", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
            ]}},
        ],
        **({"initContainers": [sidecar]} if shape % 4 == 0 else {}),
        "containers": containers,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "nodeName": f"ip-10-0-{shape}-17.eu-central-1.compute.internal",
        "securityContext": {"runAsNonRoot": True, "fsGroup": 65532},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": f"node.kubernetes.io/{kind}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for kind in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }  # fmt: skip


def _container(shape: int, index: int) -> dict[str, Any]:
    milli, mebibytes = 50 * (1 + shape % 7), 64 * (1 + shape % 11)
    return {
        "name": f"container-{index}",
        "image": f"registry.example.com/team/service-{shape:02d}:v1.{index}.{shape}",
        "env": [{"name": f"SETTING_{each}", "value": "some value of a setting"} for each in range(4 + shape % 6)],
        "resources": {
            "limits": {"cpu": f"{2 * milli}m", "memory": f"{2 * mebibytes}Mi"},
            "requests": {"cpu": f"{milli}m", "memory": f"{mebibytes}Mi"},
        },
        "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": True}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10, "failureThreshold": 3},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }


def _owner(shape: int) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"service-{shape:02d}-7d4b9c6f58",
            "uid": "11111111-2222-3333-4444-555555555555", "controller": True, "blockOwnerDeletion": True}  # fmt: skip


def _managed(manager: str, containers: list[dict[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        f'k:{{"name":"{container["name"]}"}}': {".": {}} | {f"f:{key}": {} for key in container}
        for container in containers
    }
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-10-01T08:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                                                   "f:spec": {"f:containers": fields}}}  # fmt: skip


def _status(containers: list[dict[str, Any]]) -> dict[str, Any]:
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "qosClass": "Burstable",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-10-01T08:00:05Z"}
            for kind in conditions
        ],
        "hostIP": "10.0.1.17",
        "podIP": "10.0.7.201",
        "startTime": "2026-10-01T08:00:00Z",
        "containerStatuses": [
            {
                "name": container["name"],
                "state": {"running": {"startedAt": "2026-10-01T08:00:04Z"}},
                "ready": True,
                "restartCount": 0,
                "image": container["image"],
                "imageID": f"{container['image']}@sha256:{'ab' * 32}",
                "containerID": f"containerd://{'cd' * 32}",
                "allocatedResources": container["resources"]["requests"],
                "resources": container["resources"],
            }
            for container in containers
        ],
    }


def _pieces(text: str) -> list[bytes | str]:
    """Cut a text at its marks, which stay as str."""
    for mark in _MARKS:
        text = text.replace(mark, f"\0{mark}\0")
    return [part if part in _MARKS else part.encode() for part in text.split("\0")]


_TEMPLATES = [_pieces(json.dumps(_template(shape), separators=(",", ":"))) for shape in range(SHAPES)]
