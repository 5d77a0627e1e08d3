"""The bearer token of the next request: fixed, from a file that is renewed, or from an exec plugin.

Called by the transport for every request; O(1) but for renewals.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from gangpool.kube.kubeconfig import Access, AccessError, ExecPlugin, load_pair

FILE_AGE_S = 60.0
"""A token file is read again after so long; the kubelet renews tokens long before they end."""
EARLY_S = 30.0
PLUGIN_LIMIT_S = 60.0


class Credentials:
    """Headers that say who we are."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._token = access.token
        self._good_until = float("inf") if access.token or not (access.token_file or access.exec_plugin) else 0.0
        self._lock = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """For the next request; renews what has ended."""
        if self._access.basic:
            pair = ":".join(self._access.basic).encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        if time.monotonic() >= self._good_until:
            async with self._lock:
                if time.monotonic() >= self._good_until:
                    await self._renew()
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def refused(self, headers: Mapping[str, str]) -> bool:
        """The server said 401 to these headers: renew before the next request, unless somebody has by now. False
        when there is nothing to renew."""
        if not (self._access.token_file or self._access.exec_plugin):
            return False
        if headers.get("Authorization", "") == (f"Bearer {self._token}" if self._token else ""):
            self._good_until = 0.0
        return True

    async def _renew(self) -> None:
        if self._access.token_file:
            try:
                self._token = Path(self._access.token_file).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise AccessError(f"{self._access.token_file}: {error.strerror}") from None
            self._good_until = time.monotonic() + FILE_AGE_S
        elif self._access.exec_plugin:
            await self._run(self._access.exec_plugin)

    async def _run(self, plugin: ExecPlugin) -> None:
        info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        env = {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": json.dumps(info)}
        process: asyncio.subprocess.Process | None = None
        try:
            process = await asyncio.create_subprocess_exec(
                *plugin.command,
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await asyncio.wait_for(process.communicate(), PLUGIN_LIMIT_S)
        except TimeoutError:
            raise AccessError(f"exec plugin {plugin.command[0]} gave no answer in {PLUGIN_LIMIT_S:g} s") from None
        except OSError as error:
            raise AccessError(f"exec plugin {plugin.command[0]} failed: {error.strerror or error}") from None
        finally:
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            text = err.decode(errors="replace").strip()[-300:]
            raise AccessError(f"exec plugin {plugin.command[0]} ended with {process.returncode}: {text}")
        self._take(plugin, out)

    def _take(self, plugin: ExecPlugin, out: bytes) -> None:
        try:
            status: dict[str, Any] = json.loads(out)["status"]
        except (ValueError, KeyError, TypeError):
            raise AccessError(f"exec plugin {plugin.command[0]} printed no ExecCredential") from None
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        end = status.get("expirationTimestamp")
        try:
            if certificate and key and self._access.tls is not None:
                load_pair(self._access.tls, str(certificate).encode(), str(key).encode())
            left_s = datetime.fromisoformat(str(end)).timestamp() - time.time() if end else float("inf")
        except (OSError, ValueError, ssl.SSLError) as error:
            raise AccessError(
                f"exec plugin {plugin.command[0]} printed a certificate or time of no use: {error}"
            ) from None
        self._token = str(status.get("token") or "")
        self._good_until = time.monotonic() + max(left_s - EARLY_S, 1.0)
