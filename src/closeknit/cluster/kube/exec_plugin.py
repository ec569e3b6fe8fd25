"""Credential plug-ins: the `exec` of a user in a kubeconfig (client.authentication.k8s.io, v1 and v1beta1).

    KUBERNETES_EXEC_INFO ──▶ program ──▶ ExecCredential on its standard output ──▶ kept until it expires or is refused

The output holds secrets, so messages never quote it, not even when it cannot be parsed. They quote standard error,
where the program explains itself. A program that does not finish in time is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from time import time
from typing import Any

import msgspec

from .credentials import Identity
from .kubeconfig import KubeconfigEntry
from .unreachable import NoCredentials

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
EXTENSION = f"{GROUP}/exec"
MODES = ("Never", "IfAvailable", "Always")
TIMEOUT, WITH_A_USER = 60.0, 600.0
"""Seconds that a program may take, without and with a user at the terminal."""
MOST_SAID = 300


@dataclass(frozen=True, slots=True)
class Plugin:
    """How to run a plug-in. `cluster` is the server's data for it, if it asks for them (provideClusterInfo)."""

    version: str
    command: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    mode: str = "IfAvailable"
    hint: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)


def plugin_of(user: KubeconfigEntry, cluster: KubeconfigEntry) -> Plugin:
    """The plug-in in a user's `exec`."""
    given = KubeconfigEntry(user.file, f"{user.kind} {user.name}:", "exec", user.tree("exec"))
    version, mode = given.text("apiVersion"), given.text("interactiveMode")
    if version not in VERSIONS:
        raise given.wrong("apiVersion", f'"{version}" is not supported', f"use a plug-in of {' or '.join(VERSIONS)}")
    if not given.text("command"):
        raise given.wrong("command", "is missing", "name the program to run")
    if mode not in MODES and (mode or version == VERSIONS[0]):
        raise given.wrong("interactiveMode", f'"{mode}" is not a mode', f"write one of {', '.join(MODES)}")
    return Plugin(
        version=version,
        command=given.program("command"),
        arguments=given.texts("args"),
        environment=tuple(_variables(given)),
        mode=mode or "IfAvailable",
        hint=given.text("installHint").strip(),
        cluster=_cluster_info(cluster) if given.fields.get("provideClusterInfo") else None,
    )


def _variables(given: KubeconfigEntry) -> list[tuple[str, str]]:
    found = given.fields.get("env") or []
    if not isinstance(found, list) or not all(isinstance(one, dict) and one.get("name") for one in found):
        raise given.wrong("env", "is not a list of names and values", "write {name: ..., value: ...} for each")
    return [(str(one["name"]), str(one.get("value") or "")) for one in found]


def _cluster_info(cluster: KubeconfigEntry) -> dict[str, Any]:
    """The cluster as passed to a plug-in; a file with its certificate authority is sent as data."""
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
    found = {name: cluster.fields[name] for name in names if cluster.fields.get(name)}
    authority = cluster.pem("certificate-authority")
    if authority:
        found["certificate-authority-data"] = b64encode(authority.encode()).decode()
    for one in cluster.fields.get("extensions") or ():
        if isinstance(one, dict) and one.get("name") == EXTENSION:
            found["config"] = one.get("extension")
    return found


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


_answer = msgspec.json.Decoder(_Answer)


class ExecCredentials:
    """Credentials from a plug-in; it runs once at a time, however many requests wait for it."""

    def __init__(
        self, plugin: Plugin, server: str, now: Callable[[], float] = time, timeout: float | None = None
    ) -> None:
        self._plugin, self._server, self._now, self._timeout = plugin, server, now, timeout
        self._kept: Identity | None = None
        self._until: float | None = None
        self._turn = asyncio.Lock()

    async def current(self) -> Identity:
        async with self._turn:
            if self._kept is None or (self._until is not None and self._now() >= self._until):
                self._take(await self._run())
            assert self._kept is not None
            return self._kept

    async def renewed(self, refused: Identity) -> bool:
        if self._kept is refused:
            self._kept = None
        return await self.current() is not refused

    def _take(self, status: _Status) -> None:
        ends = status.expiration_timestamp
        self._kept = Identity(status.token, status.client_certificate_data, status.client_key_data)
        self._until = None if ends is None else ends.timestamp()

    async def _run(self) -> _Status:
        plugin, is_with_user = self._plugin, self._is_with_user()
        environment = {**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": self._info(is_with_user)}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env=environment,
                stdin=None if is_with_user else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if is_with_user else asyncio.subprocess.PIPE,
                start_new_session=not is_with_user,
            )
        except OSError as error:
            raise self._failed(f"cannot be started: {error.strerror}", with_hint=True) from None
        out, said = await self._ended(process, self._timeout or (WITH_A_USER if is_with_user else TIMEOUT))
        if process.returncode:
            text = (said or b"").decode("utf-8", "replace").strip()[-MOST_SAID:]
            raise self._failed(f"ended with {process.returncode}" + (f": {text}" if text else ""), with_hint=True)
        return self._read(out)

    def _is_with_user(self) -> bool:
        """Whether the program may prompt a user at the terminal."""
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        if self._plugin.mode == "Always" and not is_terminal:
            raise self._failed("needs a user at a terminal (interactiveMode Always), and there is no terminal")
        return is_terminal and self._plugin.mode != "Never"

    def _info(self, is_with_user: bool) -> str:
        spec: dict[str, Any] = {"interactive": is_with_user}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        tree = {"apiVersion": self._plugin.version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(tree).decode()

    async def _ended(self, process: asyncio.subprocess.Process, seconds: float) -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(seconds):
                return await process.communicate()
        except TimeoutError:
            raise self._failed(f"did not end within {seconds:g} s") from None
        finally:
            if process.returncode is None:
                _end(process)
                await process.wait()

    def _read(self, out: bytes) -> _Status:
        try:
            answer = _answer.decode(out)
        except msgspec.DecodeError:
            raise self._failed("did not print an ExecCredential") from None
        status = answer.status
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.version:
            raise self._failed(f"printed something other than an ExecCredential of {self._plugin.version}")
        if status is None or not (status.token or status.client_certificate_data):
            raise self._failed("returned neither a token nor a client certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("returned a client certificate or its key without the other")
        if status.expiration_timestamp is not None and status.expiration_timestamp.tzinfo is None:
            raise self._failed("returned an expirationTimestamp without a time zone")
        return status

    def _failed(self, why: str, with_hint: bool = False) -> NoCredentials:
        hint = f"; {self._plugin.hint}" if with_hint and self._plugin.hint else ""
        return NoCredentials(self._server, f"the credential plug-in {self._plugin.command} {why}{hint}")


def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a program with its children, which share its session unless a user is at the terminal."""
    with suppress(ProcessLookupError, PermissionError):
        if os.getsid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
