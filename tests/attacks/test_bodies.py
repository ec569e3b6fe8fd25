"""Bodies that inflate, that never end, or that do not arrive: none of them is read, and nobody else waits."""

from __future__ import annotations

import zlib
from contextlib import suppress

import pytest

from attacks.conftest import FULL
from attacks.line import Target, answered, is_closed, processor_time, status
from contract.objects import config_maps
from host.process import HostProcess

MAPS = config_maps("default")
INFLATED = (1 << 30) if FULL else (1 << 28)


def deflated(size: int) -> bytes:
    packing = zlib.compressobj(9, wbits=31)
    block = bytes(1 << 20)
    return b"".join([*(packing.compress(block) for _ in range(size >> 20)), packing.flush()])


BOMB = deflated(INFLATED)


@pytest.mark.parametrize("path", ["/healthz", MAPS])
@pytest.mark.parametrize("has_token", [True, False])
def test_a_compressed_body_is_refused_unread(target: Target, path: str, has_token: bool) -> None:
    token = target.token if has_token else None
    head = target.head("POST", path, "Content-Encoding: gzip", f"Content-Length: {len(BOMB)}", token=token)
    with target.connect() as line:
        assert status(line, head) == 415
        assert is_closed(line)


def test_a_compressed_body_costs_the_host_nothing(host: HostProcess) -> None:
    target = Target.of(host.api)
    before = processor_time(host.process.pid)
    for _ in range(5):
        headers = ("Content-Encoding: gzip", f"Content-Length: {len(BOMB)}", "Content-Type: application/json")
        with target.connect() as line:
            assert status(line, target.head("POST", "/healthz", *headers) + BOMB) in (415, 0)
    assert target.works()
    assert processor_time(host.process.pid) - before < 1.0


def test_a_malformed_compressed_body_is_refused_as_any_other(host: HostProcess) -> None:
    answer = host.api.request("POST", MAPS, b"\x1f\x8bgarbage", headers={"Content-Encoding": "gzip"})
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")


def test_a_body_after_a_refusal_is_not_drained(target: Target) -> None:
    sent = 0
    with target.connect() as line:
        line.sendall(target.head("POST", MAPS, "Content-Length: 2000000000"))
        with suppress(OSError):
            while sent < 500_000_000:
                line.sendall(bytes(1 << 16))
                sent += 1 << 16
    assert sent < 50_000_000


def test_a_body_above_three_megabytes_is_too_large(host: HostProcess) -> None:
    target = Target.of(host.api)
    for length in ("Content-Length: 3145729", "Transfer-Encoding: chunked"):
        head = target.head("POST", MAPS, "Content-Type: application/json", length, token=target.token)
        with target.connect() as line:
            line.sendall(head)
            with suppress(OSError):
                for _ in range(64):
                    line.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            assert answered(line) in (413, 0)  # 0: the client was still sending when the server closed
    assert host.api.post(MAPS, b"x" * (3 << 20)).status == 400


def test_http_that_is_cut_off_harms_no_other_client(target: Target) -> None:
    lines = [target.connect() for _ in range(20)]
    for line in lines:
        line.sendall(target.head("GET", "/healthz")[:-2])
    assert target.works()
    for line in lines:
        line.close()
