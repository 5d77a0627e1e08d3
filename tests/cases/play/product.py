"""The processes of the product, started the way CONTRACT.md says, each with an identity of its own.

Accounts: process ``gangpool X`` runs as service account ``gangpool-X`` of ``gangpool-system``, which
``gangpool manifests rbac`` must have made; so missing rights are found, and each request can be traced.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.cases.play import procs
from tests.cases.play.api import Obj
from tests.cases.play.case import Case
from tests.cases.play.cluster import PRODUCT_NAMESPACE, Cluster, kubeconfig

READY_S = 30.0
END_S = 5.0
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{PRODUCT_NAMESPACE}/leases/gangpool-scheduler"


class ProductError(Exception):
    """The product does not do what CONTRACT.md says about its processes."""


class Running:
    """One process of the product: what it was started with, so that it can be started again."""

    def __init__(
        self, kind: str, identity: str, flags: list[str], port: int, token_id: str, child: procs.Child
    ) -> None:
        self.kind, self.identity, self.flags, self.port, self.token_id, self.child = (
            kind,
            identity,
            flags,
            port,
            token_id,
            child,
        )


class Product:
    """Mutable owner of the processes of one case."""

    def __init__(self, prefix: list[str], cluster: Cluster, case: Case, folder: Path) -> None:
        self._prefix, self._cluster, self._case, self.folder = prefix, cluster, case, folder
        self.running: list[Running] = []
        self.problems: list[str] = []  # breaches of the process contract seen on the way
        self.webhook_url = ""
        self.server = cluster.url  # a fault proxy puts itself here
        self.config: dict[str, Any] = {"apiVersion": "gangpool.io/v1", "kind": "Config", "schedulerNames": ["gangpool"]}
        if case.topology:
            self.config["topology"] = {"levels": list(case.topology)}
        if case.area == "sharing":
            self.config["gpuMem"] = {"unit": case.gpu_mem_unit}

    async def run(self, *args: str, timeout_s: float = 30.0) -> tuple[int, str, str]:
        """A command of the product that ends by itself: (exit code, stdout, stderr)."""
        process = await asyncio.create_subprocess_exec(
            *self._prefix,
            *args,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_s)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ProductError(f"{' '.join(args)} did not end within {timeout_s:g} s") from None
        return int(process.returncode or 0), out.decode(errors="replace"), err.decode(errors="replace")

    async def manifests(self, part: str) -> list[Obj]:
        """Objects of ``gangpool manifests PART``."""
        code, out, err = await self.run("manifests", part)
        if code:
            raise ProductError(f"manifests {part} ended with {code}: {err.strip()[-300:]}")
        try:
            return [d for d in yaml.safe_load_all(out) if d]
        except yaml.YAMLError as e:
            raise ProductError(f"manifests {part} is not YAML: {e}") from e

    async def install(self) -> None:
        """Apply CRDs, roles and the fence, as an administrator would before the first start."""
        api = self._cluster.api
        await api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PRODUCT_NAMESPACE}})
        for part in ("crds", "rbac", "fence"):
            for obj in await self.manifests(part):
                await api.apply(obj)
                if obj["kind"] == "CustomResourceDefinition":
                    await established(self._cluster, obj["metadata"]["name"])

    async def kubeconfig_for(self, kind: str, label: str | None = None) -> Path:
        """Kubeconfig with a fresh token of service account ``gangpool-KIND``."""
        path, _ = await self._login(kind, label or kind)
        return path

    async def _login(self, kind: str, label: str) -> tuple[Path, str]:
        account = f"/api/v1/namespaces/{PRODUCT_NAMESPACE}/serviceaccounts/gangpool-{kind}"
        got = await self._cluster.api.call(
            "POST",
            account + "/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}},
        )
        if not got.ok:
            raise ProductError(
                f"manifests rbac made no service account gangpool-{kind} in {PRODUCT_NAMESPACE}: {got.message}"
            )
        token = got.body["status"]["token"]
        claims = token.split(".")[1]
        token_id = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["jti"]
        path = self.folder / f"{label}.conf"
        path.write_text(kubeconfig(self.server, self._cluster.authority, {"token": token}))
        return path, token_id

    async def start(self, kind: str, replica: int = 0, wait: bool = True) -> Running:
        """Start one process; with ``wait`` until /readyz answers 200."""
        identity = f"{kind}-{replica}"
        path, token_id = await self._login(kind, identity)
        config = self.folder / "config.yaml"
        config.write_text(yaml.safe_dump(self.config))
        port = procs.free_port()
        flags = [kind, "--kubeconfig", str(path), "--config", str(config), "--listen", f"127.0.0.1:{port}"]
        if kind == "scheduler":
            flags += ["--identity", identity]
        if kind == "webhook":
            self.webhook_url = self.webhook_url or f"https://127.0.0.1:{procs.free_port()}"
            flags += ["--url", self.webhook_url]
            if (self.folder / "tls").exists():
                flags += ["--tls-dir", str(self.folder / "tls")]
        child = await procs.start(identity, [*self._prefix, *flags], self.folder / f"{identity}.log")
        process = Running(kind, identity, flags, port, token_id, child)
        self.running.append(process)
        if wait:
            await self.wait_ready(process)
        return process

    async def wait_ready(self, process: Running, timeout_s: float = READY_S) -> None:
        """Until /readyz answers 200. Raises ProductError when it ends or takes too long."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if not process.child.running:
                status = process.child.process.returncode
                raise ProductError(
                    f"{process.identity} ended with {status} before it was ready\n{process.child.tail()}"
                )
            status, _ = await self.http(process, "/readyz")
            if status == 200:
                return
            await asyncio.sleep(0.05)
        raise ProductError(f"{process.identity} was not ready after {timeout_s:g} s\n{process.child.tail()}")

    async def http(self, process: Running, path: str) -> tuple[int, str]:
        """(status, text) of its --listen address; (0, cause) when it does not answer."""
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as s,
                s.get(f"http://127.0.0.1:{process.port}{path}") as r,
            ):
                return r.status, await r.text()
        except (TimeoutError, OSError, aiohttp.ClientError) as e:
            return 0, repr(e)

    def of(self, kind: str) -> list[Running]:
        """Processes of a kind that have been started and not been stopped by the case."""
        return [p for p in self.running if p.kind == kind and not p.child.expected_end]

    async def stop(self, process: Running) -> None:
        """SIGTERM; more than 5 s is a breach that ``alive`` reports."""
        await process.child.stop(END_S)
        if process.child.slow_end_s:
            self.problems.append(f"{process.identity} did not end within {END_S:g} s of SIGTERM")

    async def restart(self, kind: str, wait: bool = True) -> None:
        """All replicas of a kind end, then start again under the same identity."""
        old = self.of(kind)
        if not old:
            raise ProductError(f"no {kind} is running")
        for process in old:
            await self.stop(process)
        for process in old:
            await self.start(kind, int(process.identity.rsplit("-", 1)[1]), wait)

    async def leader(self) -> Running | None:
        """The scheduler whose identity holds the Lease."""
        lease = await self._cluster.get(LEASE)
        holder = ((lease or {}).get("spec") or {}).get("holderIdentity")
        return next(
            (p for p in self.of("scheduler") if holder == p.identity or str(holder).startswith(p.identity + "/")), None
        )

    def died(self) -> list[str]:
        """Processes that ended although nobody asked them to, and other breaches."""
        return self.problems + [
            f"{p.identity} ended with {p.child.process.returncode}"
            for p in self.running
            if not p.child.running and not p.child.expected_end
        ]

    def tails(self) -> str:
        """Last log lines of each process, for the report of a failure."""
        return "\n".join(f"--- {name}\n{p.child.tail()}" for name, p in {p.identity: p for p in self.running}.items())

    async def close(self) -> None:
        await asyncio.gather(*(p.child.stop(END_S) for p in self.running))


async def established(cluster: Cluster, crd: str) -> None:
    """Wait until the API server serves a CRD."""
    for _ in range(200):
        got = await cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}")
        conditions = ((got or {}).get("status") or {}).get("conditions") or []
        if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
            return
        await asyncio.sleep(0.05)
    raise ProductError(f"CRD {crd} was not established after 10 s")
