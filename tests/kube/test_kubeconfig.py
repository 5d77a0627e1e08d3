"""Kubeconfig files as kubectl reads them: several files, relative paths, certificates, and what is wrong in words."""

from __future__ import annotations

import base64
import os
import ssl
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gangpool.kube.client import Client
from gangpool.kube.kubeconfig import Access, AccessError, in_cluster, load
from gangpool.kube.transport import Transport, Unreachable
from tests.kube.standin import in_loop


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def config(name: str = "a", *, current: str | None = "a", user: Any = None, **cluster: Any) -> dict[str, Any]:
    """A kubeconfig with one context, cluster and user of this name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        **({"current-context": current} if current else {}),
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"ns-{name}"}}],
        "clusters": [{"name": name, "cluster": {"server": f"http://{name}:1", **cluster}}],
        "users": [{"name": name, "user": user or {}}],
    }


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


# ---- which file, which context


def test_given_file_counts_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(write(tmp_path / "env", config("env", current="env"))))
    assert load(str(write(tmp_path / "given", config("a")))).server == "http://a:1"
    assert load().server == "http://env:1"


def test_home_is_the_default_and_an_empty_variable_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "home/.kube/config", config("a"))
    assert load().server == "http://a:1"
    monkeypatch.setenv("KUBECONFIG", "")
    assert load().server == "http://a:1"


def test_several_files_merge_and_the_first_word_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = config("a", current=None)
    two = config("b", current="b")
    two["clusters"].append({"name": "a", "cluster": {"server": "http://other:1"}})
    files = [write(tmp_path / "one", one), tmp_path / "missing", write(tmp_path / "two", two)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(file) for file in files))
    assert load().server == "http://b:1"
    assert load(context="a").server == "http://a:1"
    assert load(context="a").namespace == "ns-a"


def test_context_may_be_in_another_file_than_its_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = config("a")
    clusters = {"clusters": contexts.pop("clusters"), "users": contexts.pop("users")}
    files = [write(tmp_path / "contexts", contexts), write(tmp_path / "clusters", clusters)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(file) for file in files))
    assert load().server == "http://a:1"


@pytest.mark.parametrize(
    ("content", "context", "words"),
    [
        (None, None, "No such file or directory; give --kubeconfig"),
        ("{", None, "is no kubeconfig"),
        ("- a", None, "is no kubeconfig"),
        ("", None, "has no current context; give --context"),
        (config(), "b", r"has no context b \(there are: a\)"),
        ({**config(), "clusters": []}, None, "names a cluster that is not there: a"),
        (config(server="a:6443"), None, "'a:6443' is no URL"),
        (config(user={"auth-provider": {"name": "gcp"}}), None, "exec plugin"),
        (config(server="https://a", **{"certificate-authority": "gone.crt"}), None, "gone.crt"),
        (config(server="https://a", **{"certificate-authority-data": "bm8="}), None, "cannot be used"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: Any, context: str | None, words: str) -> None:
    file = tmp_path / "config"
    if content is not None:
        write(file, content)
    with pytest.raises(AccessError, match=words):
        load(str(file), context)


def two(tmp_path: Path) -> str:
    """Contexts, clusters and users a and b; the current one is a."""
    first, second = config("a", user={"token": "ta"}), config("b", user={"token": "tb"})
    both = {key: first[key] + second[key] for key in ("contexts", "clusters", "users")}
    return str(write(tmp_path / "two", {**first, **both}))


@pytest.mark.parametrize(
    ("chosen", "server", "token"),
    [({}, "a", "ta"), ({"cluster": "b"}, "b", "ta"), ({"user": "b"}, "a", "tb"), ({"context": "b"}, "b", "tb")],
)
def test_cluster_and_user_can_be_chosen(tmp_path: Path, chosen: dict[str, str], server: str, token: str) -> None:
    access = load(two(tmp_path), chosen.pop("context", None), **chosen)
    assert (access.server, access.token) == (f"http://{server}:1", token)


def test_a_chosen_cluster_needs_no_context(tmp_path: Path) -> None:
    file = write(tmp_path / "c", config(current=None))
    access = load(str(file), cluster="a")
    assert (access.server, access.namespace) == ("http://a:1", "default")


@pytest.mark.parametrize("kind", ["cluster", "user"])
def test_a_chosen_entry_that_is_not_there_is_said(tmp_path: Path, kind: str) -> None:
    with pytest.raises(AccessError, match=rf"has no {kind} c \(there are: a, b\)"):
        load(two(tmp_path), **{kind: "c"})


# ---- who we are


def test_users_of_all_kinds(tmp_path: Path) -> None:
    def user(**fields: Any) -> Access:
        return load(str(write(tmp_path / "sub/config", config(user=fields))))

    assert user(token="t").token == "t"
    assert user(tokenFile="t.txt").token_file == str(tmp_path / "sub/t.txt")
    both = user(token="t", tokenFile="/t.txt")
    assert (both.token, both.token_file) == ("", "/t.txt")
    assert user(username="joe", password="pw").basic == ("joe", "pw")
    plugin = user(exec={"command": "./p", "args": ["x", 1], "env": [{"name": "A", "value": "B"}], "apiVersion": "v9"})
    assert plugin.exec_plugin is not None
    assert plugin.exec_plugin.command == (str(tmp_path / "sub/p"), "x", "1")
    assert (plugin.exec_plugin.env, plugin.exec_plugin.api_version) == ((("A", "B"),), "v9")
    on_path = user(exec={"command": "aws", "args": None, "env": None})
    assert on_path.exec_plugin is not None
    assert on_path.exec_plugin.command == ("aws",)


def test_cluster_fields(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"server": "https://a:1/", "proxy-url": "http://p:3128", "tls-server-name": "api"}
    fields["insecure-skip-tls-verify"] = True
    access = load(str(write(tmp_path / "c", config(**fields))))
    assert (access.server, access.proxy, access.server_name) == ("https://a:1", "http://p:3128", "api")
    assert access.tls is not None
    assert access.tls.verify_mode == ssl.CERT_NONE


def test_account_of_the_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    authority = make("ca")
    write(tmp_path / "ca.crt", authority.certificate)
    access = in_cluster(tmp_path)
    assert (access.server, access.namespace) == ("https://[fd00::1]:443", "default")
    write(tmp_path / "namespace", "gangpool-system\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    access = in_cluster(tmp_path)
    assert (access.server, access.namespace) == ("https://[fd00::1]:6443", "gangpool-system")
    assert access.token_file == str(tmp_path / "token")


# ---- certificates


class Pair(NamedTuple):
    """A certificate and its key, in PEM."""

    certificate: str
    key: str


def make(name: str, issuer: Pair | None = None) -> Pair:
    """A certificate, signed by the issuer or by itself, as plain as clusters' own often are."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    by = x509.load_pem_x509_certificate(issuer.certificate.encode()).subject if issuer else subject
    signer: Any = serialization.load_pem_private_key(issuer.key.encode(), None) if issuer else key
    start = datetime(2020, 1, 1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode(),
    )


