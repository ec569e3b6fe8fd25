"""A proxy that accepts CONNECT and fails in every way that a network can, on loopback.

Connections are refused, delayed, left half open without further data, or cut after a number of bytes, mostly in the
middle of a line.

Where a connection is cut is drawn from a seeded random source, so that a run can be repeated as far as timing allows.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from random import Random
from types import TracebackType
from typing import Literal

Fate = Literal["good", "refused", "delayed", "half-open", "cut"]

HOST = "127.0.0.1"
CHUNK = 1000
DELAY = 0.05


class BadProxy:
    """`fates` are assigned to connections in turn, in a random order; a connection ends after at most `most` bytes.

    A delayed one starts late, and is cut like the others.
    """

    def __init__(self, chance: Random, fates: tuple[Fate, ...], most: int = 20_000) -> None:
        self.met, self.asked_for = Counter[str](), list[str]()
        self._fates: Iterator[Fate] = cycle(chance.sample(fates, len(fates)))
        self._chance, self._most, self._is_repaired = chance, most, False
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def repair(self) -> None:
        """Let new connections succeed; those that hang go on hanging."""
        self._fates, self._is_repaired = cycle(("good",)), True

    async def __aenter__(self) -> BadProxy:
        self._server = await asyncio.start_server(self._accept, HOST, 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fate = next(self._fates)
        self.met[fate] += 1
        if fate == "refused":
            return
        if fate == "delayed":
            await asyncio.sleep(DELAY)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = head.split()[1]
        self.asked_for.append(target)
        their_reader, their_writer = await asyncio.open_connection(*target.rsplit(":", 1))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        forth = asyncio.create_task(_copied(reader, their_writer))
        try:
            most = None if fate == "good" else self._chance.randrange(self._most)
            await _copied(their_reader, writer, most, lambda: self._is_repaired)
            if fate == "half-open":
                await asyncio.Event().wait()
        finally:
            forth.cancel()
            with suppress(OSError, asyncio.CancelledError):
                await forth
            their_writer.transport.abort()


async def _copied(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    most: int | None = None,
    is_repaired: Callable[[], bool] = lambda: False,
) -> None:
    """Copy until the end, or a number of bytes."""
    left = most
    while left is None or left > 0 or is_repaired():
        data = await reader.read(CHUNK if left is None or left <= 0 else min(CHUNK, left))
        if not data:
            return
        left = None if left is None else left - len(data)
        writer.write(data)
        await writer.drain()
