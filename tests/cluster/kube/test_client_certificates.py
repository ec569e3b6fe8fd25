"""Client certificates, from a kubeconfig and from a plug-in, against a server that requires one."""

from __future__ import annotations

import asyncio
import json
import ssl
import stat
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from closeknit.cluster.kinds import NODE
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config, read_config
from closeknit.cluster.kube.unreachable import Unreachable
from cluster.kube.test_config import kubeconfig, written
from cluster.kube.test_exec_plugin import V1, program
from servers.credentials import write_certificate

Pair = tuple[Path, Path]
TURNS = """
import json, os, pathlib, time
file = pathlib.Path(__file__).with_suffix(".count")
count = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(count))
certificate, key = json.loads(os.environ["PAIRS"])[count - 1]
status = {"clientCertificateData": open(certificate).read(), "clientKeyData": open(key).read()}
if count == 1:
    status["expirationTimestamp"] = "1970-01-01T00:00:00Z"
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""
"""Another certificate every time; the first one is over as soon as it is used."""


def pair(folder: Path, name: str) -> Pair:
    write_certificate(folder / name, name)
    return folder / name / "tls.crt", folder / name / "tls.key"


def serial(certificate: Path) -> int:
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate.read_bytes()).serial_number


def met(folder: Path, trusted: list[Pair], config: Callable[[str], Config], times: int = 1) -> list[int]:
    """The certificates that a server of this folder saw, by their numbers."""
    server = pair(folder, "server")
    seen: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        seen.append(int(request.transport.get_extra_info("peercert")["serialNumber"], 16))
        return web.json_response({"kind": "Node"})

    async def work() -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*server)
        tls.verify_mode = ssl.CERT_REQUIRED
        for certificate, _ in trusted:
            tls.load_verify_locations(certificate)
        app = web.Application()
        app.router.add_get("/{rest:.*}", answer)
        await _served(app, tls, lambda port: _asked(config(f"https://127.0.0.1:{port}"), times))

    asyncio.run(work())
    return seen


async def _served(app: web.Application, tls: ssl.SSLContext, work: Callable[[int], Awaitable[None]]) -> None:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        await work(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def _asked(config: Config, times: int) -> None:
    async with Client(config) as client:
        for _ in range(times):
            await client.get(NODE, "", "n")


def data(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()


def of(folder: Path, user: dict[str, Any]) -> Callable[[str], Config]:
    def config(server: str) -> Config:
        cluster = {"server": server, "certificate-authority-data": data(folder / "server" / "tls.crt")}
        clusters, users = [{"name": "home", "cluster": cluster}], [{"name": "me", "user": user}]
        return read_config([written(folder, kubeconfig(clusters=clusters, users=users))])

    return config


def test_the_certificate_of_a_kubeconfig_is_presented_and_a_client_without_one_is_rejected(tmp_path: Path) -> None:
    mine = pair(tmp_path, "mine")
    user = {"client-certificate-data": data(mine[0]), "client-key-data": data(mine[1])}
    assert met(tmp_path, [mine], of(tmp_path, user)) == [serial(mine[0])]
    with pytest.raises(Unreachable):
        met(tmp_path, [mine], of(tmp_path, {"token": "t"}))


def test_a_certificate_that_a_program_gives_is_shown_until_it_gives_another(tmp_path: Path) -> None:
    first, second = pair(tmp_path, "first"), pair(tmp_path, "second")
    program(tmp_path, TURNS)
    pairs = json.dumps([[str(path) for path in one] for one in (first, second)])
    plugin = {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"}
    user = {"exec": {**plugin, "env": [{"name": "PAIRS", "value": pairs}]}}
    seen = met(tmp_path, [first, second], of(tmp_path, user), times=3)
    assert seen == [serial(first[0]), serial(second[0]), serial(second[0])]


def test_the_temporary_file_of_a_certificate_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = pair(tmp_path, "mine")
    seen: list[tuple[int, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def looked_at(self: ssl.SSLContext, file: Path, *more: Any) -> None:
        seen.append((stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)))
        load(self, file, *more)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", looked_at)
    Config("https://127.0.0.1:1", certificate=certificate.read_text(), key=key.read_text()).tls()
    assert seen == [(0o600, 0o700)]
