"""Watchers that do not read: together they have one budget, and a stream of decisions that is not read is closed."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from attacks.conftest import FULL, slow
from attacks.line import Target, is_closed, memory
from attacks.port import ControllerPort
from closeknit.controller.decision_log import Record
from contract.client import Api
from contract.objects import config_map, config_maps
from host.process import HostProcess

WATCHERS = 450 if FULL else 100
BUDGET = 64 << 20
SLACK = 200_000_000
"""What objects, history and the buffers of sockets take."""


@pytest.mark.parametrize("begins", ["with-objects", "before-them"])
def test_watchers_that_do_not_read_share_one_budget(host: HostProcess, begins: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4000), hard))
    target, maps = Target.of(host.api), config_maps("default")
    before = memory(host.process.pid)
    with ExitStack() as held:
        lines = []
        if begins == "with-objects":
            write(host.api, maps, begins)
        for _ in range(WATCHERS):
            line = held.enter_context(target.connect())
            line.sendall(target.head("GET", f"{maps}?watch=true", token=target.token))
            lines.append(line)
        if begins == "before-them":
            write(host.api, maps, begins)
        assert host.api.get("/readyz").status == 200
        assert memory(host.process.pid) - before < BUDGET + SLACK
    for number in range(12):
        host.api.delete(config_maps("default", f"{begins}-{number}"))


def write(api: Api, maps: str, name: str) -> None:
    for number in range(12):
        assert api.post(maps, config_map(f"{name}-{number}", {"a": "x" * 1_000_000})).status == 201


def test_a_watcher_that_reads_is_not_disconnected_for_those_that_do_not(host: HostProcess) -> None:
    target, maps = Target.of(host.api), config_maps("default")
    with ExitStack() as held, host.api.watch(maps) as watch:
        for _ in range(40):
            line = held.enter_context(target.connect())
            line.sendall(target.head("GET", f"{maps}?watch=true", token=target.token))
        write(host.api, maps, "read")
        seen = 0
        while seen < 12:
            seen += watch.next()["object"]["metadata"]["name"].startswith("read-")
    for number in range(12):
        host.api.delete(config_maps("default", f"read-{number}"))


@slow
def test_a_list_that_is_not_read_is_closed(host: HostProcess) -> None:
    """A response that is not read for half a minute ends with its connection."""
    target, maps = Target.of(host.api), config_maps("default")
    write(host.api, maps, "listed")
    try:
        with target.connect() as line:
            with suppress(OSError):
                line.sendall(target.head("GET", maps, token=target.token))
            assert unread_until_closed(host, line.getsockname()[1])
            assert is_closed(line)
    finally:
        for number in range(12):
            host.api.delete(config_maps("default", f"listed-{number}"))


def unread_until_closed(host: HostProcess, port: int) -> bool:
    """Whether the host gives up the connection from this port within a minute, while nothing is read from it."""
    end = monotonic() + 60
    mine = f":{port:04X} "
    while monotonic() < end:
        tables = Path("/proc/net/tcp").read_text().splitlines()[1:]
        peers = [row.split() for row in tables if mine in f"{row.split()[2]} "]
        if not any(row[3] == "01" for row in peers):
            return True
        sleep(0.2)
    return False


@slow
def test_a_stream_of_decisions_that_is_not_read_is_closed(port: ControllerPort) -> None:
    listeners = len(port.decisions.listeners)
    with port.target.connect() as line:
        line.sendall(port.target.head("GET", "/closeknit/decisions?watch=true", token=port.target.token))
        until(lambda: len(port.decisions.listeners) > listeners)
        record = Record(1.0, "ns/a", "Waits", "cq", "", (), "x" * 100_000, 5, "Job/a")
        for _ in range(200):
            port.loop.call_soon_threadsafe(port.decisions.keep, record)
        until(lambda: len(port.decisions.listeners) == listeners)


def until(is_so: Callable[[], bool]) -> None:
    end = monotonic() + 60
    while not is_so():
        assert monotonic() < end
        sleep(0.05)
