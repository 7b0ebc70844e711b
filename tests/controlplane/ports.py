"""Loopback ports that nobody else on this machine gets, however many control planes start at once.

etcd and Kubernetes can share a port (SO_REUSEPORT): theirs are bound here, without listening, for as long as the
control plane lives, so that they are nobody else's even while a component is being restarted. kwok and Karpenter
cannot: they get a port that was free a moment ago, and are started again on another one when they lost the race.
"""

import socket
import sys

SHARING = sys.platform == "linux"


class ReservedPort:
    """A port on 127.0.0.1 that is kept for a component until it is released."""

    def __init__(self) -> None:
        self._holder: socket.socket | None = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if SHARING:
            self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._holder.bind(("127.0.0.1", 0))
        self.number = int(self._holder.getsockname()[1])

    def hand_over(self) -> None:
        """Let the component bind the port: elsewhere than on Linux that takes releasing it."""
        if not SHARING:
            self.release()

    def release(self) -> None:
        """Give the port back."""
        if self._holder is not None:
            self._holder.close()
            self._holder = None


def free_port() -> int:
    """A port that is free on all addresses right now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
