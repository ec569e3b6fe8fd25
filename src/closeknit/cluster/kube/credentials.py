"""What is shown to the server so that it knows who asks, and where the next one comes from when it ends.

A token may be fixed, in a file that is written anew before it ends, or from a program. A refusal as Unauthorized is
worth one more attempt where something newer may be had.
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
"""Seconds after which a file of a token is read again even if it seems to be the same."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A bearer token, a client certificate with its key, both or nothing."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


class Credentials(Protocol):
    async def current(self) -> Identity: ...

    async def renewed(self, refused: Identity) -> bool:
        """Whether there is something else to show now than what was refused."""
        ...


class Fixed:
    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def current(self) -> Identity:
        return self._identity

    async def renewed(self, refused: Identity) -> bool:
        return False


class TokenFile:
    """A token that somebody else keeps fresh, as the kubelet does for a ServiceAccount.

    It is read again when the file has changed, when a minute has passed, and when it was refused. While the file
    cannot be read the last token is used on.
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
