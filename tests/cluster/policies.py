"""The admission policies on a real API server, and when they have taken effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.native import our_quota
from tests.cluster.rest import Answer, Object, Rest
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.waiting import wait_for
from tests.manifests.documents import POLICIES

ENFORCED = "moorage.dev/enforced"
PROBE = "moorage.dev/probe"
DEFAULTED = "moorage.dev/defaulted"


@pytest.fixture(scope="session")
def policies(crds: Cluster, rest: Rest) -> Iterator[Cluster]:
    """The cluster with the policies installed; they concern namespaces with a label, and no others."""
    crds.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(POLICIES))
    _wait_until_in_force_anywhere(crds, rest)
    yield crds
    crds.kubectl("delete", "-k", str(POLICIES), "--ignore-not-found")


def judged(rest: Rest, namespace: str, spec: Mapping[str, Any], **metadata: Any) -> Answer:
    """Send a pod that is not stored."""
    return rest.create(namespace, pod_of(spec, **metadata), dryRun="All")


def pod_of(spec: Mapping[str, Any], **metadata: Any) -> Object:
    """A pod with a name of its own."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "pod-", **metadata}, "spec": dict(spec)}


def wait_until_judged(cluster: Cluster, namespace: str, *, timeout: float = 60.0) -> None:
    """Wait until policies can be evaluated in a namespace: a new API server finds our kinds only after a while."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "judged"}}
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}

    def judged() -> bool:
        try:
            cluster.kubectl(
                "create", "--dry-run=server", "-n", namespace, "-f", "-",
                stdin={**pod, "spec": {"containers": [container]}},
            )  # fmt: skip
        except KubectlError as error:
            return "failed to find resource referenced by paramKind" not in error.stderr
        return True

    wait_for(judged, timeout=timeout, message=f"the policies of namespace {namespace} to be evaluated")


def wait_until_judged_again(cluster: Cluster) -> None:
    """Wait until the policies that are installed, if any, can be evaluated after a start of the API server."""
    if cluster.kubectl("get", "validatingadmissionpolicies", "-o", "name"):
        with cluster.namespace() as namespace:
            cluster.kubectl("label", "namespace", namespace, f"{ENFORCED}=true")
            wait_until_judged(cluster, namespace)


def label_namespace(rest: Rest, namespace: str, *, label: str | None = "true") -> None:
    """Have the policies look at a namespace, as the operator does."""
    rest.patch("", "Namespace", namespace, {"metadata": {"labels": {ENFORCED: label}}}).require()


def is_labelled(rest: Rest, namespace: str) -> bool:
    """Tell whether the policies look at a namespace."""
    labels = rest.get("", "Namespace", namespace).require()["metadata"]["labels"]
    return bool(labels.get(ENFORCED) == "true")


def _wait_until_in_force_anywhere(cluster: Cluster, rest: Rest) -> None:
    """Wait until the policies act at all: they are compiled a moment after they are stored, and look for our kinds."""
    container = {"type": "Container", "max": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}}
    spec = {"enforcement": "Enforce", "limits": [container]}
    with cluster.namespace() as namespace:
        rest.create(namespace, our_quota("first", spec)).require()
        wait_until_in_force(rest, namespace, {"first": spec}, timeout=60)


def wait_until_in_force(rest: Rest, namespace: str, quotas: Mapping[str, Object], *, timeout: float = 30.0) -> None:
    """Have the policies look at a namespace, and wait until they know these quotas as they are (names to specs)."""
    label_namespace(rest, namespace)
    for name, spec in quotas.items():
        if spec.get("enforcement") != "Audit":
            wait_for(
                lambda name=name, spec=spec: _is_in_force(rest, namespace, name, spec),
                timeout=timeout,
                message=lambda name=name, spec=spec: f"{name} {spec} in the policies: {probe(rest, namespace, name)}",
            )


def _is_in_force(rest: Rest, namespace: str, name: str, spec: Object) -> bool:
    entries = {each["type"]: each for each in spec.get("limits", ())}
    fills_in = not {"default", "defaultRequest"}.isdisjoint(entries.get("Container", ()))
    said = probe(rest, namespace, name)
    return f"filled in: by {name}:" in said if fills_in else "filled in: nothing" in said


def probe(rest: Rest, namespace: str, name: str) -> str:
    """Return what the policies say of a quota to a pod that asks for nothing else."""
    return judged(rest, namespace, {"containers": [{"name": "app", "image": "app"}]}, annotations={PROBE: name}).message
