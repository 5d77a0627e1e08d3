"""Free ports: outside the kernel's range, each once, none that somebody listens on."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cluster.ports import RANGE, free_ports


def test_each_port_is_given_once_and_free() -> None:
    ports = free_ports(40) + free_ports(40)
    assert len(set(ports)) == 80
    assert set(ports) <= set(RANGE)
    for port in ports:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))


def test_outgoing_connections_take_none_of_them() -> None:
    first, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
    assert first >= RANGE.stop


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(OSError, match=f"no free TCP port among {port} to {port} "):
            free_ports(1, range(port, port + 1))
