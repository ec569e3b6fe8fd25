"""The base of a controller of one kind of owner.

    change ──▶ concerns: the owner's key ──▶ find ──▶ minds? ──▶ throttle ──▶ observe ──▶ steps

A subclass adds how to observe one owner, and which owners it ignores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import ClassVar, NamedTuple

from ...kinds import Kind
from ...port import Change, Key, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import family, is_deleting
from .pace import ReconcileThrottle, look_key
from .settings import DEFAULTS, StandinSettings


class Observation(NamedTuple):
    """The result of observing an owner: its number of children, and the steps to take."""

    size: int
    steps: Iterator[Step]


class Controller(ABC):
    """`watches` has the controller's kind and the kinds of its children."""

    kind: ClassVar[Kind]
    watches: ClassVar[tuple[Kind, ...]]

    def __init__(self, settings: StandinSettings = DEFAULTS) -> None:
        self.settings = settings
        self._pace = ReconcileThrottle()

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is self.kind:
            return () if change.type == "DELETED" else (change.key,)
        return family(change, self.kind) if change.kind in self.watches else ()

    def minds(self, owner: Raw) -> bool:
        return not is_deleting(owner)

    @abstractmethod
    def observe(self, store: Store, owner: Raw, now: float) -> Observation: ...

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Key)
        owner = store.find(self.kind, key.namespace, key.name)
        if owner is None or not self.minds(owner):
            return
        turn = look_key(owner)
        if (at := self._pace.wait(turn, now)) is not None:
            yield ReconcileAt(at)
            return
        seen = self.observe(store, owner, now)
        self._pace.looked(turn, seen.size, now)
        yield from seen.steps
