"""Credentials of servers and clients: keys, tokens, certificates, kubeconfigs."""

from __future__ import annotations

import base64
import ipaddress
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from .process import HOST


def write_keys(folder: Path, token: str) -> None:
    """The key pair of service account tokens, and the file that makes `token` an administrator."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "account.key").write_bytes(private_bytes(key))
    (folder / "account.pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')


def write_certificate(folder: Path, called: str = HOST) -> bytes:
    """Write tls.key and tls.crt for a server on loopback; the certificate is self-signed, and is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
    )
    (folder / "tls.key").write_bytes(private_bytes(key))
    (folder / "tls.crt").write_bytes(certificate)
    return certificate


def private_bytes(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def kubeconfig_text(url: str, token: str, certificate: Path) -> str:
    authority = base64.b64encode(certificate.read_bytes()).decode()
    name = "closeknit-test"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=2)
