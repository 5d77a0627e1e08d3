"""Certificates, judged by the TLS library that clients use: a handshake in memory."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tests.cluster.pki import Authority, Certificate


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """Connect both over memory; the server's end."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    at_client = client.wrap_bio(to_client, to_server, server_hostname=host)
    at_server = server.wrap_bio(to_server, to_client, server_side=True)
    pending = [at_client, at_server]
    for _ in range(10):
        for side in list(pending):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            pending.remove(side)
        if not pending:
            return at_server
    raise AssertionError("the handshake does not end")


def contexts(authority: Authority, user: Certificate) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.own.certificate))
    server.verify_mode = ssl.CERT_REQUIRED
    made = authority.server()
    server.load_cert_chain(made.certificate, made.key)
    client = ssl.create_default_context(cafile=str(authority.own.certificate))
    client.load_cert_chain(user.certificate, user.key)
    return server, client


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "kubernetes.default.svc"])
def test_server_and_user_trust_each_other(tmp_path: Path, host: str) -> None:
    authority = Authority(tmp_path)
    user = authority.user("alice", ("dev", "ops"))
    peer = handshake(*contexts(authority, user), host).getpeercert()
    assert peer and peer["subject"] == (
        (("organizationName", "dev"),),
        (("organizationName", "ops"),),
        (("commonName", "alice"),),
    )


def test_another_host_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(*contexts(authority, authority.user("alice")), "example.org")


def test_a_user_of_another_authority_is_refused(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    with pytest.raises(ssl.SSLError):
        handshake(*contexts(authority, other.user("alice")), "127.0.0.1")


def test_a_server_certificate_is_no_user(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(*contexts(authority, authority.server()), "127.0.0.1")


def test_only_the_owner_reads_and_names_do_not_collide(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    made = [authority.user(name) for name in ("a:b", "a_b", "a/b", "../a")] + [authority.service_account_key()]
    files = [file for certificate in made for file in certificate]
    assert len(set(files)) == len(files)
    assert {file.parent for file in files} == {tmp_path}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
