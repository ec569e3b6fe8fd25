"""Credential plug-ins, as small programs that a test writes."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

import pytest
from aiohttp import web

from closeknit.cluster.embedded.certificate import credentials as issued
from closeknit.cluster.errors import Unauthorized
from closeknit.cluster.kinds import NODE
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config, read_config
from closeknit.cluster.kube.credentials import Identity
from closeknit.cluster.kube.exec_plugin import ExecCredentials, Plugin
from closeknit.cluster.kube.unreachable import NoCredentials
from closeknit.model.mistake import InputError
from cluster.kube.scripted import scripted, status
from cluster.kube.test_config import kubeconfig, written

V1 = "client.authentication.k8s.io/v1"
BETA = "client.authentication.k8s.io/v1beta1"

COUNTING = """
import json, os, pathlib
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
file = pathlib.Path(__file__).with_suffix(".count")
count = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(count))
pathlib.Path(__file__).with_suffix(".info").write_text(json.dumps(info))
status = {"token": f"secret-{count}", **json.loads(os.environ.get("STATUS", "{}"))}
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""
"""A token with a number that goes up."""


def program(folder: Path, text: str = COUNTING) -> Path:
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def configured(folder: Path, cluster: dict[str, Any] | None = None, **fields: Any) -> Config:
    """What a kubeconfig in that folder says, with these fields of `exec`."""
    tree = kubeconfig()
    tree["clusters"][0]["cluster"] |= cluster or {}
    given = {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never", **fields}
    tree["users"][0]["user"] = {"exec": {key: value for key, value in given.items() if value is not None}}
    return read_config([written(folder, tree)])


def credentials(
    folder: Path, now: Callable[[], float] = time, timeout: float | None = None, **fields: Any
) -> ExecCredentials:
    plugin = configured(folder, **fields).plugin
    assert plugin is not None
    return ExecCredentials(plugin, "https://server", now, timeout)


def current(of: ExecCredentials) -> Identity:
    return asyncio.run(of.current())


@pytest.mark.parametrize("version", [V1, BETA])
def test_a_program_is_asked_once_and_its_token_kept(tmp_path: Path, version: str) -> None:
    program(tmp_path)
    found = credentials(tmp_path, apiVersion=version)
    assert [current(found).token for _ in range(3)] == ["secret-1"] * 3
    info = json.loads((tmp_path / "plugin.info").read_text())
    assert info == {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}


def test_many_requests_at_once_wait_for_one_program(tmp_path: Path) -> None:
    program(tmp_path)
    found = credentials(tmp_path)

    async def run() -> list[Identity]:
        return await asyncio.gather(*(found.current() for _ in range(10)))

    assert {one.token for one in asyncio.run(run())} == {"secret-1"}


def test_a_token_that_has_expired_is_asked_for_again(tmp_path: Path) -> None:
    program(tmp_path)
    now = [1_000.0]
    until = json.dumps({"expirationTimestamp": "1970-01-01T00:20:00Z"})
    found = credentials(tmp_path, lambda: now[0], env=[{"name": "STATUS", "value": until}])
    assert current(found).token == "secret-1"
    now[0] = 1_199.0
    assert current(found).token == "secret-1"
    now[0] = 1_200.0
    assert current(found).token == "secret-2"


def test_a_program_with_provide_cluster_info_gets_the_cluster(tmp_path: Path) -> None:
    program(tmp_path)
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}
    cluster = {"certificate-authority-data": "Q0E=", "tls-server-name": "kube", "extensions": [extension]}
    config = configured(tmp_path, cluster, provideClusterInfo=True)
    assert config.plugin is not None
    current(ExecCredentials(config.plugin, config.server))
    assert json.loads((tmp_path / "plugin.info").read_text())["spec"]["cluster"] == {
        "server": "https://127.0.0.1:6443",
        "tls-server-name": "kube",
        "certificate-authority-data": "Q0E=",
        "config": {"audience": "us"},
    }


