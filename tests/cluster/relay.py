"""A way to the API server that can be made to go silent: connections stay open, and nothing comes through."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class Relay:
    """Passes bytes on between a port of its own and a server, until it is frozen. Use it as a context manager."""

    def __init__(self, server: str) -> None:
        address = urlsplit(server)
        assert address.hostname
        assert address.port
        self._target = (address.hostname, address.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flows = threading.Event()
        self._flows.set()
        self._ended = False
        self._sockets: list[socket.socket] = []
        self.url = f"{address.scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._flows.set()
        for each in (self._listener, *self._sockets):
            each.close()

    def freeze(self) -> None:
        """Let nothing through from now on."""
        self._flows.clear()

    def thaw(self) -> None:
        """Let everything through again, what has come meanwhile too."""
        self._flows.set()

    def _accept(self) -> None:
        while not self._ended:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                continue
            self._sockets += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                self._flows.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            for each in (one, other):
                each.close()
