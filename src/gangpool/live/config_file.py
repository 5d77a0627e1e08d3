"""The configuration file of a running process: followed, and applied as far as that is safe.

The file may be replaced, or be a link into a ConfigMap, where the kubelet swaps a folder: what it leads to is looked at
every second, and at once on SIGHUP. A bad file is told once, in the log and in the metrics, and the process goes on
with what it had. Mutable owner of what is known of the file.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection

from gangpool.files.config import read_config
from gangpool.files.failure import InputError
from gangpool.intake.config import Config

log = logging.getLogger("gangpool.config")

LOOK_S = 1.0

Apply = Callable[[Config], Awaitable[Collection[str]]]
"""Goes by a new configuration; returns the keys that need a restart for that."""
Mark = tuple[int, int, int, int] | None


class ConfigFile:
    """`config`: as last read without a fault. `path` None: there is none, and the defaults hold."""

    def __init__(self, path: str | None, look_s: float = LOOK_S) -> None:
        """Raises InputError where it is bad: no process starts so."""
        self.path = path
        self._look_s = look_s
        self._mark = self._looked_at()
        self.config = read_config(path)
        self.is_valid = True
        self.needs_restart: tuple[str, ...] = ()
        self.n_read: Counter[str] = Counter()
        """Readings since the start by outcome: applied, restart (needed), bad."""
        self._complaint = ""
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Read it now."""
        self._asked.set()

    async def follow(self, apply: Apply) -> None:
        """Until cancelled."""
        if self.path in (None, "-"):
            return
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), self._look_s)
            mark = self._looked_at()
            if self._asked.is_set() or mark != self._mark:
                self._asked.clear()
                self._mark = mark
                await self._read(apply)

    def _looked_at(self) -> Mark:
        """What tells one content from another without reading; None while nothing is there."""
        try:
            found = os.stat(self.path or "")
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    async def _read(self, apply: Apply) -> None:
        try:
            config = read_config(self.path)
        except InputError as error:
            self._bad(str(error))
            return
        self.is_valid, self._complaint = True, ""
        if config == self.config:
            log.info("config-same file=%s", self.path)
            return
        self.config = config
        self.needs_restart = tuple(sorted(await apply(config)))
        self.n_read["restart" if self.needs_restart else "applied"] += 1
        if self.needs_restart:
            log.warning("config-needs-restart file=%s keys=%s", self.path, ",".join(self.needs_restart))
        else:
            log.info("config-applied file=%s", self.path)

    def _bad(self, text: str) -> None:
        self.is_valid = False
        self.n_read["bad"] += 1
        if text != self._complaint:
            log.error("config-bad file=%s text=%s", self.path, text)
        self._complaint = text
