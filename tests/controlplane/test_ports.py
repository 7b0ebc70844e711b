"""Ports that are kept for components."""

import socket
from contextlib import closing

from tests.controlplane.ports import ReservedPort


def test_a_reserved_port_is_given_to_nobody_else() -> None:
    ports = [ReservedPort() for _ in range(200)]
    numbers = {port.number for port in ports}
    assert len(numbers) == 200
    for _ in range(200):
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            assert server.getsockname()[1] not in numbers
    for port in ports:
        port.release()


def test_its_component_can_serve_on_it_again_and_again() -> None:
    port = ReservedPort()
    for _ in range(2):
        port.hand_over()
        address = ("127.0.0.1", port.number)
        with closing(socket.create_server(address)) as server, closing(socket.create_connection(address)) as client:
            connection, _ = server.accept()
            connection.close()
            assert client.recv(1) == b""
    port.release()
