"""The lines of one open watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

import aiohttp

from moorage.cluster.errors import MalformedError, SilentError, UnreachableError

MAX_LINE_BYTES = 32 * 1024 * 1024
"""No object is longer: etcd takes 1.5 MB, and JSON with escapes is at most some times that."""


class LineStream:
    """An open response, read in batches of whole lines. Use it as an async context manager, which closes it."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        *,
        silence_seconds: float,
        max_line_bytes: int = MAX_LINE_BYTES,
        on_bytes: Callable[[], None] | None = None,
    ) -> None:
        self.silence_seconds = silence_seconds
        """How long to wait for a byte; may be changed while the watch is open."""
        self._response = response
        self._max_line_bytes = max_line_bytes
        self._on_bytes = on_bytes
        self._pieces: list[bytes] = []
        self._pending_bytes = 0

    async def __aenter__(self) -> LineStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # close, not release: the connection is mid-response, so it can never be used again.
        self._response.close()

    async def lines(self) -> list[bytes]:
        """Return the next whole lines without their ends, at least one; an empty list when the server is done.

        Raises SilentError when no byte came for `silence_seconds`, UnreachableError when the connection broke or ended
        within a line, and MalformedError when a line outgrows the limit.
        """
        while True:
            chunk = await self._read()
            if not chunk:
                if self._pending_bytes:
                    raise UnreachableError("the connection ended within a line")
                return []
            if self._on_bytes is not None:
                self._on_bytes()
            if lines := self._split(chunk):
                return lines

    async def _read(self) -> bytes:
        try:
            async with asyncio.timeout(self.silence_seconds):
                return await self._response.content.readany()
        except TimeoutError as error:
            raise SilentError(f"not a byte came for {self.silence_seconds:g} s") from error
        except aiohttp.ClientPayloadError as error:
            raise UnreachableError("the connection was cut off") from error
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(f"the connection broke: {error or type(error).__name__}") from error

    def _split(self, chunk: bytes) -> list[bytes]:
        """Cut a chunk into lines; pieces of a long line are joined only once, so its cost stays linear."""
        head, newline, rest = chunk.partition(b"\n")
        self._pieces.append(head)
        self._pending_bytes += len(head)
        if self._pending_bytes > self._max_line_bytes:
            raise MalformedError(f"a line of the watch is longer than {self._max_line_bytes} bytes")
        if not newline:
            return []
        lines = [b"".join(self._pieces), *rest.split(b"\n")]
        last = lines.pop() if len(lines) > 1 else b""
        self._pieces, self._pending_bytes = [last], len(last)
        return [line for line in lines if line]
