"""Warns about pods, and sets of pods, that name a queue on a server that cannot gate pods.

A scheduling gate can be added only when a pod is created, and only by the server. Where Closeknit's admission policies
are not installed such pods run at once, whatever their queue says; each gets an event that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster.port import Change, Key
from ..model.event import Event
from ..observe.known import Known
from ..observe.live_jobs import Managed, is_on_its_own, names_queue, ungated_kinds
from ..write.events import Recorder, Tell
from .desk import Desk, Step

REASON = "NotQueued"
TEXT = (
    "It does not wait in queue {queue}: this server cannot gate pods when they are created. "
    "Install Closeknit's admission policies, or submit a Job"
)


class Ungateable(Desk[Key]):
    def __init__(self, known: Known, recorder: Recorder, managed: Managed) -> None:
        super().__init__(known, recorder)
        self.managed, self.kinds = managed, ungated_kinds(managed)

    def concerns(self, change: Change) -> Iterable[Key]:
        is_new = change.kind in self.kinds and change.type == "ADDED"
        return [change.key] if is_new and names_queue(change.object) and is_on_its_own(change.object) else ()

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        raw = self.known.find(key)
        if raw is None or not self.managed.is_in(self.known, key.namespace):
            return
        text = TEXT.format(queue=names_queue(raw))
        yield Tell(raw, Event(f"{key.namespace}/{key.name}", "Warning", REASON, text), now)
