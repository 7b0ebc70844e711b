"""Objects of a live cluster, as if they had been read from files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pykube
import requests

from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.cluster.credentials import Credentials
from moorage.cluster.errors import CredentialsError

_PAGE = 500
_KINDS = (
    ("v1", "pods", "Pod"),
    ("v1", "resourcequotas", "ResourceQuota"),
    ("moorage.dev/v1alpha1", "namespacequotas", "NamespaceQuota"),
)


def live_documents(*, namespace: str | None, kubeconfig: str | None, context: str | None) -> list[Document]:
    """Read pods and quotas of one namespace, or of all.

    Raises BadInput when the cluster cannot be reached or does not let us.
    """
    documents = []
    with connected(kubeconfig, context) as api:
        for version, plural, kind in _KINDS:
            documents += [Document(kind, {**item, "kind": kind}) for item in _items(api, version, plural, namespace)]
    return documents


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


def _items(api: pykube.HTTPClient, version: str, plural: str, namespace: str | None) -> Iterator[dict[str, Any]]:
    where = {"version": version, "url": plural, **({"namespace": namespace} if namespace else {})}
    params: dict[str, Any] = {"limit": _PAGE}
    while True:
        try:
            answer = api.get(**where, params=params)
        except requests.RequestException as error:
            raise BadInput(f"the cluster at {api.url} cannot be reached: {error}") from error
        if answer.status_code == 404:
            return
        body = answer.json()
        if not answer.ok:
            raise BadInput(f"{plural} cannot be listed: {body.get('message') or answer.reason}")
        yield from body["items"]
        params["continue"] = (body.get("metadata") or {}).get("continue")
        if not params["continue"]:
            return
