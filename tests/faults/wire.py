"""A cable between a process and the API server that can be cut, or go dead without a word. Bytes pass unread, TLS too.

Called by scenarios of the network. `cut` resets every connection of now; `stall` keeps them open and passes nothing on,
as after a switch that went away: only new connections get through.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

from tests.cluster.plane import ControlPlane
from tests.cluster.ports import free_ports


class Wire:
    """Mutable owner of the connections; `async with` runs it."""

    def __init__(self, plane: ControlPlane) -> None:
        self._to = plane.site.ports.apiserver
        self._port = free_ports(1)[0]
        self._lines: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}
        self._stalled: set[asyncio.Task[None]] = set()
        self.is_down = False
        """New connections are refused."""

    @property
    def url(self) -> str:
        """For kubeconfigs."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def n_lines(self) -> int:
        """Connections that pass something on."""
        return len(self._lines.keys() - self._stalled)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._lines, return_exceptions=True)

    def cut(self) -> int:
        """Reset all connections; how many there were."""
        count = len(self._lines)
        for writers in self._lines.values():
            for writer in writers:
                writer.transport.abort()
        for task in self._stalled:
            task.cancel()
        return count

    def stall(self) -> None:
        """The connections of now go dead; nobody is told."""
        self._stalled |= set(self._lines)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._line(reader, writer))
        self._lines[task] = [writer]

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
            self._lines[task].append(far_writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(task, reader, far_writer))
                group.create_task(self._pass(task, far_reader, writer))
        except (OSError, ExceptionGroup):
            pass
        finally:
            for end in self._lines.pop(task):
                end.transport.abort()
            self._stalled.discard(task)

    async def _pass(self, line: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while some := await reader.read(1 << 16):
                if line in self._stalled:
                    await asyncio.Event().wait()  # until it is cut
                writer.write(some)
                await writer.drain()
            writer.close()
