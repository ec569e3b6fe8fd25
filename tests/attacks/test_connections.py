"""Connections: slow ones, idle ones, too many of them, and a process that has no file descriptors left."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from attacks.conftest import FULL, slow
from attacks.line import Target, is_closed, memory
from attacks.port import ControllerPort
from closeknit.cluster.embedded.rest.connections import MOST_CONNECTIONS
from contract.objects import config_map, config_maps
from host.process import HostProcess

MANY = 2_000 if FULL else 600
HEAD_TIME = 10.0


@pytest.fixture
def descriptors() -> None:
    """Enough file descriptors for the test's own ends."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 4_000) if hard != resource.RLIM_INFINITY else 4_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@slow
@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nA: b\r\n"])
def test_a_connection_whose_headers_do_not_arrive_is_closed(target: Target, sent: bytes) -> None:
    with target.connect() as line:
        line.sendall(sent)
        assert is_closed(line, within=3 * HEAD_TIME)


@slow
def test_a_connection_that_never_begins_tls_is_closed(host: HostProcess) -> None:
    with socket.create_connection(("127.0.0.1", host.api.port), timeout=60) as line:
        assert is_closed(line, within=3 * HEAD_TIME)


def test_headers_without_end_are_not_kept(target: Target) -> None:
    sent = 0
    with target.connect() as line, suppress(OSError):
        line.sendall(target.head("GET", "/healthz")[:-2])
        while sent < 100_000_000:
            line.sendall(b"A: " + b"b" * 4000 + b"\r\n")
            sent += 4005
    assert sent < 20_000_000


@pytest.mark.usefixtures("descriptors")
def test_strangers_cannot_keep_the_owner_out(target: Target) -> None:
    """Connections that never send the token are closed, the oldest first, while the owner's requests are answered."""
    before = monotonic()
    with ExitStack() as held:
        for number in range(MANY):
            line = held.enter_context(socket.create_connection(("127.0.0.1", target.port), timeout=20))
            if number == 0:
                first = line
            if number % 200 == 0:
                assert target.works()
        assert target.works()
        assert is_closed(first, within=20)
    assert monotonic() - before < 60


@pytest.mark.usefixtures("descriptors")
def test_connections_with_the_token_are_bounded_too(host: HostProcess, port: ControllerPort) -> None:
    for target in (Target.of(host.api), port.target):
        bounded(target)


def bounded(target: Target) -> None:
    """Connections are refused; on a machine so slow that the first are idle too long before, few enough are open."""
    refused, lines = 0, []
    with ExitStack() as held:
        for _ in range(MANY):
            line = target.connect_or_none()
            if line is None:
                refused += 1
                continue
            lines.append(held.enter_context(line))
            with suppress(OSError):
                line.sendall(target.head("GET", "/metrics", token=target.token))
                if not line.recv(100):
                    refused += 1
            if refused > 20:
                break
        assert refused or sum(not is_closed(line, within=0.01) for line in lines) <= MOST_CONNECTIONS
    end = monotonic() + 20
    while not target.works() and monotonic() < end:
        sleep(0.05)
    assert target.works()


def test_a_host_without_file_descriptors_answers_again_once_some_are_free(folder: Path) -> None:
    with HostProcess(folder, "--demo", "first-steps") as host, ExitStack() as held:
        target = Target.of(host.api)
        used = len(list(Path(f"/proc/{host.process.pid}/fd").iterdir()))
        resource.prlimit(host.process.pid, resource.RLIMIT_NOFILE, (used + 10, used + 10))
        for _ in range(40):
            held.enter_context(socket.create_connection(("127.0.0.1", target.port), timeout=20))
        held.close()
        end = monotonic() + 30
        created = 0
        while created != 201 and monotonic() < end:
            with suppress(OSError):
                created = host.api.post(config_maps("default"), config_map("after")).status
        assert created == 201
        assert memory(host.process.pid) < 500_000_000
        assert host.process.poll() is None


def test_a_flood_of_the_metrics_port_fails_no_probe(port: ControllerPort) -> None:
    with ExitStack() as held:
        for _ in range(300):
            held.enter_context(socket.create_connection(("127.0.0.1", port.target.port), timeout=20))
        assert port.probes.works()
