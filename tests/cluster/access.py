"""How users reach a control plane: clients, kubeconfigs, kubectl.

Base of `plane.ControlPlane`; asks of the control plane only where it is. Promises: users are named as Kubernetes names
them, each with credentials that the API server checks like those of any cluster.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.client import Api, Refused, run
from tests.cluster.commands import Site
from tests.cluster.pki import Authority, Certificate

ADMIN = "admin"
_ADMIN_GROUP = "system:masters"
_ACCOUNT = "system:serviceaccount:"
_KUBECTL_MAX_S = 60.0


class Access:
    """Makes credentials on demand; mutable owner of those that it made."""

    site: Site

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._certificates: dict[tuple[str, ...], Certificate] = {}
        self._n_tokens = 0

    def api(self, user: str = ADMIN, groups: Sequence[str] = ()) -> Api:
        """Client of a user with a certificate, by default one who may do all; use it with `async with`."""
        return Api(self.site.url, self._tls(self._certificate(user, groups)))

    def api_of(self, token: str) -> Api:
        """Client of whoever holds a token."""
        return Api(self.site.url, self._tls(None), token)

    def kubeconfig(self, user: str = ADMIN, groups: Sequence[str] = ()) -> Path:
        """Kubeconfig of a user.

        "admin" may do all. "system:serviceaccount:NAMESPACE:NAME" gets a new token and a new file at each call;
        namespace and account are made where they are missing. Any other name gets a certificate with these groups, and
        may do what RBAC lets it do.
        """
        if user.startswith(_ACCOUNT):
            namespace, name = user.removeprefix(_ACCOUNT).split(":")
            self._n_tokens += 1
            return self._written(f"{namespace}.{name}.{self._n_tokens}", {"token": run(self._token(namespace, name))})
        made = self._certificate(user, groups)
        files = {"client-certificate": str(made.certificate), "client-key": str(made.key)}
        return self._written(made.certificate.stem, files)

    def kubectl(self, *arguments: str, stdin: str | None = None, user: str = ADMIN) -> subprocess.CompletedProcess[str]:
        """Run kubectl as a user; exit status and texts are the caller's to judge."""
        # HOME: kubectl keeps what it learnt of a server under it.
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig(user)), "HOME": str(self.site.folder)}
        return subprocess.run(
            [str(self.site.binaries / "kubectl"), *arguments],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_KUBECTL_MAX_S,
            check=False,
        )

    def tls(self, user: str = ADMIN, groups: Sequence[str] = ()) -> ssl.SSLContext:
        """TLS context of a user with a certificate, for clients of other kinds."""
        return self._tls(self._certificate(user, groups))

    def _certificate(self, user: str, groups: Sequence[str]) -> Certificate:
        key = (user, *((_ADMIN_GROUP,) if user == ADMIN else groups))
        if key not in self._certificates:
            self._certificates[key] = self._authority.user(user, key[1:])
        return self._certificates[key]

    def _tls(self, user: Certificate | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._authority.own.certificate))
        if user is not None:
            context.load_cert_chain(user.certificate, user.key)
        return context

    async def _token(self, namespace: str, name: str) -> str:
        async with self.api() as api:
            try:
                await api.account(namespace, name)
            except Refused as refused:
                if refused.answer.status != 404:
                    raise
                await api.namespace(namespace)
                await api.account(namespace, name)
            return await api.token(namespace, name)

    def _written(self, name: str, user: dict[str, str]) -> Path:
        """Write a kubeconfig (JSON is YAML too)."""
        cluster = {"server": self.site.url, "certificate-authority": str(self._authority.own.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": user}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        }
        path = self.site.folder / f"{name}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        return path
