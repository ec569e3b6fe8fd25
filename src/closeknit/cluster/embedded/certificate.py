"""What a client needs to reach the embedded host: a certificate, two tokens, and a kubeconfig for each.

kubectl sends no token over plain HTTP, so the host needs a certificate. It is self-signed, issued once, for loopback
names only, and stored with its key and the tokens, readable by their owner only. A copied kubeconfig stays valid after
a restart, for years. One token permits everything; the other, for dashboards and colleagues, permits reading only.
"""

from __future__ import annotations

import secrets
import ssl
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import msgspec

from .folder import write_private

CERTIFICATE, KEY, TOKEN, KUBECONFIG = "tls.crt", "tls.key", "token", "kubeconfig"
VIEW_TOKEN, VIEW_KUBECONFIG = "token-view", "kubeconfig-view"
PRIVATE = (KEY, TOKEN, KUBECONFIG, VIEW_TOKEN, VIEW_KUBECONFIG)
"""Files that no other user may read."""
ADDRESSES, HOST_NAME = ("127.0.0.1", "::1"), "localhost"
LIFETIME = timedelta(days=3650)
NEARLY_OVER = timedelta(days=30)
CONTEXT = "closeknit"


class HostCredentials(NamedTuple):
    certificate: Path
    key: Path
    token: str
    view_token: str

    def tls(self) -> ssl.SSLContext:
        """The server's TLS context."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["http/1.1"])
        return context


def credentials(folder: Path, now: float) -> HostCredentials:
    """The credentials of the folder, created where they are missing, broken, or about to expire."""
    tokens = _token(folder / TOKEN), _token(folder / VIEW_TOKEN)
    found = HostCredentials(folder / CERTIFICATE, folder / KEY, *tokens)
    if not _lasts(found, now):
        certificate, key = _issued(now)
        write_private(found.key, key)
        write_private(found.certificate, certificate)
    return found


def write_kubeconfigs(folder: Path, port: int) -> Path:
    """Write a kubeconfig for each token of the host on this port; returns the path of the one for everything."""
    write_private(folder / VIEW_KUBECONFIG, kubeconfig(folder, port, VIEW_TOKEN).encode())
    path = folder / KUBECONFIG
    write_private(path, kubeconfig(folder, port).encode())
    return path


def kubeconfig(folder: Path, port: int, token: str = TOKEN) -> str:
    """The kubeconfig with the token of this file, in JSON, which is valid YAML too."""
    authority = b64encode((folder / CERTIFICATE).read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CONTEXT,
                "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": CONTEXT, "user": {"token": (folder / token).read_text().strip()}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}}],
        "current-context": CONTEXT,
    }
    return msgspec.json.format(msgspec.json.encode(config)).decode() + "\n"


def _token(path: Path) -> str:
    if not path.exists() or not path.read_text().strip():
        write_private(path, secrets.token_urlsafe(32).encode())
    return path.read_text().strip()


def _lasts(found: HostCredentials, now: float) -> bool:
    """Whether certificate and key exist, match, and do not expire soon."""
    try:
        found.tls()
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.load_verify_locations(found.certificate)
        end = ssl.cert_time_to_seconds(str(trusting.get_ca_certs()[0]["notAfter"]))
    except (OSError, ValueError, LookupError):
        return False
    return end - now > NEARLY_OVER.total_seconds()


def _issued(now: float) -> tuple[bytes, bytes]:
    """A new certificate and its key, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "closeknit")])
    begin = datetime.fromtimestamp(now, UTC) - timedelta(hours=1)
    names = [x509.DNSName(HOST_NAME), *(x509.IPAddress(ip_address(one)) for one in ADDRESSES)]
    identity = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "crl_sign",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identity, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identity), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return certificate.public_bytes(pem), key.private_bytes(pem, form, plain)
