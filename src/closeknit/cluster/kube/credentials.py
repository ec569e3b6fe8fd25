"""Credentials for the server, and how they are renewed when they expire.

A token may be fixed, in a file that is rewritten before the token expires, or come from a program. A request refused as
Unauthorized is sent once more if newer credentials are available.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Protocol

from .unreachable import NoCredentials

LOOK_AGAIN = 60.0
"""Seconds after which a token file is read again even if it seems unchanged."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A bearer token, a client certificate with its key, both or neither."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


class Credentials(Protocol):
    async def current(self) -> Identity: ...

    async def renewed(self, refused: Identity) -> bool:
        """Whether the credentials now differ from those that were refused."""
        ...


class Fixed:
    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def current(self) -> Identity:
        return self._identity

    async def renewed(self, refused: Identity) -> bool:
        return False


class TokenFile:
    """A token in a file that another process rotates, as the kubelet does for a ServiceAccount.

    The file is read again when it has changed, after a minute, and when its token was refused. While it cannot be read
    the last token stays in use.
    """

    def __init__(self, path: str, server: str, now: Callable[[], float] = monotonic) -> None:
        self._path, self._server, self._now = path, server, now
        self._identity: Identity | None = None
        self._mark: tuple[int, ...] = ()
        self._read_at = 0.0

    async def current(self) -> Identity:
        mark = self._look()
        if self._identity is None or mark != self._mark or self._now() - self._read_at >= LOOK_AGAIN:
            self._read(mark)
        assert self._identity is not None
        return self._identity

    async def renewed(self, refused: Identity) -> bool:
        self._read(self._look())
        return self._identity != refused

    def _look(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, mark: tuple[int, ...]) -> None:
        try:
            token = Path(self._path).read_text().strip()
        except OSError as error:
            if self._identity is None:
                why = f"the token file {self._path} cannot be read: {error.strerror}"
                raise NoCredentials(self._server, why) from None
            return
        if token:
            self._identity, self._mark, self._read_at = Identity(token), mark, self._now()
        elif self._identity is None:
            raise NoCredentials(self._server, f"the token file {self._path} is empty")
