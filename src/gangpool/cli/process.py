"""What all long-running commands share: logs to stderr, and an end on SIGTERM or Ctrl-C.

Imports what it needs when it runs: the help of these commands must answer at once.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any


def log_to_stderr() -> None:
    """Events with keys, one line each; GANGPOOL_LOG sets the level."""
    import logging

    logging.basicConfig(
        level=os.environ.get("GANGPOOL_LOG", "INFO").upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )


def run_until_told(work: Coroutine[Any, Any, None]) -> None:
    """Run until it ends by itself, or SIGTERM or SIGINT asks for the end: then it is cancelled and may clean up."""
    import asyncio
    import contextlib
    import signal

    async def main() -> None:
        task = asyncio.create_task(work)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
