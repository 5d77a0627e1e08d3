"""Certificates of one control plane: its own authority, the server's certificate, users, the key of service accounts.

Called by `plane`. Promises files in one folder, readable by their owner only, valid for a month; nothing outside a test
trusts them. Elliptic keys: all of it takes milliseconds.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=30)
_BACKDATED = timedelta(minutes=5)  # clocks of a machine and its containers differ
_SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_SERVER_ADDRESSES = ("127.0.0.1", "10.96.0.1")  # loopback, and the first address of the service range


class Certificate(NamedTuple):
    """A certificate and its private key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """The certificate authority of one control plane; mutable owner of its folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject("gangpool-tests")
        now = datetime.now(UTC)  # noqa: TID251
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        built = (
            x509.CertificateBuilder(self._name, self._name, self._key.public_key(), x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(now + _VALID)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.own = self._write("ca", built, self._key)

    def server(self) -> Certificate:
        """Certificate of the API server, for loopback and the names that pods use."""
        names = [x509.DNSName(name) for name in _SERVER_NAMES]
        addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in _SERVER_ADDRESSES]
        alternative = x509.SubjectAlternativeName([*names, *addresses])
        return self._sign("apiserver", _subject("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, alternative)

    def user(self, name: str, groups: Sequence[str] = ()) -> Certificate:
        """Client certificate of a user: Kubernetes reads its name from CN and its groups from O."""
        file = quote("-".join((name, *groups)), safe="")
        return self._sign(file, _subject(name, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def service_account_key(self) -> Certificate:
        """Key pair that signs and checks tokens of service accounts (the public key instead of a certificate)."""
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return Certificate(
            _secret(self.folder / "service-accounts.pub", public), self._write_key("service-accounts", key)
        )

    def _sign(
        self,
        file: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternative: x509.SubjectAlternativeName | None = None,
    ) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)  # noqa: TID251
        builder = (
            x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(now + _VALID)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if alternative is not None:
            builder = builder.add_extension(alternative, critical=False)
        return self._write(file, builder.sign(self._key, hashes.SHA256()), key)

    def _write(self, file: str, built: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Certificate:
        pem = built.public_bytes(serialization.Encoding.PEM)
        return Certificate(_secret(self.folder / f"{file}.crt", pem), self._write_key(file, key))

    def _write_key(self, file: str, key: ec.EllipticCurvePrivateKey) -> Path:
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _secret(self.folder / f"{file}.key", pem)


def _subject(name: str, groups: Sequence[str] = ()) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )


def _secret(path: Path, content: bytes) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path
