"""The certificate, the token and the kubeconfig of the embedded host."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from stat import S_IMODE
from time import time

import pytest
from cryptography import x509

from closeknit.cluster.embedded.certificate import HostCredentials, credentials, kubeconfig, write_kubeconfigs

NOW = 1_800_000_000.0
DAY = 86_400.0


def read(made: HostCredentials) -> x509.Certificate:
    return x509.load_pem_x509_certificate(made.certificate.read_bytes())


def test_the_certificate_is_for_loopback_only(tmp_path: Path) -> None:
    names = read(credentials(tmp_path, NOW)).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]


def test_existing_credentials_are_reused(tmp_path: Path) -> None:
    first = credentials(tmp_path, NOW)
    content = first.certificate.read_bytes(), first.key.read_bytes()
    second = credentials(tmp_path, NOW + 3000 * DAY)
    assert second == first
    assert (second.certificate.read_bytes(), second.key.read_bytes()) == content


def test_every_folder_has_its_own_token(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = credentials(tmp_path / "a", NOW).token, credentials(tmp_path / "b", NOW).token
    assert one != other
    assert len(one) == 43


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    credentials(tmp_path, NOW)
    write_kubeconfigs(tmp_path, 1)
    assert {one.name: S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {
        "tls.crt": 0o600,
        "tls.key": 0o600,
        "token": 0o600,
        "kubeconfig": 0o600,
        "token-view": 0o600,
        "kubeconfig-view": 0o600,
    }


def test_a_certificate_about_to_end_is_replaced_and_the_token_stays(tmp_path: Path) -> None:
    first = credentials(tmp_path, NOW)
    content = first.certificate.read_bytes()
    late = NOW + 3640 * DAY
    second = credentials(tmp_path, late)
    assert second.token == first.token
    assert second.certificate.read_bytes() != content
    assert read(second).not_valid_after_utc.timestamp() > late + 3000 * DAY


@pytest.mark.parametrize("broken", ["tls.crt", "tls.key"])
def test_a_broken_file_is_replaced(tmp_path: Path, broken: str) -> None:
    credentials(tmp_path, NOW)
    (tmp_path / broken).write_text("not a certificate")
    credentials(tmp_path, NOW).tls()


def test_a_key_that_belongs_to_another_certificate_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, other = credentials(tmp_path, NOW), credentials(tmp_path / "other", NOW)
    first.key.write_bytes(other.key.read_bytes())
    credentials(tmp_path, NOW).tls()


def test_a_client_that_trusts_it_can_connect_by_every_name(tmp_path: Path) -> None:
    made = credentials(tmp_path, time())
    trusting = ssl.create_default_context(cafile=str(made.certificate))
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    for name in ("127.0.0.1", "::1", "localhost"):
        ours, theirs = socket.socketpair()
        server = threading.Thread(target=lambda end=theirs: made.tls().wrap_socket(end, server_side=True).close())
        server.start()
        with trusting.wrap_socket(ours, server_hostname=name) as client:
            assert client.version() == "TLSv1.3"
        server.join(5)


def test_the_kubeconfig_names_the_port_the_token_and_the_default_namespace(tmp_path: Path) -> None:
    made = credentials(tmp_path, NOW)
    config = json.loads(write_kubeconfigs(tmp_path, 4711).read_text())
    assert json.loads(kubeconfig(tmp_path, 4711)) == config
    cluster = config["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:4711"
    assert base64.b64decode(cluster["certificate-authority-data"]) == made.certificate.read_bytes()
    assert config["users"][0]["user"] == {"token": made.token}
    assert config["current-context"] == config["contexts"][0]["name"] == "closeknit"
    assert config["contexts"][0]["context"]["namespace"] == "default"


def test_the_library_that_issues_certificates_is_not_imported_where_there_is_one(tmp_path: Path) -> None:
    credentials(tmp_path, NOW)
    program = (
        "import sys; from pathlib import Path; from closeknit.cluster.embedded.certificate import credentials;"
        f"credentials(Path({str(tmp_path)!r}), {NOW}); sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
