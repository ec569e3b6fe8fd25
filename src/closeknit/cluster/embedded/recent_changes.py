"""The latest changes of a store, for watches that resume: bounded in number, and in the bytes that clients sent.

Only bytes of clients count: what the host itself writes shares the content of the objects that it is derived from.
Changes after `needed` are kept whatever the bounds: the participants of the cluster have not seen them yet, and unlike
a client they cannot list again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from math import inf

from ..errors import Expired
from ..port import Change

MOST, MOST_BYTES = 20_000, 128 << 20
"""How many changes are kept, and how many bytes; a client that resumes from an older version has to list again."""


class RecentChanges:
    """`forgotten` is the version of the oldest change; a watch can resume from the version before it."""

    def __init__(self) -> None:
        self.forgotten = 1
        self.needed: float = inf
        self._changes: deque[tuple[Change, int]] = deque()
        self._bytes = 0

    def __iter__(self) -> Iterator[Change]:
        return (change for change, _ in self._changes)

    def append(self, change: Change, size: int) -> None:
        self._changes.append((change, size))
        self._bytes += size
        while (len(self._changes) > MOST or self._bytes > MOST_BYTES) and self._changes[0][0].version <= self.needed:
            oldest, size = self._changes.popleft()
            self._bytes -= size
            self.forgotten = oldest.version + 1

    def after(self, version: int) -> list[Change]:
        """The changes since a version; raises Expired if one of them is forgotten."""
        if version + 1 < self.forgotten:
            raise Expired(f"too old resource version: {version} ({self.forgotten - 1})")
        newest = self._changes[-1][0].version if self._changes else version
        found = islice(reversed(self._changes), max(0, newest - version))
        return [change for change, _ in found][::-1]

    def clear(self, version: int) -> None:
        """Forget everything up to this version, the current one."""
        self._changes.clear()
        self._bytes, self.forgotten = 0, version + 1
