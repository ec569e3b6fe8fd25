"""Connections of an attacker: bytes as they are, over TLS to the embedded host or in the clear to the controller."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from contract.client import Api

WAIT = 30.0


class Target(NamedTuple):
    """A server; `token` permits everything there, and the owner reads `path` with it."""

    port: int
    token: str
    tls: ssl.SSLContext | None = None
    path: str = "/metrics"

    @classmethod
    def of(cls, api: Api) -> Target:
        assert api.token is not None
        return cls(api.port, api.token, api.context)

    def connect(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        return plain if self.tls is None else self.tls.wrap_socket(plain, server_hostname="127.0.0.1")

    def connect_or_none(self) -> socket.socket | None:
        """A connection; None if the server closed it before it was made."""
        try:
            return self.connect()
        except OSError:
            return None

    def head(self, method: str, path: str, *headers: str, token: str | None = None) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers]
        lines += [] if token is None else [f"Authorization: Bearer {token}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def works(self) -> bool:
        """Whether the owner is answered."""
        return self.get(self.path, token=self.token) == 200

    def get(self, path: str, *headers: str, token: str | None = None) -> int:
        """The status of one request on a connection of its own; 0 if the server closed it without one."""
        with self.connect() as line:
            return status(line, self.head("GET", path, "Connection: close", *headers, token=token))


def status(line: socket.socket, data: bytes) -> int:
    """Send bytes, as far as the server takes them, and return the status that it sends; 0 if it sends none."""
    with suppress(OSError):
        line.sendall(data)
    return answered(line)


def answered(line: socket.socket) -> int:
    found = b""
    with suppress(OSError):
        while b"\r\n" not in found:
            piece = line.recv(4096)
            if not piece:
                break
            found += piece
    return int(found.split()[1]) if found.startswith(b"HTTP/") else 0


def is_closed(line: socket.socket, within: float = WAIT) -> bool:
    """Whether the server closes the connection within this time; whatever it sends until then is read."""
    end = monotonic() + within
    while (left := end - monotonic()) > 0:
        line.settimeout(left)
        try:
            if not line.recv(65536):
                return True
        except TimeoutError:
            return False
        except OSError:
            return True
    return False


def memory(process: int) -> int:
    """The resident memory of a process, in bytes."""
    fields = Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) * 1024


def processor_time(process: int) -> float:
    """The seconds of processor time that a process has used: other processes do not change it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
