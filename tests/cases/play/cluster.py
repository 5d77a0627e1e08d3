"""The control plane of one case: ours, with the few questions that the runner asks of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.cases.play.api import Api, ApiError, Obj
from tests.cluster.plane import ControlPlane

PRODUCT_NAMESPACE = "gangpool-system"


class Cluster:
    """A control plane that serves. The controller-manager starts once all CRDs are there: its garbage collector looks
    for new kinds every 30 s only. `api` is the runner's own admin client."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.url = plane.site.url
        self.audit_log: Path = plane.site.audit_log
        self.authority: Path = plane.site.authority.certificate
        self.kubeconfig: Path = plane.kubeconfig()
        """Of the admin."""
        self.api = Api(self.url, plane.tls())

    async def open(self) -> None:
        """Before anything is asked."""
        await self.api.open()

    async def start_controllers(self) -> None:
        """The real ones, but for those that play a node."""
        self._plane.controllers.start()
        await self.wait_for_account("default")

    async def wait_for_account(self, namespace: str) -> None:
        """The default service account of a namespace: pods are refused before it exists."""
        for _ in range(300):
            if (await self.api.call("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")).ok:
                return
            await asyncio.sleep(0.1)
        raise ApiError(f"no default service account in {namespace} after 30 s")

    async def get(self, path: str) -> Obj | None:
        """Object at a raw API path, or None."""
        got = await self.api.call("GET", path)
        return got.body if got.ok else None

    async def patch(self, path: str, body: Any, content_type: str = "application/merge-patch+json") -> Obj:
        """Patch at a raw API path; raises when refused."""
        return dict(await self.api.need("PATCH", path, body, kind=content_type))

    async def stop(self) -> None:
        """What was started here ends; the rest is the fixture's."""
        await self.api.close()
        self._plane.controllers.kill()


def kubeconfig(server: str, authority: Path, user: dict[str, str]) -> str:
    """A kubeconfig with one context."""
    cluster = {"server": server, "certificate-authority": str(authority)}
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    return json.dumps(body, indent=1)
