"""A whole control plane on loopback: etcd, kube-apiserver and, where wanted, controller-manager and kube-scheduler.

Called by the fixtures, by bench and by hand, with `with` or `async with`. Promises: serving within seconds on ports of
its own, with TLS, RBAC, an audit log and native gangs; all processes and the data of etcd gone at the end, whatever it
is; a failure told with the last lines of the logs. Each process is a `Child`, which fault tests end, freeze and start
again; `until_ready` waits for it then.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from tests.cluster import build, commands
from tests.cluster.access import Access
from tests.cluster.audit import AuditLog
from tests.cluster.child import Child, kill_all
from tests.cluster.client import Api, run
from tests.cluster.commands import Ports, Settings, Site
from tests.cluster.pki import Authority
from tests.cluster.ports import free_ports

_READY_MAX_S, _POLL_S = 60.0, 0.05
_STARTS_MAX = 3  # somebody else's listener may take a port between our choice and the start
_PORT_TAKEN = "address already in use"


class PlaneFailed(Exception):
    """The control plane does not serve; the text has the last lines of its logs."""


class ControlPlane(Access):
    """Mutable owner of the processes and of one folder, which is deleted at the end unless it was given."""

    def __init__(self, settings: Settings | None = None, folder: Path | None = None) -> None:
        self.settings = settings or Settings()
        self._is_own_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="gangpool-plane-"))
        authority = Authority(self.folder / "pki")
        super().__init__(authority)
        self._server, self._accounts = authority.server(), authority.service_account_key()
        policy = commands.audit_policy(self.folder)
        policy.write_text(json.dumps(commands.AUDIT_POLICY, indent=1), encoding="utf-8")
        self._settle()

    def _settle(self) -> None:
        """Choose ports, and say what will run on them."""
        own, ports = self._authority.own, Ports(*free_ports(len(Ports._fields)))
        self.site = Site(self.folder, build.folder(), ports, own, self._server, self._accounts)
        self.etcd = self._child("etcd", commands.etcd(self.site))
        self.apiserver = self._child("kube-apiserver", commands.apiserver(self.site, self.settings))
        name = "kube-controller-manager"
        config = self.kubeconfig(f"system:{name}")
        self.controllers = self._child(name, commands.controllers(self.site, config, self.settings))
        name = "kube-scheduler"
        config = self.kubeconfig(f"system:{name}")
        self.scheduler = self._child(name, commands.scheduler(self.site, config, self.settings))

    def _child(self, name: str, command: Sequence[str]) -> Child:
        return Child(name, command, self.folder / f"{name}.log")

    @property
    def children(self) -> tuple[Child, ...]:
        """The processes that the settings ask for, in the order of their start."""
        wanted = ((self.controllers, self.settings.controllers), (self.scheduler, self.settings.scheduler))
        return self.etcd, self.apiserver, *(child for child, is_wanted in wanted if is_wanted)

    def __enter__(self) -> Self:
        # A process ends with the thread that started it, and inside a loop `run` would use a thread that ends at once.
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            run(self._start())
            return self
        raise RuntimeError("inside an event loop, use `async with ControlPlane()`")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes at once. Logs stay where the folder was given; the data of etcd never do."""
        kill_all(self.children)
        shutil.rmtree(self.folder if self._is_own_folder else self.folder / "etcd", ignore_errors=True)

    async def _start(self) -> None:
        build.ensure()
        try:
            for n_left in reversed(range(_STARTS_MAX)):
                try:
                    self.etcd.start()
                    self.apiserver.start()
                    await self.until_ready()
                    break
                except PlaneFailed as failed:
                    if not n_left or _PORT_TAKEN not in str(failed):
                        raise
                    kill_all(self.children)
                    shutil.rmtree(self.folder / "etcd", ignore_errors=True)  # it knows itself by its old port
                    self._settle()
            for child in self.children[2:]:
                child.start()
            await self.until_ready()
        except BaseException:
            self.stop()
            raise

    async def until_ready(self) -> None:
        """Wait until every process that was started serves; also after a fault."""
        async with self.api() as api:
            await self._until_ok(api, "/readyz")
            # Pods are refused in a namespace without this account, which otherwise the controller-manager makes.
            await self._until_ok(api, "/api/v1/namespaces/default")
            await api.account("default", "default")
        ports = self.site.ports
        for child, port in ((self.controllers, ports.controllers), (self.scheduler, ports.scheduler)):
            if child.is_running:
                async with Api(f"https://127.0.0.1:{port}", self._tls(None)) as api:
                    await self._until_ok(api, "/healthz")

    def wait_ready(self) -> None:
        """`until_ready` for callers that are not async."""
        run(self.until_ready())

    async def _until_ok(self, api: Api, path: str) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _READY_MAX_S
        while loop.time() < end:
            for child in self.children:
                if child.exit_status is not None:
                    raise PlaneFailed(f"{child.name} ended with status {child.exit_status}:\n{child.tail()}")
            try:
                if (await api.request("GET", path)).is_ok:
                    return
            except (OSError, TimeoutError, aiohttp.ClientError):
                pass  # it doesn't listen yet, or the connection is one of before the fault
            await asyncio.sleep(_POLL_S)
        raise PlaneFailed(f"no answer to {path} within {_READY_MAX_S:.0f} s:\n{self.tails()}")

    def audit(self) -> AuditLog:
        """A new reader of the audit log, at its beginning."""
        return AuditLog(self.site.audit_log)

    def tails(self, n_lines: int = 15) -> str:
        """Last lines of all logs."""
        return "\n".join(f"--- {child.name}\n{child.tail(n_lines)}" for child in self.children)
