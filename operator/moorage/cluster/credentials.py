"""Where the API server is and how to prove who we are: one source for our own client and for kopf.

Everything is read anew at each call, because it changes while we run: the kubelet rotates projected service-account
tokens, credential plugins hand out short-lived ones, and CAs are replaced. File contents (not paths) go into the
result, so two results are equal exactly if nothing changed.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import kopf

from moorage.cluster.errors import CredentialsError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts a pod's credentials."""

DEFAULT_KUBECONFIG = "~/.kube/config"

_USABLE_LIFE = 0.9
"""Share of a token's life after which kopf shall read it again; the kubelet has written a new one at 0.8."""


class CredentialsSource(Protocol):
    """What the client needs of credentials, so that tests can hand in their own."""

    async def connection(self) -> kopf.ConnectionInfo:
        """Return the credentials as they are now."""
        ...


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """A way to the API server that was chosen once; `connection()` reads it anew each time."""

    kubeconfig: str | None
    """Path, or several joined by the path separator as in KUBECONFIG; None: this pod's service account."""
    context: str | None = None
    service_account: Path = SERVICE_ACCOUNT
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @classmethod
    def load(
        cls,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        *,
        service_account: Path = SERVICE_ACCOUNT,
        environ: Mapping[str, str] = os.environ,
    ) -> Credentials:
        """Choose the source, in the order that controllers usually have.

        A named kubeconfig, $KUBECONFIG, the pod's service account, ~/.kube/config. A named context is looked for in
        kubeconfig files only. Nothing is read yet, so a file that is missing shows in `connection()`.
        """
        chosen = str(kubeconfig) if kubeconfig is not None else environ.get("KUBECONFIG") or None
        in_cluster = (service_account / "token").exists()
        if chosen is None and (context is not None or not in_cluster):
            chosen = DEFAULT_KUBECONFIG
        return cls(kubeconfig=chosen, context=context, service_account=service_account, environ=environ)

    def __str__(self) -> str:
        if self.kubeconfig is None:
            return f"the service account in {self.service_account}"
        return f"kubeconfig {self.kubeconfig}" + (f", context {self.context}" if self.context else "")

    def own_namespace(self) -> str:
        """Return the namespace of this pod; empty when we are none, or it cannot be read."""
        if self.kubeconfig is not None:
            return ""
        try:
            return _read_text(self.service_account / "namespace").strip()
        except CredentialsError:
            return ""

    async def connection(self) -> kopf.ConnectionInfo:
        """Read the credentials in a thread: files are slow at times, and a credential plugin is a whole program.

        Raises CredentialsError.
        """
        return await asyncio.to_thread(self.read)

    def read(self) -> kopf.ConnectionInfo:
        """Read the credentials; blocks, possibly for seconds while a credential plugin runs.

        Raises CredentialsError.
        """
        if self.kubeconfig is None:
            return self._read_service_account()
        # Late, since a pod needs neither the library nor what it brings along.
        from moorage.cluster.kubeconfig import read_kubeconfig  # noqa: PLC0415

        return read_kubeconfig(self.kubeconfig, self.context)

    def _read_service_account(self) -> kopf.ConnectionInfo:
        token = _read_text(self.service_account / "token").strip()
        if not token:
            raise CredentialsError(f"{self.service_account / 'token'} is empty; is the token volume mounted?")
        certificate_authority = self.service_account / "ca.crt"
        namespace = self.service_account / "namespace"
        return kopf.ConnectionInfo(
            server=_service_address(self.environ),
            ca_data=pem(certificate_authority),
            token=token,
            default_namespace=(_read_text(namespace).strip() or None) if namespace.exists() else None,
            expiration=token_expiration(token),
        )


def _service_address(environ: Mapping[str, str]) -> str:
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise CredentialsError(
            "service account files are here, but KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; "
            "set them, or name a kubeconfig"
        )
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def pem(path: Path) -> str:
    """Return a PEM file's text from its first block on: comments before it are legal, but not for kopf.

    Raises CredentialsError.
    """
    _, marker, rest = _read_text(path).partition("-----BEGIN ")
    if not marker:
        raise CredentialsError(f"{path} holds no PEM certificate or key")
    return marker + rest


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CredentialsError(f"{path} cannot be read: {reason}") from error


def token_expiration(token: str) -> datetime.datetime | None:
    """Return when a token should be read again, or None when it does not say (it need not be a JWT).

    The claims are only read, never trusted: a wrong one costs a needless or a late read, and a late one ends in a 401,
    after which the token is read again anyway. The result depends on the token alone, so that kopf sees equal
    credentials as equal.
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        expires = float(claims["exp"])
        issued = float(claims.get("iat", expires))
        return datetime.datetime.fromtimestamp(issued + (expires - issued) * _USABLE_LIFE, tz=datetime.UTC)
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, binascii.Error, OverflowError, OSError):
        return None
