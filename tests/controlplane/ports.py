"""Ports that nobody else on this machine gets, however many control planes start at once.

A port is bound here, without listening, for as long as its control plane lives: the system gives it to nobody else,
neither to a server that asks for any port nor to an outgoing connection, also while its component is being restarted.
On Linux the component can bind it all the same, because both set SO_REUSEADDR (as every Go server does) and only one of
them listens. On other systems it is released just before the component starts.
"""

import socket
import sys

CAN_BE_BOUND_TWICE = sys.platform == "linux"


class ReservedPort:
    """A port that is kept for a component until it is released."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._holder: socket.socket | None = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind((address, 0))
        self.number = int(self._holder.getsockname()[1])

    def hand_over(self) -> None:
        """Let the component have the port: it is about to start."""
        if not CAN_BE_BOUND_TWICE:
            self.release()

    def release(self) -> None:
        """Give the port back."""
        if self._holder is not None:
            self._holder.close()
            self._holder = None
