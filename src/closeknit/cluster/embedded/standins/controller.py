"""The frame of a controller that looks after one kind of owner.

    change ──▶ concerns: the owner ──▶ find ──▶ minds? ──▶ wait for its turn ──▶ look ──▶ steps

What a kind adds is how it looks at one owner, and which owners are none of its business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import ClassVar, NamedTuple

from ...kinds import Kind
from ...port import Change, Key, Raw
from ..loop import Later, Step
from ..store import Store
from .children import family, is_deleting
from .pace import Pace, look_key
from .settings import DEFAULTS, Settings


class Seen(NamedTuple):
    """What a look cost, counted in children, and what follows from it."""

    size: int
    steps: Iterator[Step]


class Controller(ABC):
    """`watches` is its kind, and those whose owner it may be."""

    kind: ClassVar[Kind]
    watches: ClassVar[tuple[Kind, ...]]

    def __init__(self, settings: Settings = DEFAULTS) -> None:
        self.settings = settings
        self._pace = Pace()

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is self.kind:
            return () if change.type == "DELETED" else (change.key,)
        return family(change, self.kind) if change.kind in self.watches else ()

    def minds(self, owner: Raw) -> bool:
        return not is_deleting(owner)

    @abstractmethod
    def look(self, store: Store, owner: Raw, now: float) -> Seen: ...

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Key)
        owner = store.find(self.kind, key.namespace, key.name)
        if owner is None or not self.minds(owner):
            return
        turn = look_key(owner)
        if (at := self._pace.wait(turn, now)) is not None:
            yield Later(at)
            return
        seen = self.look(store, owner, now)
        self._pace.looked(turn, seen.size, now)
        yield from seen.steps
