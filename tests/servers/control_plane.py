"""A control plane of its own for a test: etcd, kube-apiserver and, if asked, kube-controller-manager.

    with control_plane(controllers=True) as plane:
        plane.kubeconfig   # a file; its user is in system:masters

    PYTHONPATH=tests python -m servers.control_plane --controllers

Everything listens on loopback, on ports taken from the system, and keeps its files in a temporary folder. The
processes are stopped in the reverse order of their start, the API server before etcd, and die with their parent.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import json
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from .build import BuildError, binary

HOST = "127.0.0.1"
PATIENCE = 60.0
ATTEMPTS = 3
PR_SET_PDEATHSIG = 1


class StartError(RuntimeError):
    """A server ended or was not ready in time; the text holds the end of its log."""


class ControlPlane(NamedTuple):
    """Where a running control plane is, and how to get in."""

    url: str
    token: str
    certificate: Path
    kubeconfig: Path
    folder: Path


@contextmanager
def control_plane(
    *,
    controllers: bool | Sequence[str] = False,
    flags: Sequence[str] = (),
    fsync: bool = False,
) -> Iterator[ControlPlane]:
    """Start one; `controllers` is True for all of kube-controller-manager or the names of those to run.

    `flags` go to kube-apiserver. `fsync` makes etcd durable, for tests that restart it.
    """
    names = ["etcd", "kube-apiserver", *(["kube-controller-manager"] if controllers else [])]
    programs = {name: binary(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="closeknit-plane-") as home, ExitStack() as running:
        folder = Path(home)
        plane = start(running, programs, folder, flags, fsync)
        if controllers:
            start_controllers(running, programs["kube-controller-manager"], plane, controllers)
        yield plane


def start(
    running: ExitStack, programs: dict[str, Path], folder: Path, flags: Sequence[str], fsync: bool
) -> ControlPlane:
    """Etcd and kube-apiserver. A port may be lost between asking for it and using it, hence the attempts."""
    token = secrets.token_hex(16)
    write_keys(folder, token)
    for attempt in range(ATTEMPTS):
        with ExitStack() as tried:
            try:
                etcd = start_etcd(tried, programs["etcd"], folder, fsync, attempt)
                plane = start_api_server(tried, programs["kube-apiserver"], folder, etcd, token, flags)
            except StartError:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            running.enter_context(tried.pop_all())
            return plane
    raise AssertionError("unreachable")


def start_etcd(running: ExitStack, program: Path, folder: Path, fsync: bool, attempt: int) -> str:
    client, peer = (f"http://{HOST}:{port}" for port in free_ports(2))
    command = [
        str(program),
        f"--data-dir={folder / f'etcd-{attempt}'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=error",
        *([] if fsync else ["--unsafe-no-fsync"]),
    ]
    log, process = run(running, command, folder, "etcd")
    await_answer(f"{client}/health", process, log)
    return client


def start_api_server(
    running: ExitStack, program: Path, folder: Path, etcd: str, token: str, flags: Sequence[str]
) -> ControlPlane:
    (port,) = free_ports(1)
    certificates = folder / "certificates"
    command = [
        str(program),
        f"--etcd-servers={etcd}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={port}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={certificates}",
        "--service-account-issuer=https://closeknit.test",
        f"--service-account-key-file={folder / 'account.pub'}",
        f"--service-account-signing-key-file={folder / 'account.key'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--disable-admission-plugins=ServiceAccount",
        "--default-not-ready-toleration-seconds=3",
        "--default-unreachable-toleration-seconds=3",
        *flags,
    ]
    log, process = run(running, command, folder, "kube-apiserver")
    url, certificate = f"https://{HOST}:{port}", certificates / "apiserver.crt"
    await_answer(f"{url}/readyz", process, log, certificate)
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(kubeconfig_text(url, token, certificate))
    return ControlPlane(url, token, certificate, kubeconfig, folder)


def start_controllers(
    running: ExitStack, program: Path, plane: ControlPlane, controllers: bool | Sequence[str]
) -> None:
    (port,) = free_ports(1)
    command = [
        str(program),
        f"--kubeconfig={plane.kubeconfig}",
        f"--service-account-private-key-file={plane.folder / 'account.key'}",
        f"--root-ca-file={plane.certificate}",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={plane.folder / 'controllers'}",
        "--node-monitor-period=1s",
        "--node-monitor-grace-period=10s",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *([f"--controllers={','.join(controllers)}"] if not isinstance(controllers, bool) else []),
    ]
    log, process = run(running, command, plane.folder, "kube-controller-manager")
    await_answer(
        f"https://{HOST}:{port}/healthz", process, log, plane.folder / "controllers" / "kube-controller-manager.crt"
    )


def run(running: ExitStack, command: list[str], folder: Path, name: str) -> tuple[Path, subprocess.Popen[bytes]]:
    """Start a process that is stopped when `running` closes, and dies if we die first."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=die_with(os.getpid())
        )
    running.callback(stop, process)
    return log, process


def die_with(parent: int) -> Callable[[], None]:
    """What a child does before it becomes the server: ask the kernel for a signal when its parent ends."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)

    def ask() -> None:
        if prctl is not None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def await_answer(url: str, process: subprocess.Popen[bytes], log: Path, certificate: Path | None = None) -> None:
    """Return as soon as `url` answers 200."""
    end = monotonic() + PATIENCE
    while monotonic() < end and process.poll() is None:
        try:
            context = ssl.create_default_context(cafile=certificate) if certificate else None
            with urllib.request.urlopen(url, timeout=5, context=context):
                return
        except (OSError, urllib.error.URLError):
            sleep(0.05)
    state = "ended" if process.poll() is not None else f"did not answer {url} within {PATIENCE:.0f} s"
    raise StartError(f"{log.stem} {state}:\n{log.read_text(errors='replace')[-3000:]}")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; all are held until the last is known, so they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def write_keys(folder: Path, token: str) -> None:
    """The key pair of service account tokens, and the file that makes `token` an administrator."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "account.key").write_bytes(private)
    (folder / "account.pub").write_bytes(public)
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controllers", action="store_true", help="run kube-controller-manager too")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with control_plane(controllers=options.controllers) as plane:
            print(plane.kubeconfig, flush=True)
            signal.pause()
    except KeyboardInterrupt:
        pass
    except (BuildError, StartError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
