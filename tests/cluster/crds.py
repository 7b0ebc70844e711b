"""Our definitions on a real API server, and objects sent to it for its verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiClient, ApiException, CustomObjectsApi
from kubernetes.config import new_client_from_config

from moorage.api import GROUP, VERSION, crd_documents
from tests.controlplane.cluster import Cluster

PLURALS = {"NamespaceQuota": "namespacequotas", "CapacityBuffer": "capacitybuffers"}


@dataclass(frozen=True)
class Refusal:
    """One cause that the API server gives for refusing an object."""

    path: str
    message: str


class MoorageApi:
    """Our API group on one API server."""

    def __init__(self, client: ApiClient) -> None:
        self._objects: Any = CustomObjectsApi(client)

    def create(
        self, kind: str, namespace: str, name: str, spec: Any, *, dry_run: bool = False, validation: str = "Strict"
    ) -> dict[str, Any]:
        """Create an object and return it as stored."""
        answer: dict[str, Any] = self._objects.create_namespaced_custom_object(
            GROUP,
            VERSION,
            namespace,
            PLURALS[kind],
            {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": {"name": name}, "spec": spec},
            field_validation=validation,
            dry_run="All" if dry_run else None,
        )
        return answer

    def patch(self, kind: str, namespace: str, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Merge changes into an object and return it as stored."""
        answer: dict[str, Any] = self._objects.patch_namespaced_custom_object(
            GROUP, VERSION, namespace, PLURALS[kind], name, changes
        )
        return answer

    def write_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> dict[str, Any]:
        """Write the status and return the object as stored."""
        answer: dict[str, Any] = self._objects.patch_namespaced_custom_object_status(
            GROUP, VERSION, namespace, PLURALS[kind], name, {"status": status}
        )
        return answer

    def refusals(self, kind: str, namespace: str, spec: Any) -> set[Refusal]:
        """Return why such an object is refused; nothing: it is accepted. Nothing is stored."""
        try:
            self.create(kind, namespace, "candidate", spec, dry_run=True)
        except ApiException as error:
            return _causes(json.loads(error.body or "{}"))
        return set()


def _causes(status: Mapping[str, Any]) -> set[Refusal]:
    causes = status.get("details", {}).get("causes", [])
    found = {Refusal(cause.get("field", ""), cause["message"]) for cause in causes}
    return found or {Refusal("", status["message"])}


@pytest.fixture(scope="session")
def crds(control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster with our definitions installed and served."""
    folder: Path = tmp_path_factory.mktemp("crds")
    for name, text in crd_documents().items():
        (folder / name).write_text(text)
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(folder))
    names = [f"crd/{plural}.{GROUP}" for plural in PLURALS.values()]
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    return control_plane


@pytest.fixture(scope="session")
def moorage_api(crds: Cluster) -> MoorageApi:
    """Our API group on the cluster of the tests."""
    client: ApiClient = new_client_from_config(str(crds.kubeconfig))  # type: ignore[no-untyped-call]
    return MoorageApi(client)
