"""The cases of quota-cases.yaml, and the objects they are about as an API server takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import yaml

from tests.cluster.rest import Object, Rest

Case = dict[str, Any]

_FILE = yaml.safe_load((Path(__file__).parents[1] / "data" / "quota-cases.yaml").read_text())
CASES: dict[str, Case] = {case["id"]: case for case in _FILE["cases"]}
LIMITED = [case for case in CASES if CASES[case].get("apiserver") == "limited"]
"""They need an API server that is told to admit some objects only under a quota."""
LIMITED_ADMISSION = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [
        {
            "name": "ResourceQuota",
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "ResourceQuotaConfiguration",
                **_FILE["limitedAdmissionConfig"],
            },
        }
    ],
}

NO_SCHEDULER = "nobody"
VERSIONS = {
    "PriorityClass": "scheduling.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
    "VolumeAttributesClass": "storage.k8s.io/v1",
    "DeviceClass": "resource.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "Lease": "coordination.k8s.io/v1",
}
"""The file leaves out `apiVersion` of the kinds that come with Kubernetes."""


class Prerequisites:
    """The cluster-scoped objects that cases count on; what was there before is left alone."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._made: list[Object] = []

    def make(self) -> None:
        for short in _FILE["prerequisites"]:
            # kwok would play the kubelet of a node that exists, and end its pods.
            if short["kind"] != "Node":
                manifest = completed(widgets() if short["kind"] == "CustomResourceDefinition" else short)
                answer = self._rest.create("", manifest)
                assert answer.ok or answer.code == 409, answer.message
                if answer.ok:
                    self._made.append(manifest)

    def remove(self) -> None:
        for manifest in self._made:
            self._rest.delete("", manifest["kind"], manifest["metadata"]["name"], manifest["apiVersion"])


def widgets(plural: str = "widgets", kind: str = "Widget", group: str = "example.com", version: str = "v1") -> Object:
    """The definition of a free-form kind."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": plural.removesuffix("s")},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def completed(manifest: Object, words: Mapping[str, str] | None = None) -> Object:
    """Return a short manifest with all that the file leaves out, and its words such as $NS put in."""
    text = json.dumps(manifest)
    for word, value in (words or {}).items():
        text = text.replace(word, value)
    whole: Object = json.loads(text)
    whole.setdefault("apiVersion", VERSIONS.get(whole["kind"], "v1"))
    _complete_pods(whole)
    return whole


def _complete_pods(node: Any) -> None:
    """Give every container an image, and every pod a scheduler that does not exist, so that nothing starts it."""
    if isinstance(node, list):
        for each in node:
            _complete_pods(each)
    elif isinstance(node, dict):
        if "containers" in node and all(isinstance(each, dict) and "name" in each for each in node["containers"]):
            node.setdefault("schedulerName", NO_SCHEDULER)
            if "nodeName" in node:
                node["nodeName"] = absent_node()
            for each in [*node["containers"], *node.get("initContainers", ())]:
                each.setdefault("image", "x")
        for each in node.values():
            _complete_pods(each)


def absent_node(chance: Random | None = None) -> str:
    """Return the name of a node that is not there, another one each time; the same ones for a seed.

    The pod collector waits 40 s from when it first misses a node, and then takes every pod on it: a pod on a node that
    an earlier test's pod was on would live for less.
    """
    return f"node-of-no-cluster-{(chance or SystemRandom()).getrandbits(32):08x}"


def contains(value: Any, parts: Any) -> bool:
    """Whether an object has these parts, at any depth."""
    if isinstance(parts, Mapping):
        return isinstance(value, Mapping) and all(contains(value.get(name), each) for name, each in parts.items())
    return bool(value == parts)
