"""Our definitions on a real API server, and objects sent to it for its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pykube
import pytest

from moorage.api import GROUP, VERSION, crd_documents
from tests.controlplane.cluster import Cluster

OURS = f"{GROUP}/{VERSION}"
RESOURCES = {
    "NamespaceQuota": ("/apis", OURS, "namespacequotas"),
    "CapacityBuffer": ("/apis", OURS, "capacitybuffers"),
    "ResourceQuota": ("/api", "v1", "resourcequotas"),
    "LimitRange": ("/api", "v1", "limitranges"),
}


@dataclass(frozen=True)
class Refusal:
    """One cause that the API server gives for refusing an object."""

    path: str
    message: str


class ApiServer:
    """Sends objects as they are, without a client's own checks."""

    def __init__(self, kubeconfig: Path) -> None:
        self._http: Any = pykube.HTTPClient(pykube.KubeConfig.from_file(str(kubeconfig)))

    def create(self, kind: str, namespace: str, name: str, spec: Any, **parameters: str) -> dict[str, Any]:
        """Create an object and return it as stored."""
        return self._stored(self._post(kind, namespace, name, spec, parameters))

    def patch(self, kind: str, namespace: str, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Merge changes into an object, or into its status when they are of that alone; return it as stored."""
        base, version, plural = RESOURCES[kind]
        url = f"{plural}/{name}/status" if set(changes) == {"status"} else f"{plural}/{name}"
        headers = {"Content-Type": "application/merge-patch+json"}
        return self._stored(
            self._http.patch(base=base, version=version, namespace=namespace, url=url, json=changes, headers=headers)
        )

    def refusals(self, kind: str, namespace: str, spec: Any) -> set[Refusal]:
        """Return why such an object is refused; nothing: it is accepted. Nothing is stored."""
        answer = self._post(kind, namespace, "candidate", spec, {"dryRun": "All", "fieldValidation": "Strict"})
        return set() if answer.ok else _causes(answer.json())

    def _post(self, kind: str, namespace: str, name: str, spec: Any, parameters: Mapping[str, str]) -> Any:
        base, version, plural = RESOURCES[kind]
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        return self._http.post(
            base=base, version=version, namespace=namespace, url=plural, json=body, params=parameters
        )

    @staticmethod
    def _stored(answer: Any) -> dict[str, Any]:
        assert answer.ok, answer.text
        stored: dict[str, Any] = answer.json()
        return stored


def _causes(status: Mapping[str, Any]) -> set[Refusal]:
    causes = status.get("details", {}).get("causes", [])
    found = {Refusal(cause.get("field", ""), _in_order(cause["message"])) for cause in causes}
    return found or {Refusal("", status["message"])}


def _in_order(message: str) -> str:
    """Sort the names that a rule blames: CEL takes the keys of a map in any order."""
    return re.sub(r'\["[^\]]*"\](?=: )', lambda names: json.dumps(sorted(json.loads(names[0]))), message)


def install_crds(cluster: Cluster) -> None:
    """Install our definitions, and wait until they are served."""
    texts = list(crd_documents().values())
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin="\n---\n".join(texts))
    cluster.wait_until_served(*(f"{plural}.{GROUP}" for _, version, plural in RESOURCES.values() if version == OURS))


@pytest.fixture(scope="session")
def crds(control_plane: Cluster) -> Cluster:
    """The cluster with our definitions installed and served."""
    install_crds(control_plane)
    return control_plane


@pytest.fixture(scope="session")
def api_server(crds: Cluster) -> ApiServer:
    """The API server with our definitions, for objects that kubectl would not send or not show whole."""
    return ApiServer(crds.kubeconfig)
