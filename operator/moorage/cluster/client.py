"""A thin asynchronous client of the API server: paths and bytes in, bytes and typed errors out.

It knows no kinds. kopf has a client of its own for our two kinds; this one serves the feed, status writes and
everything else, with the same credentials.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import aiohttp
import msgspec

from moorage import __version__
from moorage.cluster.access import AccessKeeper
from moorage.cluster.backoff import Backoff
from moorage.cluster.credentials import CredentialsSource
from moorage.cluster.errors import (
    ApiError,
    ClusterError,
    MalformedError,
    UnreachableError,
    api_error,
)
from moorage.cluster.stream import MAX_LINE_BYTES, LineStream
from moorage.cluster.wire import Page, decode_page

FIELD_MANAGER = "moorage"
USER_AGENT = f"moorage/{__version__}"

Params = Mapping[str, str]

JSON = "application/json"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""What to accept to get objects (of a watch or a list) without anything but their metadata."""
_METADATA_LIST = METADATA_ONLY.replace("as=PartialObjectMetadata", "as=PartialObjectMetadataList")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Limits in seconds."""

    connect: float = 10.0
    request: float = 60.0
    """For a whole request, a list page included (the API server itself stops at 60)."""
    silence: float = 70.0
    """For a watch without a byte: the API server sends a bookmark about every 60."""
    credentials_age: float = 30.0
    """How old credentials may be before a request reads them again."""
    watch_credentials_age: float = 2.0
    """The same for a watch, which lives for minutes; not 0, since many feeds reconnect at once."""


class Client:
    """One session with the API server. Use it as an async context manager, or call `close()`.

    Every method raises ClusterError or one of its kinds: ApiError, UnreachableError, MalformedError, CredentialsError.
    Requests that may be repeated are, up to `retries` times: all when the server says 429 or could not be connected to,
    and all but POST after 5xx or a broken connection. After a 401 the credentials are read again, once per request.
    """

    def __init__(
        self,
        credentials: CredentialsSource,
        *,
        backoff: Backoff | None = None,
        timeouts: Timeouts | None = None,
        retries: int = 4,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backoff = backoff or Backoff()
        self.timeouts = timeouts or Timeouts()
        self._access = AccessKeeper(credentials, clock)
        self._retries = retries
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, for good: tasks that are still ending open no new ones, which nobody would close."""
        self._is_closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def get(self, path: str, params: Params | None = None) -> dict[str, Any]:
        """GET an object."""
        return _decoded(_decode_object, await self.get_bytes(path, params), path)

    async def get_bytes(self, path: str, params: Params | None = None, *, accept: str = JSON) -> bytes:
        """GET an object without decoding it."""
        return await self._call("GET", path, params=params, accept=accept)

    async def list_pages(
        self, path: str, params: Params | None = None, *, limit: int = 250, accept: str = JSON
    ) -> AsyncGenerator[Page]:
        """GET a list page by page, items still encoded.

        An expired continue token raises ApiError (`gone`): only the caller knows what it has already used, and must
        start over.
        """
        query = dict(params or {}) | {"limit": str(limit)}
        # The server takes the first form that it knows and then refuses to give a list as an object.
        accept = _METADATA_LIST if accept == METADATA_ONLY else accept
        while True:
            page = _decoded(decode_page, await self.get_bytes(path, query, accept=accept), path)
            yield page
            if not page.metadata.more:
                return
            # The token says which version the list is of; naming one as well is refused.
            query.pop("resourceVersion", None)
            query.pop("resourceVersionMatch", None)
            query["continue"] = page.metadata.more

    async def newest_version(self, path: str) -> str:
        """Return the server's current resource version.

        In a quiet cluster the API server may not know it either, and so send no bookmarks for many minutes; the
        question makes it find out.
        """
        async with aclosing(self.list_pages(path, limit=1, accept=METADATA_ONLY)) as pages:
            return (await anext(pages)).metadata.resource_version

    async def post(self, path: str, body: Any, params: Params | None = None) -> dict[str, Any]:
        """POST (create) an object, given as anything msgspec can encode or as encoded bytes."""
        query = {"fieldManager": FIELD_MANAGER} | dict(params or {})
        return _decoded(_decode_object, await self._call("POST", path, params=query, body=body), path)

    async def patch(
        self,
        path: str,
        body: Any,
        content_type: str = "application/merge-patch+json",
        params: Params | None = None,
    ) -> dict[str, Any]:
        """PATCH an object. It may be sent twice when the connection breaks, so a JSON patch needs a `test`."""
        query = {"fieldManager": FIELD_MANAGER} | dict(params or {})
        answer = await self._call("PATCH", path, params=query, body=body, content_type=content_type)
        return _decoded(_decode_object, answer, path)

    async def apply(self, path: str, body: Any, params: Params | None = None, *, force: bool = True) -> dict[str, Any]:
        """Apply an object on the server side under our field manager (a path ending in /status: its status)."""
        query = {"force": "true" if force else "false"} | dict(params or {})
        return await self.patch(path, body, "application/apply-patch+yaml", query)

    async def delete(self, path: str, *, uid: str = "") -> None:
        """DELETE an object, in the background what it owns; with `uid` only if it still is that one."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        await self._call("DELETE", path, body=body | ({"preconditions": {"uid": uid}} if uid else {}))

    async def watch(
        self,
        path: str,
        params: Params | None = None,
        *,
        accept: str = JSON,
        silence_seconds: float | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        on_bytes: Callable[[], None] | None = None,
    ) -> LineStream:
        """Open a watch; it is not retried, since only the caller knows where to resume.

        `silence_seconds` without a byte end it with SilentError; `on_bytes` is called whenever some came.
        """
        silence = self.timeouts.silence if silence_seconds is None else silence_seconds
        try:
            async with asyncio.timeout(self.timeouts.connect + silence):
                response = await self._open(
                    "GET",
                    path,
                    params=dict(params or {}) | {"watch": "true"},
                    limits=aiohttp.ClientTimeout(total=None, sock_connect=self.timeouts.connect),
                    headers={"Accept": accept},
                    credentials_age=self.timeouts.watch_credentials_age,
                )
        except TimeoutError as error:
            raise UnreachableError(f"the watch of {path} was not answered") from error
        return LineStream(response, silence_seconds=silence, max_line_bytes=max_line_bytes, on_bytes=on_bytes)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> bytes:
        """Send a request until it works, must not be repeated, or was repeated often enough; return the body."""
        data = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"Accept": accept} | ({"Content-Type": content_type} if data is not None else {})
        limits = aiohttp.ClientTimeout(total=self.timeouts.request, sock_connect=self.timeouts.connect)
        attempts = self.backoff.attempts()
        while True:
            try:
                response = await self._open(method, path, params=params, data=data, headers=headers, limits=limits)
                return await self._read(response)
            except (ApiError, UnreachableError) as error:
                if attempts.failures >= self._retries or not _repeatable(method, error):
                    raise
                await attempts.wait(at_least=error.retry_after_seconds)

    async def _open(
        self,
        method: str,
        path: str,
        *,
        params: Params | None,
        limits: aiohttp.ClientTimeout,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        credentials_age: float | None = None,
    ) -> aiohttp.ClientResponse:
        """Send one request and return the response once its status says success."""
        age = self.timeouts.credentials_age if credentials_age is None else credentials_age
        access = await self._access.not_older_than(age)
        for last_try in (False, True):
            try:
                response = await self._sessions().request(
                    method,
                    access.server + path,
                    params=params,
                    data=data,
                    headers=access.headers | dict(headers or {}),
                    ssl=access.tls,
                    proxy=access.info.proxy_url,
                    timeout=limits,
                    allow_redirects=False,
                )
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable(access.server, error) from error
            if response.status < 300:
                return response
            body = await self._read(response)
            refusal = api_error(response.status, body, retry_after=response.headers.get("Retry-After", ""))
            if last_try or not refusal.unauthorized:
                raise refusal
            access = await self._access.newer_than(access)
        raise AssertionError("unreachable")

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        async with response:
            try:
                return await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable(str(response.url.origin()), error) from error

    def _sessions(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise UnreachableError("the operator is ending", sent=False)
        # Credentials go with each request, not with the session, so that new ones never cut a running watch.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                # The API server would compress large pages, which costs both sides more than the network saves.
                headers={"User-Agent": USER_AGENT, "Accept": JSON, "Accept-Encoding": "identity"},
                read_bufsize=256 * 1024,
            )
        return self._session


async def delete_if_there(client: Client, path: str, *, uid: str) -> None:
    """DELETE an object; it may be gone already, or another one may have taken its name.

    Raises ClusterError.
    """
    try:
        await client.delete(path, uid=uid)
    except ApiError as error:
        if not (error.not_found or error.conflict):
            raise


def _repeatable(method: str, error: ClusterError) -> bool:
    """Tell whether repeating the request is safe and may help."""
    if isinstance(error, ApiError):
        return error.too_many_requests or (error.temporary and method != "POST" and not error.too_new)
    return isinstance(error, UnreachableError) and (method != "POST" or not error.sent)


def _unreachable(server: str, error: Exception) -> UnreachableError:
    connected = not isinstance(error, aiohttp.ClientConnectorError)
    return UnreachableError(f"the API server at {server} cannot be reached: {_reason(error)}", sent=connected)


def _reason(error: Exception) -> str:
    """Return why a connection failed, without the addresses in memory that the HTTP library would print."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        if cause.errno and not isinstance(cause, ssl.SSLError | socket.gaierror):  # these have codes of their own
            return os.strerror(cause.errno).lower()
        return str(cause)
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def _decoded(decode: Callable[[bytes], T], body: bytes, path: str) -> T:
    try:
        return decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedError(f"the answer to {path} is not what an API server sends: {error}") from error
