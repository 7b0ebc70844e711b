"""The certificate in a Secret, and the authorities in the webhook's configuration."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from moorage.admission.certificates import Certificate
from moorage.admission.keeper import Stored
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError

CONFIGURATION = "zz-moorage-explain"
SECRET = "moorage-webhook"

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_AUTHORITIES, _CERTIFICATE, _KEY = "ca.crt", "tls.crt", "tls.key"
_LABELS = {"app.kubernetes.io/name": "moorage", "app.kubernetes.io/component": "operator"}


class ClusterCertificateStore:
    """Shares the certificate in a Secret of our own namespace.

    The names are those that the configuration calls the webhook by. It belongs to whoever installed it; we apply
    nothing but its `caBundle`.
    """

    def __init__(self, client: Client, *, namespace: str) -> None:
        self._client = client
        self._secrets = f"/api/v1/namespaces/{namespace}/secrets"
        self._namespace = namespace
        self._configuration: dict[str, Any] = {}

    async def names(self) -> Collection[str]:
        """Return the hosts that the API servers call."""
        self._configuration = await self._client.get(f"{_CONFIGURATIONS}/{CONFIGURATION}")
        return frozenset(host_of(each["clientConfig"]) for each in self._configuration.get("webhooks") or ())

    async def read(self) -> Stored | None:
        """Return what the Secret holds, whatever that is."""
        try:
            secret = await self._client.get(f"{self._secrets}/{SECRET}")
        except ApiError as error:
            if error.not_found:
                return None
            raise
        data = secret.get("data") or {}
        found = Certificate(
            authorities=_decoded(data, _AUTHORITIES), certificate=_decoded(data, _CERTIFICATE), key=_decoded(data, _KEY)
        )
        return Stored(found, secret["metadata"]["resourceVersion"])

    async def write(self, certificate: Certificate, *, over: Stored | None) -> bool:
        """Create the Secret, or change the version of it that was read."""
        data = {
            _AUTHORITIES: _encoded(certificate.authorities),
            _CERTIFICATE: _encoded(certificate.certificate),
            _KEY: _encoded(certificate.key),
        }
        try:
            if over is None:
                meta = {"name": SECRET, "namespace": self._namespace, "labels": _LABELS}
                secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": meta}
                await self._client.post(self._secrets, secret | {"data": data})
            else:
                changes = {"metadata": {"resourceVersion": over.version}, "data": data}
                await self._client.patch(f"{self._secrets}/{SECRET}", changes)
        except ApiError as error:
            if error.conflict or (error.not_found and over is not None):
                return False
            raise
        return True

    async def trust(self, authorities: bytes) -> None:
        """Apply `caBundle` to every webhook of the configuration where it differs."""
        meta, bundle = self._configuration["metadata"], _encoded(authorities)
        webhooks = self._configuration.get("webhooks") or ()
        if all(each["clientConfig"].get("caBundle") == bundle for each in webhooks):
            return
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": meta["name"], "uid": meta["uid"]},
            "webhooks": [{"name": each["name"], "clientConfig": {"caBundle": bundle}} for each in webhooks],
        }
        await self._client.apply(f"{_CONFIGURATIONS}/{CONFIGURATION}", body)


def host_of(client_config: Mapping[str, Any]) -> str:
    """Return the name that an API server expects in the certificate of a webhook that it calls so.

    Raises ClusterError when there is none.
    """
    if service := client_config.get("service"):
        return f"{service['name']}.{service['namespace']}.svc"
    host = urlsplit(client_config.get("url") or "").hostname
    if not host:
        raise ClusterError(f"the configuration {CONFIGURATION} says neither by a service nor by a url whom to call")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _decoded(data: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(data.get(name) or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        return b""
