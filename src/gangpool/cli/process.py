"""What all long-running commands share: logs to stderr, and an end on SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Coroutine
from typing import Any


def log_to_stderr() -> None:
    """Events with keys, one line each; GANGPOOL_LOG sets the level."""
    logging.basicConfig(
        level=os.environ.get("GANGPOOL_LOG", "INFO").upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Run until it ends by itself, or SIGTERM or SIGINT asks for the end."""
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
