"""Connections with limits: time, number, and data that is not read."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import sleep

import pytest

from attacks.line import Target, answered, is_closed
from closeknit.cluster.embedded.rest import connections, server
from closeknit.cluster.embedded.rest.connections import most_connections
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import CONFIG_MAP
from cluster.embedded.rest.running import Running
from contract.objects import config_maps

MAPS = config_maps("default")
WITHIN = 20.0


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A server with limits that a test can wait for."""
    for module, name, value in (
        (connections, "HEAD_TIME", 0.5),
        (connections, "PATIENCE", 0.5),
        (connections, "IDLE_TIME", 1.0),
        (connections, "MOST_STRANGERS", 4),
        (server, "BODY_TIME", 0.5),
    ):
        monkeypatch.setattr(module, name, value)
    with Running(tmp_path) as running:
        running.do(fill)
        yield Target.of(running.api)


def fill(store: Store) -> None:
    for number in range(20):
        meta = {"name": f"m{number}", "namespace": "default"}
        store.create(CONFIG_MAP, {"metadata": meta, "data": {"a": "x" * 1_000_000}})


def test_a_client_that_does_not_begin_tls_is_disconnected(target: Target) -> None:
    with socket.create_connection(("127.0.0.1", target.port), timeout=WITHIN) as line:
        assert is_closed(line, WITHIN)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nA: b\r\n"])
def test_a_client_whose_headers_do_not_arrive_is_disconnected(target: Target, sent: bytes) -> None:
    with target.connect() as line:
        line.sendall(sent)
        assert is_closed(line, WITHIN)


def test_a_client_that_sends_no_further_request_is_disconnected(target: Target) -> None:
    with target.connect() as line:
        line.sendall(target.head("GET", "/version", token=target.token))
        assert answered(line) == 200
        line.sendall(b"GET /version HTTP/1.1\r\n")
        assert is_closed(line, WITHIN)


def test_a_body_that_does_not_arrive_is_a_bad_request(target: Target) -> None:
    with target.connect() as line:
        line.sendall(target.head("POST", MAPS, "Content-Length: 100", token=target.token) + b"{")
        assert answered(line) == 400
        assert is_closed(line, WITHIN)


@pytest.mark.parametrize("query", ["", "?watch=true"])
def test_a_response_that_is_not_read_ends_with_its_connection(target: Target, query: str) -> None:
    with target.connect() as line:
        line.sendall(target.head("GET", f"{MAPS}{query}", token=target.token))
        read = 0
        assert line.recv(1)
        sleep(1.5)
        try:
            while piece := line.recv(1 << 20):
                read += len(piece)
        except OSError:
            pass
    assert read < 20_000_000


def test_a_response_that_is_read_arrives_whole(target: Target) -> None:
    with target.connect() as line:
        line.sendall(target.head("GET", MAPS, "Connection: close", token=target.token))
        read = 0
        while piece := line.recv(1 << 20):
            read += len(piece)
    assert read > 20_000_000


def test_beyond_the_limit_the_oldest_stranger_makes_room(target: Target) -> None:
    with ExitStack() as held:
        known = held.enter_context(target.connect())
        known.sendall(target.head("GET", f"{MAPS}?watch=true&resourceVersion=21", token=target.token))
        assert answered(known) == 200
        strangers = [socket.create_connection(("127.0.0.1", target.port), timeout=WITHIN) for _ in range(5)]
        for one in strangers:
            held.enter_context(one)
        assert is_closed(strangers[0], WITHIN)
        assert target.get("/version", token=target.token) == 200
        assert not is_closed(known, 0.2)


def test_half_of_the_file_descriptors_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (100, 100))
    assert most_connections() == 50
    monkeypatch.setattr("resource.getrlimit", lambda _: (1_000_000, 1_000_000))
    assert most_connections() == 512
