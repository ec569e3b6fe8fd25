"""The control plane on one screen: every change updates what is known, each desk does its part, the scheduler decides.

    change ──▶ known ──▶ jobs        make, start, stop, finish
                    ├──▶ groups      the same for pods that belong together
                    ├──▶ workloads   checks, stops, limits, coming back
                    ├──▶ provisioning  machines that have to be brought first
                    ├──▶ gates       pods to their places
                    ├──▶ nodes       failed under pods that have one
                    ├──▶ scheduling  cycles ──▶ writes
                    └──▶ queues      how they stand, what is in use

It is a participant of a host's loop: told of changes, asked for its next step, told how its writes ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..cluster.errors import Refused
from ..cluster.kinds import WORKLOAD, Kind
from ..cluster.port import Change, Raw, Write
from ..model.gates import Gates as FeatureGates
from ..model.settings import Settings
from ..model.workload import Workload
from ..observe.known import Known
from ..observe.live_jobs import Managed
from ..write.events import Recorder
from .groups import Groups
from .jobs import Jobs
from .placing import Gates, Nodes
from .provisioning import Provisioning
from .queues import Queues
from .records import Diary, Record, eviction
from .scheduling import Scheduling
from .workloads import Workloads


class Part(Protocol):
    def see(self, change: Change) -> None: ...

    def due(self) -> float | None: ...

    def step(self, now: float) -> Sequence[Write]: ...

    def done(self, write: Write, result: Raw | Refused, now: float) -> None: ...


class ControlPlane:
    watches: tuple[Kind, ...] = ()

    def __init__(
        self,
        gates: FeatureGates,
        settings: Settings,
        now: Callable[[], float],
        managed: Managed | None = None,
        keep: Callable[[Record], None] = lambda _: None,
    ) -> None:
        self.known = Known(gates, settings, now)
        self.diary = Diary(keep)
        recorder = Recorder()
        self.parts: tuple[Part, ...] = (
            Jobs(self.known, recorder, managed or Managed()),
            Groups(self.known, recorder, managed or Managed()),
            Workloads(self.known, recorder),
            Provisioning(self.known, recorder),
            Gates(self.known, recorder),
            Nodes(self.known, recorder),
            Scheduling(self.known, recorder, self.diary),
            Queues(self.known, recorder),
        )
        self._sent: dict[int, tuple[Write, Part]] = {}

    def see(self, change: Change) -> None:
        before = self._before(change)
        self.known.see(change)
        self._note(before)
        for part in self.parts:
            part.see(change)

    def _before(self, change: Change) -> Workload | None:
        """A workload as it was known so far."""
        if change.kind is not WORKLOAD:
            return None
        meta = change.object["metadata"]
        return self.known.workloads.get(f"{meta['namespace']}/{meta['name']}")

    def _note(self, before: Workload | None) -> None:
        """Evictions that no cycle decided belong into the diary too."""
        after = None if before is None else self.known.workloads.get(before.key)
        if before is None or after is None or after is before:
            return
        record = eviction(before, after, self.known.now())
        if record is not None and after.status.conditions["Evicted"].reason != "Preempted":
            self.diary.write(record)

    def due(self) -> float | None:
        return min((at for part in self.parts if (at := part.due()) is not None), default=None)

    def step(self, now: float) -> Sequence[Write]:
        """What the first part has to do whose turn it is: decisions come when nothing else is left."""
        for part in self.parts:
            at = part.due()
            if at is not None and at <= now:
                writes = part.step(now)
                for write in writes:
                    self._sent[id(write)] = write, part
                return writes
        return ()

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        sent = self._sent.pop(id(write), None)
        if sent is not None:
            sent[1].done(write, result, now)
