"""Whatever is sent, the server answers below 500 and in time, in bounded memory; what it refuses changes nothing.

CLOSEKNIT_FUZZ sets how many requests are sent, CLOSEKNIT_FUZZ_SEED which.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from pathlib import Path
from random import Random
from time import monotonic

from attacks.line import memory
from closeknit.cluster.embedded.rest.bodies import MOST_BYTES
from closeknit.cluster.embedded.rules import HostRules
from cluster.embedded.rest.fuzzing import Fuzz, Request
from cluster.embedded.rest.running import Running

COUNT = int(os.environ.get("CLOSEKNIT_FUZZ", "3000"))
SEED = int(os.environ.get("CLOSEKNIT_FUZZ_SEED", "1"))
LONGEST = 2.0


class Client:
    def __init__(self, running: Running) -> None:
        self.running = running
        self._connection: http.client.HTTPSConnection | None = None

    def send(self, request: Request) -> tuple[int, bytes]:
        """The code and the body of the answer; of a watch only the code."""
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self.running.port, context=self.running.api.context, timeout=20
            )
        credentials = {"Authorization": f"Bearer {self.running.api.token}"}
        headers = {name: value.encode() for name, value in (credentials | request.headers).items()}
        try:
            self._connection.request(request.method, request.target, request.body, headers)
            response = self._connection.getresponse()
        except (ConnectionError, ssl.SSLError, http.client.HTTPException):
            self.close()
            if len(request.body or b"") > MOST_BYTES:  # the server ended the connection before all of it was sent
                return 413, b'"kind":"Status"'
            raise
        is_watch = response.headers.get("Transfer-Encoding") == "chunked"
        body = b"" if is_watch else response.read()
        if is_watch or response.will_close:
            self.close()
        return response.status, body

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def test_no_request_does_harm(tmp_path: Path) -> None:
    fuzz, codes, slowest, early = Fuzz(SEED), dict[int, int](), 0.0, 0
    with Running(tmp_path, rules=HostRules()) as running:
        client = Client(running)
        for number in range(COUNT):
            if number % 100 == 0:
                seeded = {client.send(seed)[0] for seed in fuzz.seeds()}
                assert seeded == {201} if number == 0 else max(seeded) < 500
            if number == COUNT // 5:
                early = memory(os.getpid())
            request = fuzz.request()
            before, start = running.store.version, monotonic()
            code, body = client.send(request)
            took = monotonic() - start
            slowest = max(slowest, took)
            codes[code] = codes.get(code, 0) + 1
            assert code < 500, (number, request, body)
            assert took < LONGEST, (number, request, took)
            if code >= 400:
                assert running.store.version == before, (number, request, body)
                assert request.method == "HEAD" or b'"kind":"Status"' in body, (number, request, body)
        client.close()
        assert running.api.get("/readyz").body == "ok"
    late = memory(os.getpid())
    print(f"\n{COUNT} requests: slowest {slowest:.2f} s, {early / 1e6:.0f} to {late / 1e6:.0f} MB")
    print(sorted(codes.items()))
    assert {200, 201, 400, 404, 409, 415, 422} <= codes.keys(), codes
    assert late < 1.5 * early + 50_000_000


def test_bytes_that_are_no_http_do_no_harm(tmp_path: Path) -> None:
    random = Random(SEED)
    with Running(tmp_path) as running:
        token = running.api.token
        head = f"GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        before = running.version
        for _ in range(100):
            data = bytearray(head.encode())
            for _ in range(random.randrange(1, 6)):
                data[random.randrange(len(data))] = random.randrange(256)
            with (
                socket.create_connection(("127.0.0.1", running.port), timeout=LONGEST) as plain,
                running.api.context.wrap_socket(plain, server_hostname="127.0.0.1") as line,
            ):
                line.sendall(bytes(data) + b"\r\n\r\n")
                answer = line.recv(4096)
                assert not answer or int(answer.split()[1]) < 500, (bytes(data), answer)
        assert running.version == before
        assert running.api.get("/readyz").body == "ok"