def test_a_client_certificate_of_a_program_is_used(tmp_path: Path) -> None:
    made = issued(tmp_path, 1_700_000_000.0)
    pair = {"token": "", "clientCertificateData": made.certificate.read_text(), "clientKeyData": made.key.read_text()}
    program(tmp_path)
    config = configured(tmp_path, env=[{"name": "STATUS", "value": json.dumps(pair)}])
    assert config.plugin is not None
    found = current(ExecCredentials(config.plugin, config.server))
    assert (found.token, found.certificate) == ("", made.certificate.read_text())
    assert config.tls(found.certificate, found.key) is not None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise SystemExit('log in first')", "ended with 1: log in first; get it at example.org"),
        ("print('top-secret')", "did not print an ExecCredential"),
        (f'print(\'{{"apiVersion":"{BETA}","kind":"ExecCredential"}}\')', "printed something other than an"),
        (f'print(\'{{"apiVersion":"{V1}","kind":"ExecCredential"}}\')', "returned neither a token nor a"),
        (
            f'print(\'{{"apiVersion":"{V1}","kind":"ExecCredential","status":{{"clientCertificateData":"top-secret"}}}}\')',
            "returned a client certificate or its key without the other",
        ),
        ("import time; time.sleep(30)", r"did not end within 0.3 s"),
    ],
)
def test_failures_are_reported_in_one_sentence_without_secrets(tmp_path: Path, text: str, why: str) -> None:
    path = program(tmp_path, text)
    found = credentials(tmp_path, installHint="get it at example.org", timeout=0.3 if "sleep" in text else None)
    with pytest.raises(NoCredentials, match=f"https://server: the credential plug-in {path} {why}") as error:
        current(found)
    assert "top-secret" not in str(error.value)


def test_the_children_of_a_program_are_killed_with_it(tmp_path: Path) -> None:
    path = program(tmp_path)
    path.write_text("#!/bin/sh\nsleep 30 & echo $! > sleeping; wait\n")
    begin = monotonic()
    with pytest.raises(NoCredentials, match="did not end within 1 s"), chdir(tmp_path):
        current(credentials(tmp_path, timeout=1.0))
    sleeping = int((tmp_path / "sleeping").read_text())
    while is_alive(sleeping):
        assert monotonic() - begin < 10
        sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_that_is_not_there_comes_with_the_hint_of_where_to_get_it(tmp_path: Path) -> None:
    found = credentials(tmp_path, command="no-such-plug-in", installHint="get it at example.org")
    with pytest.raises(
        NoCredentials, match=r"no-such-plug-in cannot be started: No such file.*; get it at example.org"
    ):
        current(found)


def test_a_program_that_needs_a_user_is_not_run_without_a_terminal(tmp_path: Path) -> None:
    program(tmp_path)
    with pytest.raises(NoCredentials, match=r"needs a user at a terminal .*, and there is no terminal"):
        current(credentials(tmp_path, interactiveMode="Always"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "apiVersion: .* is not supported; use a plug-in of"),
        ({"command": None}, "command: is missing; name the program to run"),
        ({"interactiveMode": None}, 'interactiveMode: "" is not a mode; write one of Never, IfAvailable, Always'),
        ({"env": {"a": "b"}}, "env: is not a list of names and values"),
        ({"args": "one"}, "args: is not a list"),
    ],
)
def test_a_plug_in_that_cannot_be_run_is_refused_with_its_field(tmp_path: Path, fields: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"user me: exec: {said}"):
        configured(tmp_path, **fields)


def test_a_token_of_the_user_goes_before_a_program(tmp_path: Path) -> None:
    user = {"token": "mine", "exec": {"apiVersion": V1, "command": "x", "interactiveMode": "Never"}}
    config = read_config([written(tmp_path, kubeconfig(users=[{"name": "me", "user": user}]))])
    assert (config.token, config.plugin) == ("mine", None)


def test_the_environment_of_a_program_is_not_in_its_repr(tmp_path: Path) -> None:
    config = configured(tmp_path, args=["--password", "secret"], env=[{"name": "A", "value": "secret"}])
    assert "secret" not in repr(config)


@pytest.mark.parametrize("accepted", ["Bearer secret-2", "nothing"])
def test_a_refusal_makes_the_program_run_once_more(tmp_path: Path, accepted: str) -> None:
    shown: list[str] = []
    program(tmp_path)
    plugin = configured(tmp_path).plugin

    async def answer(request: web.Request) -> web.StreamResponse:
        shown.append(request.headers["Authorization"])
        if shown[-1] == accepted:
            return web.json_response({"kind": "Node"})
        return web.json_response(status(401, "Unauthorized", "no"), status=401)

    async def run() -> None:
        async with scripted(answer) as other, Client(replace(other.config, plugin=plugin)) as client:
            await client.get(NODE, "", "n")

    if accepted == "nothing":
        with pytest.raises(Unauthorized):
            asyncio.run(run())
    else:
        asyncio.run(run())
    assert shown == ["Bearer secret-1", "Bearer secret-2"]


def test_a_bare_name_is_looked_for_on_the_path_and_a_path_beside_the_file(tmp_path: Path) -> None:
    commands = [configured(tmp_path, command=one).plugin for one in ("aws", "./aws", "bin/aws", "/opt/aws")]
    found = [one.command for one in commands if isinstance(one, Plugin)]
    assert found == ["aws", str(tmp_path / "aws"), str(tmp_path / "bin/aws"), "/opt/aws"]
