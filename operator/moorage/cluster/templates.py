"""Pod templates as JSON, made of what comes from the API server so that equal ones are equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.objects import PodSpec, PodTemplate

_TOKEN_VOLUME = "kube-api-access-"
"""What the API server puts in front of the random name of the token volume that it adds to each pod."""
_OF_ONE_POD = ("nodeName", "hostname")
_LABELS_OF_ONE_POD = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "statefulset.kubernetes.io/pod-name",
)

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_decode_template = msgspec.json.Decoder(PodTemplate).decode


def template_of_trial(pod: Mapping[str, Any]) -> bytes:
    """Return the template that pods are made of which are stored like the pod of a trial."""
    return _encoded(_labels(pod.get("metadata") or {}), _without_own(pod.get("spec") or {}))


def template_of_pod(pod: Mapping[str, Any]) -> bytes:
    """Return the template that pods like a stored one are made of: without what is of that pod alone.

    Whoever runs pods annotates them one by one, so annotations are left out.
    """
    labels = (pod.get("metadata") or {}).get("labels") or {}
    shared = {name: value for name, value in labels.items() if name not in _LABELS_OF_ONE_POD}
    return _encoded({"labels": shared} if shared else {}, _without_own(pod.get("spec") or {}))


def pod_of_template(template: bytes, *, name: str) -> dict[str, Any]:
    """Return a pod to be created from a template."""
    decoded = _decode(template)
    metadata = {"name": name, **_labels(decoded.get("metadata") or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": decoded["spec"]}


def template_spec(template: bytes) -> PodSpec | None:
    """Read a template's pod spec; None when it is none: a custom kind's field may hold anything.

    Raises msgspec.MsgspecError when it is JSON of another shape.
    """
    spec = _decode_template(template).spec
    return spec if spec.containers else None


def _encoded(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> bytes:
    return _encode({"metadata": metadata, "spec": spec})


def _labels(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}


def _without_own(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in spec.items() if name not in _OF_ONE_POD}
    kept["volumes"] = [each for each in spec.get("volumes") or () if not each["name"].startswith(_TOKEN_VOLUME)]
    for name in ("initContainers", "containers"):
        kept[name] = [_without_token(each) for each in spec.get(name) or ()]
    return {name: value for name, value in kept.items() if value not in ([], {})}


def _without_token(container: Mapping[str, Any]) -> dict[str, Any]:
    mounts = [each for each in container.get("volumeMounts") or () if not each["name"].startswith(_TOKEN_VOLUME)]
    rest = {name: value for name, value in container.items() if name != "volumeMounts"}
    return {**rest, "volumeMounts": mounts} if mounts else rest
