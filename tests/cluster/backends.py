"""What tests of backends share: the placeholders' class, the autoscalers' API, and a controller of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.objects import Object
from tests.cluster.rest import rest_client
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.waiting import wait_for

REPOSITORY = Path(__file__).parents[2]
PRIORITY_CLASS: Object = yaml.safe_load((REPOSITORY / "manifests" / "base" / "priorityclass.yaml").read_text())
OWNED = "app.kubernetes.io/managed-by=moorage"
_BUILT_IN = {"deployments": ("Deployment", "apps/v1"), "podtemplates": ("PodTemplate", "v1")}


@pytest.fixture(scope="session")
def placeholder_class(crds: Cluster) -> Iterator[str]:
    """The PriorityClass of placeholders, as it is shipped."""
    crds.apply(PRIORITY_CLASS)
    yield PRIORITY_CLASS["metadata"]["name"]
    crds.kubectl("delete", "priorityclass", PRIORITY_CLASS["metadata"]["name"])


def made(cluster: Cluster, namespace: str, kind: str) -> dict[str, Object]:
    """Return the objects of a kind that were made for buffers, by name; none where the kind is not served."""
    if kind in _BUILT_IN:
        with rest_client(cluster.kubeconfig) as rest:
            listed = rest.items(namespace, *_BUILT_IN[kind], selector=OWNED)
        return {each["metadata"]["name"]: each for each in listed}
    try:
        found = cluster.get("-n", namespace, kind, "-l", OWNED)
    except KubectlError as error:
        if "the server doesn't have a resource type" in error.stderr or "could not find" in error.stderr:
            return {}
        raise
    return {each["metadata"]["name"]: each for each in found}


def wait_for_made(
    cluster: Cluster, namespace: str, kind: str, expected: Mapping[str, Any], *, timeout: float = 15.0
) -> None:
    """Wait until exactly these objects have been made, by name and `spec.replicas`."""

    def sizes() -> dict[str, Any]:
        return {name: each.get("spec", {}).get("replicas") for name, each in made(cluster, namespace, kind).items()}

    wait_for(
        lambda: sizes() == dict(expected), timeout=timeout, message=lambda: f"{kind} {expected}; there are {sizes()}"
    )


def patch(cluster: Cluster, namespace: str, resource: str, changes: Mapping[str, Any], *further: str) -> None:
    """Merge changes into an object."""
    cluster.kubectl("patch", "-n", namespace, resource, "--type=merge", "-p", json.dumps(changes), *further)


@contextmanager
def nodes(cluster: Cluster, count: int, label: str, **shape: Any) -> Iterator[list[str]]:
    """Nodes of a test's own: with this label and taint (`moorage-test`), which `on_nodes` asks for."""
    taint = {"key": "moorage-test", "value": label, "effect": "NoSchedule"}
    names = cluster.add_nodes(count, labels={"moorage-test": label}, taints=[taint], **shape)
    try:
        yield names
    finally:
        cluster.kubectl("delete", "node", *names, "--wait=false")


def on_nodes(label: str) -> Object:
    """The fields of a pod spec that put it on nodes with this label."""
    return {
        "nodeSelector": {"moorage-test": label},
        "tolerations": [{"key": "moorage-test", "operator": "Equal", "value": label, "effect": "NoSchedule"}],
    }