@in_loop
async def test_both_sides_show_certificates(tmp_path: Path) -> None:
    """The server is known by another name than its address; files lie beside the kubeconfig, data inside it."""
    authority = make("ca")
    server, joe = make("api", authority), make("joe", authority)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    both = write(tmp_path / "server.pem", server.certificate + server.key)
    context.load_cert_chain(both)

    async def who(request: web.Request) -> web.Response:
        assert request.transport is not None
        shown = request.transport.get_extra_info("peercert")
        return web.json_response({"who": dict(field[0] for field in shown["subject"])["commonName"]})

    app = web.Application()
    app.router.add_get("/who", who)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        write(tmp_path / "ca.crt", authority.certificate)
        write(tmp_path / "joe.key", joe.key)
        data = base64.b64encode(joe.certificate.encode()).decode()
        user = {"client-certificate-data": data, "client-key": "joe.key"}
        known = {"server": url, "certificate-authority": "ca.crt", "tls-server-name": "api"}
        assert await ask(write(tmp_path / "c", config(user=user, **known))) == b'{"who": "joe"}'
        with pytest.raises(Unreachable, match="/who"):  # not the name in the certificate
            await ask(write(tmp_path / "c", config(user=user, **{**known, "tls-server-name": "other"})))
        with pytest.raises(Unreachable, match="/who"):  # nobody known has signed it
            await ask(write(tmp_path / "c", config(user=user, server=url, **{"tls-server-name": "api"})))
    finally:
        await runner.cleanup()


async def ask(file: Path) -> bytes:
    transport = Transport(load(str(file)))
    try:
        return await Client(transport).send("GET", "/who")
    finally:
        await transport.close()
