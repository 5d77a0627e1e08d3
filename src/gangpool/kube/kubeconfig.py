"""How to reach an API server and who we are there: kubeconfig files as kubectl reads them, or the pod's own account.

Called once at the start of a process. Blocking file reads; promises `AccessError` with file and cause.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class AccessError(Exception):
    """The API server cannot be addressed as configured; the message says what to do."""


class ExecPlugin(Struct, frozen=True):
    """A command that prints an ExecCredential."""

    api_version: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


class Access(Struct, frozen=True):
    """Server and identity. At most one of `token`, `token_file`, `exec_plugin`, `basic` is set; certificates are in
    `tls`."""

    server: str
    tls: ssl.SSLContext | None
    server_name: str | None = None
    proxy: str | None = None
    namespace: str = "default"
    token: str = ""
    token_file: str = ""
    exec_plugin: ExecPlugin | None = None
    basic: tuple[str, str] | None = None


class Chosen(Struct, frozen=True):
    """Entries of the kubeconfig by name. The context "" is the current one; cluster and user "" are the context's."""

    context: str = ""
    cluster: str = ""
    user: str = ""


def load(path: str | None = None, context: str | None = None, *, cluster: str = "", user: str = "") -> Access:
    """The access of a kubeconfig file, of KUBECONFIG, of ~/.kube/config, or of the pod that we run in. `cluster` and
    `user`: entries to use in place of those that the context names."""
    named = [Path(p) for p in os.environ.get("KUBECONFIG", "").split(os.pathsep) if p]
    if path is None and not named and not _home().exists() and _in_cluster():
        return in_cluster()
    if path:
        files = [Path(path)]
    else:  # of several, as kubectl does: those that are not there don't matter
        files = [file for file in named if file.exists()] or named[:1] or [_home()]
    return _from_files(files, Chosen(context or "", cluster, user))


def _home() -> Path:
    return Path.home() / ".kube" / "config"


def _in_cluster() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ and (SERVICE_ACCOUNT / "token").exists()


def in_cluster(folder: Path = SERVICE_ACCOUNT) -> Access:
    """The account of the pod; its token is read again when it is renewed."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    space = folder / "namespace"
    return Access(
        server=f"https://{host}:{port}",
        tls=tls,
        namespace=space.read_text().strip() if space.exists() else "default",
        token_file=str(folder / "token"),
    )


def _from_files(files: list[Path], chosen: Chosen) -> Access:
    merged: dict[str, dict[str, tuple[Mapping[str, Any], Path]]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = chosen.context
    for file in files:
        config = _read(file)
        current = current or str(config.get("current-context") or "")
        for section, single in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            for entry in config.get(section) or ():
                if isinstance(entry, Mapping) and isinstance(entry.get(single), Mapping):
                    merged[section].setdefault(str(entry.get("name")), (entry[single], file.parent))
    named = _context(files[0], current, {name: entry for name, (entry, _) in merged["contexts"].items()}, chosen)
    cluster = merged["clusters"].get(chosen.cluster or str(named.get("cluster") or ""))
    if cluster is None:
        if chosen.cluster:
            raise AccessError(f"{files[0]}: has no cluster {chosen.cluster} (there are: {_names(merged['clusters'])})")
        missing = named.get("cluster")
        raise AccessError(f"{files[0]}: context {current} names a cluster that is not there: {missing}")
    if chosen.user and chosen.user not in merged["users"]:
        raise AccessError(f"{files[0]}: has no user {chosen.user} (there are: {_names(merged['users'])})")
    user = merged["users"].get(chosen.user or str(named.get("user") or ""), ({}, files[0].parent))
    return _access(cluster, user, str(named.get("namespace") or "default"))


def _context(file: Path, name: str, contexts: Mapping[str, Mapping[str, Any]], chosen: Chosen) -> Mapping[str, Any]:
    """The context; none is needed where cluster and user are chosen."""
    if name in contexts:
        return contexts[name]
    if name:
        raise AccessError(f"{file}: has no context {name} (there are: {_names(contexts)})")
    if not chosen.cluster:
        raise AccessError(f"{file}: has no current context; give --context")
    return {}


def _names(entries: Mapping[str, object]) -> str:
    return ", ".join(sorted(entries)) or "none"


def _read(file: Path) -> Mapping[str, Any]:
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise AccessError(f"{file}: {error.strerror or error}; give --kubeconfig") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AccessError(f"{file}: is no kubeconfig: {error}") from None
    if not isinstance(config, Mapping):
        raise AccessError(f"{file}: is no kubeconfig")
    return config


def _access(cluster: tuple[Mapping[str, Any], Path], user: tuple[Mapping[str, Any], Path], namespace: str) -> Access:
    place, place_folder = cluster
    who, who_folder = user
    server = str(place.get("server") or "")
    if not server.startswith(("http://", "https://")):
        raise AccessError(f"the cluster's server {server!r} is no URL")
    if isinstance(who.get("auth-provider"), Mapping):
        raise AccessError("the user's auth-provider is gone from kubectl too; its successor is an exec plugin")
    plugin = who.get("exec")
    token_file = who.get("tokenFile")
    return Access(
        server=server.rstrip("/"),
        tls=_tls(place, place_folder, who, who_folder) if server.startswith("https://") else None,
        server_name=place.get("tls-server-name"),
        proxy=place.get("proxy-url"),
        namespace=namespace,
        token="" if token_file else str(who.get("token") or ""),
        token_file=str(who_folder / token_file) if token_file else "",
        exec_plugin=_plugin(plugin, who_folder) if isinstance(plugin, Mapping) else None,
        basic=(str(who["username"]), str(who.get("password") or "")) if who.get("username") else None,
    )


def _plugin(plugin: Mapping[str, Any], folder: Path) -> ExecPlugin:
    command = str(plugin.get("command") or "")
    if os.sep in command:
        command = str(folder / command)
    env = tuple((str(e.get("name")), str(e.get("value"))) for e in plugin.get("env") or () if isinstance(e, Mapping))
    return ExecPlugin(
        str(plugin.get("apiVersion") or "client.authentication.k8s.io/v1"),
        (command, *(str(arg) for arg in plugin.get("args") or ())),
        env,
    )


def _tls(place: Mapping[str, Any], place_folder: Path, who: Mapping[str, Any], who_folder: Path) -> ssl.SSLContext:
    try:
        ca = _bytes(place, "certificate-authority", place_folder)
        context = ssl.create_default_context(cadata=ca.decode("ascii") if ca else None)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # on since Python 3.13; clusters' own CAs lack what it asks
        if place.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = _bytes(who, "client-certificate", who_folder), _bytes(who, "client-key", who_folder)
        if certificate and key:
            load_pair(context, certificate, key)
    except (OSError, ValueError, ssl.SSLError) as error:
        raise AccessError(f"certificates of the kubeconfig cannot be used: {error}") from None
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """A client certificate from memory; the library wants a file, which lives for that moment only."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def _bytes(entry: Mapping[str, Any], name: str, folder: Path) -> bytes:
    data = entry.get(f"{name}-data")
    if data:
        return base64.b64decode(str(data), validate=False)
    path = entry.get(name)
    return (folder / str(path)).read_bytes() if path else b""
