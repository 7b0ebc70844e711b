"""Credentials in use: read when needed, shared by all requests, and turned into what the HTTP library wants."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import kopf

from moorage.cluster.credentials import CredentialsSource
from moorage.cluster.errors import CredentialsError


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials as they were at one time."""

    info: kopf.ConnectionInfo
    tls: ssl.SSLContext | bool
    """The context for encrypted connections; True where there are none."""
    headers: dict[str, str]
    read_at: float

    @property
    def server(self) -> str:
        """The address, without a slash at its end."""
        return self.info.server.rstrip("/")


class AccessKeeper:
    """Keeps the last credentials that were read, and reads them again when they are too old or were refused."""

    def __init__(self, credentials: CredentialsSource, clock: Callable[[], float]) -> None:
        self._credentials = credentials
        self._clock = clock
        self._current: Access | None = None
        self._reading = asyncio.Lock()

    async def not_older_than(self, seconds: float) -> Access:
        """Return credentials of at most this age. Raises CredentialsError."""
        current = self._current
        if current is not None and self._clock() - current.read_at <= seconds:
            return current
        return await self.newer_than(current)

    async def newer_than(self, old: Access | None) -> Access:
        """Read the credentials again, unless another request has done so since `old`. Raises CredentialsError."""
        async with self._reading:
            current = self._current
            if current is not None and current is not old:
                return current
            info = await self._credentials.connection()
            # The same context for the same credentials, since connections are reused per context.
            tls = current.tls if current is not None and current.info == info else await _tls(info)
            self._current = Access(info, tls, info.as_http_headers(), self._clock())
            return self._current


async def _tls(info: kopf.ConnectionInfo) -> ssl.SSLContext | bool:
    if not info.server.startswith("https"):
        return True
    try:
        # In a thread: without a CA of its own, the context loads the system's, which takes tens of milliseconds.
        return await asyncio.to_thread(info.as_ssl_context)
    except (OSError, ValueError) as error:
        raise CredentialsError(f"the certificates for {info.server} cannot be used: {error}") from error
