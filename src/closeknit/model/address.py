"""Where a server listens: `HOST:PORT`, or `:PORT` for every interface of the machine."""

from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    """`host` empty: every interface."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str) -> Address:
    """address("127.0.0.1:8081"), address(":8081"), address("[::1]:0"); ValueError for what is none."""
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_number = port.isascii() and port.isdigit() and int(port) < 65536
    if not colon or not is_number or (":" in bare and bare == host) or " " in text:
        raise ValueError(f'"{text}" is no address: give HOST:PORT, or :PORT for every interface')
    return Address(bare, int(port))
