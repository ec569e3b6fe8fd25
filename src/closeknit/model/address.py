"""Where a server listens: `HOST:PORT`, or `:PORT` for every interface of the machine."""

from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    """An empty `host` stands for every interface."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str) -> Address:
    """Parse "127.0.0.1:8081", ":8081" or "[::1]:0"; raises ValueError for anything else."""
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_number = port.isascii() and port.isdigit() and int(port) < 65536
    if not colon or not is_number or (":" in bare and bare == host) or " " in text:
        raise ValueError(f'"{text}" is not an address: give HOST:PORT, or :PORT for every interface')
    return Address(bare, int(port))
