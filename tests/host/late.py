"""The control plane as it runs on a real API server: changes arrive late, and writes take time.

It keeps a host's promises: changes of one kind come in order, the result of a write is shown before it is reported, and
changes older than what was already shown are dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from random import Random
from typing import Any

from closeknit.cluster.errors import Refused
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Change, Delete, Key, Write, key_of, target_of
from closeknit.host.embedded import EmbeddedCluster

Raw = dict[str, Any]


class Late:
    """Replaces the control plane in a cluster that has started.

    Delays are in seconds: of changes, by kind or by chance, and of writes, on their way there and back.
    """

    def __init__(
        self, cluster: EmbeddedCluster, shown: Mapping[Kind, float] | float = 0.0, written: float = 0.0, seed: int = 0
    ) -> None:
        self.now, self.inner = cluster.now, cluster.control_plane
        self.watches = self.inner.watches
        self.shown, self.written, self.random = shown, written, Random(seed)
        self.writes: list[Write] = []
        self._events: list[tuple[float, int, Change | tuple[Write, Raw | Refused] | Write]] = []
        self._count = 0
        self._stream: dict[Kind, tuple[float, int]] = {}
        """When the last change of each kind will be shown, and the version of the last one shown."""
        self._known: dict[Key, Raw] = {
            key_of(kind, raw): raw for kind, all_ in self.inner.cache.raw.items() for raw in all_.values()
        }
        self._lines: dict[Key, deque[Write]] = {}
        cluster.loop.participants[0] = self

    @property
    def is_quiet(self) -> bool:
        """Whether every change is shown and every write has its result."""
        return not self._events

    def _at(self, at: float, what: Change | tuple[Write, Raw | Refused] | Write) -> None:
        self._count += 1
        heappush(self._events, (at, self._count, what))

    # What comes in

    def see(self, change: Change) -> None:
        delay = self.shown if isinstance(self.shown, float) else self.shown.get(change.kind, 0.0)
        last, version = self._stream.get(change.kind, (0.0, 0))
        at = max(last, self.now() + (self.random.uniform(0, delay) if isinstance(self.shown, float) else delay))
        self._stream[change.kind] = at, version
        if delay:
            self._at(at, change)
        else:
            self._show(change)

    def _show(self, change: Change) -> None:
        at, _ = self._stream[change.kind]
        self._stream[change.kind] = at, change.version
        known = self._known.get(change.key)
        is_old = known is not None and int(known["metadata"]["resourceVersion"]) >= change.version
        is_its_end = change.type == "DELETED" and known is not None and _uid(known) == _uid(change.object)
        if is_old and not is_its_end:
            return
        self._pass_on(change.version, change.type, change.kind, change.object)

    def _answered(self, write: Write, result: Raw) -> None:
        kind = target_of(write).kind
        version = result.get("metadata", {}).get("resourceVersion")
        if not isinstance(write, Delete) and version and int(version) > self._stream.get(kind, (0.0, 0))[1]:
            known = self._known.get(key_of(kind, result))
            if known is None or int(known["metadata"]["resourceVersion"]) < int(version):
                self._pass_on(int(version), "MODIFIED", kind, result)

    def _pass_on(self, version: int, type_: Any, kind: Kind, raw: Raw) -> None:
        key = key_of(kind, raw)
        old = self._known.get(key)
        if type_ == "DELETED":
            self._known.pop(key, None)
        else:
            type_ = "ADDED" if old is None else "MODIFIED"
            self._known[key] = raw
        self.inner.see(Change(version, type_, kind, raw, old))

    # What goes out

    def due(self) -> float | None:
        times = [self.inner.due(), self._events[0][0] if self._events else None]
        return min((at for at in times if at is not None), default=None)

    def step(self, now: float) -> Sequence[Write]:
        out: list[Write] = []
        while self._events and self._events[0][0] <= now:
            match heappop(self._events)[2]:
                case Change() as change:
                    self._show(change)
                case (write, result):
                    self._report(write, result, now)
                case write:
                    out.append(write)
        at = self.inner.due()
        if not out and at is not None and at <= now:
            for write in self.inner.step(now):
                self.writes.append(write)
                if self.written:
                    self._line_up(write)
                else:
                    out.append(write)
        return out

    def _line_up(self, write: Write) -> None:
        line = self._lines.setdefault(target_of(write), deque())
        line.append(write)
        if len(line) == 1:
            self._at(self.now() + self.random.uniform(0, self.written), write)

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        if self.written:
            self._at(now + self.random.uniform(0, self.written), (write, result))
        else:
            self._report(write, result, now)

    def _report(self, write: Write, result: Raw | Refused, now: float) -> None:
        if not isinstance(result, Refused):
            self._answered(write, result)
        self.inner.done(write, result, now)
        line = self._lines.get(target_of(write))
        if line:
            line.popleft()
            if line:
                self._at(now + self.random.uniform(0, self.written), line[0])
            else:
                del self._lines[target_of(write)]


def _uid(raw: Raw) -> str:
    uid: str = raw["metadata"]["uid"]
    return uid
