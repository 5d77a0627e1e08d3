"""Free TCP ports of loopback for processes that cannot choose one themselves.

Called by `plane`. Promises ports below the range from which the kernel takes those of outgoing connections, so that no
client gets in between the choice and the process that listens; another listener still can, hence `plane` tries again.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
from collections.abc import Iterator

RANGE = range(18_000, 32_000)  # the kernel's own begins at 32,768
_given: set[int] = set()


def free_ports(count: int, within: range = RANGE) -> list[int]:
    """Return `count` ports that nobody listens on and that this process has not handed out before, else OSError."""
    return list(itertools.islice(_free(within), count))


def _free(within: range) -> Iterator[int]:
    # Two test runs at once would step on each other's ports if both counted from the start.
    order = random.Random(os.getpid() * 1_000 + len(_given)).sample(within, len(within))
    for port in order:
        if port not in _given and _is_free(port):
            _given.add(port)
            yield port
    raise OSError(f"no free TCP port among {within.start} to {within.stop - 1} on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a port in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
