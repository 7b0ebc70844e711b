"""Objects of a live cluster, as if they had been read from files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pykube
import requests

from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.cluster.credentials import Credentials
from moorage.cluster.errors import CredentialsError
from moorage.quota.names import DEVICE_CLAIMS, PODS, SERVICES, VOLUME_CLAIMS

_PAGE = 500
_DEVICE_CLASSES = "deviceclasses.resource.k8s.io"
_WHOLE = (PODS, SERVICES, VOLUME_CLAIMS, DEVICE_CLAIMS, _DEVICE_CLASSES)
_SURROUNDINGS = (
    "limitranges",
    "priorityclasses.scheduling.k8s.io",
    "runtimeclasses.node.k8s.io",
    "storageclasses.storage.k8s.io",
)
_QUOTAS = ("resourcequotas", "namespacequotas.moorage.dev")
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Refused(BadInput):
    """The cluster does not let us read something."""


def live_quotas(api: pykube.HTTPClient, namespace: str | None) -> list[Document]:
    """Read the quotas of one namespace, or of all.

    Raises BadInput when the cluster cannot be reached or does not let us.
    """
    return [document for label in _QUOTAS for document in _documents(api, label, namespace, whole=True)]


def live_objects(api: pykube.HTTPClient, resources: Iterable[str], namespace: str | None) -> list[Document]:
    """Read the objects of these resources in one namespace, or in all; only metadata where that is enough.

    Raises BadInput when the cluster cannot be reached or does not let us.
    """
    wanted = set(resources)
    if DEVICE_CLAIMS in wanted:
        wanted.add(_DEVICE_CLASSES)
    return [
        document for label in sorted(wanted) for document in _documents(api, label, namespace, whole=label in _WHOLE)
    ]


def live_object(api: pykube.HTTPClient, version: str, namespace: str, plural: str, name: str) -> dict[str, Any] | None:
    """Read one object whole, or None when there is none.

    Raises BadInput when the cluster cannot be reached or does not let us.
    """
    return _get(api, version=version, namespace=namespace, url=f"{plural}/{name}")


def live_fleet(api: pykube.HTTPClient) -> list[Document]:
    """Read nodes, the pods of all namespaces as far as we may, and the DaemonSets of kube-system.

    Raises BadInput when the cluster cannot be reached or does not let us read nodes.
    """
    found = list(_documents(api, "nodes", None, whole=True))
    for label, place in ((PODS, None), ("daemonsets.apps", "kube-system")):
        with suppress(Refused):
            found += _documents(api, label, place, whole=True)
    return found


def live_surroundings(api: pykube.HTTPClient, namespaces: Iterable[str]) -> list[Document]:
    """Read what else decides about new objects, as far as we may: defaults of the cluster, LimitRanges.

    Raises BadInput when the cluster cannot be reached.
    """
    found: list[Document] = []
    for label in _SURROUNDINGS:
        for place in namespaces if label == "limitranges" else (None,):
            with suppress(Refused):
                found += _documents(api, label, place, whole=True)
    return found


def _documents(api: pykube.HTTPClient, label: str, namespace: str | None, *, whole: bool) -> Iterator[Document]:
    plural, _, group = label.partition(".")
    for version in _versions(api, group):
        served = _get(api, version=version, url="") or {}
        resource = next((each for each in served.get("resources") or () if each["name"] == plural), None)
        if resource is not None:
            place = namespace if resource["namespaced"] else None
            for item in _items(api, version, plural, place, headers={} if whole else {"Accept": _METADATA_ONLY}):
                yield Document(label, {**item, "apiVersion": version, "kind": resource["kind"]}, resource=label)
            return


def _versions(api: pykube.HTTPClient, group: str) -> list[str]:
    """Return the versions of a group, the preferred one first; not every kind is in that one."""
    if not group:
        return ["v1"]
    found = _get(api, version=f"/apis/{group}", url="")
    if found is None:
        return []
    preferred = found["preferredVersion"]["groupVersion"]
    return [preferred, *(each["groupVersion"] for each in found["versions"] if each["groupVersion"] != preferred)]


@contextmanager
def connected(kubeconfig: str | None, context: str | None) -> Iterator[pykube.HTTPClient]:
    """Give a client with the same credentials that the operator would use.

    Raises BadInput.
    """
    try:
        access = Credentials.load(kubeconfig, context).read()
    except CredentialsError as error:
        raise BadInput(str(error)) from error
    cluster: dict[str, Any] = {"server": access.server, "insecure-skip-tls-verify": bool(access.insecure)}
    user: dict[str, Any] = {"token": access.token, "username": access.username, "password": access.password}
    # pykube wants files, and would leave those that it writes itself behind, private keys among them.
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        for entry, name, text in (
            (cluster, "certificate-authority", access.ca_data),
            (user, "client-certificate", access.certificate_data),
            (user, "client-key", access.private_key_data),
        ):
            if text is not None:
                entry[name] = _written(Path(folder) / name, text)
        config = pykube.KubeConfig(
            {
                "clusters": [{"name": "it", "cluster": cluster}],
                "users": [{"name": "it", "user": {key: value for key, value in user.items() if value}}],
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "current-context": "it",
            }
        )
        api = pykube.HTTPClient(config, timeout=60)
        api.session.trust_env = False  # the credentials tell the proxy, if there is one
        api.session.proxies = dict.fromkeys(("http", "https"), access.proxy_url) if access.proxy_url else {}
        yield api


def _written(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def _items(
    api: pykube.HTTPClient, version: str, plural: str, namespace: str | None, *, headers: dict[str, str]
) -> Iterator[dict[str, Any]]:
    where = {"version": version, "url": plural, **({"namespace": namespace} if namespace else {})}
    params: dict[str, Any] = {"limit": _PAGE}
    while True:
        body = _get(api, **where, params=params, headers=headers)
        if body is None:
            return
        yield from body["items"] or ()  # of no objects, metadata alone is null
        params["continue"] = (body.get("metadata") or {}).get("continue")
        if not params["continue"]:
            return


def _get(api: pykube.HTTPClient, **where: Any) -> dict[str, Any] | None:
    """GET an object, or None where there is none."""
    try:
        answer = api.get(**where)
    except requests.RequestException as error:
        raise BadInput(f"the cluster at {api.url} cannot be reached: {error}") from error
    if answer.status_code == 404:
        return None
    try:
        body: dict[str, Any] = answer.json()
    except ValueError:
        body = {}
    if not answer.ok:
        raise Refused(f"{where['url'] or where['version']} cannot be read: {body.get('message') or answer.reason}")
    return body
