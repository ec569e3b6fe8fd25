"""The embedded cluster: a store, stand-ins for Kubernetes' own controllers, and the control plane, driven by one loop.

The clock is a parameter. With the real clock this is `closeknit up`; with one that jumps from event to event, hours
of cluster time pass in seconds, and the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from time import perf_counter

from ..cluster import kinds
from ..cluster.embedded import standins as stand_in
from ..cluster.embedded.ids import RandomIds
from ..cluster.embedded.loop import Loop, Participant, Worker
from ..cluster.embedded.rules import AdmissionSettings as RuleSettings
from ..cluster.embedded.rules import HostRules
from ..cluster.embedded.standins.settings import StandinSettings as Pace
from ..cluster.embedded.store import Ids, Log, Store
from ..cluster.errors import Refused
from ..cluster.kinds import Kind
from ..cluster.port import Change, Raw, Write
from ..controller.control_plane import ControlPlane
from ..model.gates import Gates
from ..model.settings import PodsReady, Settings
from ..observe.live_jobs import Managed
from .decisions import Decisions, Memory
from .runtime import ChangeListener, Vitals

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has."""

LAST = (kinds.WORKLOAD, kinds.POD)
"""Kinds shown after everything that they refer to."""


@dataclass(frozen=True, slots=True)
class EmbeddedOptions:
    """`seed` None: ids are random. `rules` are the store's admission settings; by default they follow from the rest."""

    gates: Gates = field(default_factory=Gates.profile)
    settings: Settings = field(default_factory=lambda: Settings(pods_ready=PodsReady()))
    managed: Managed = field(default_factory=Managed)
    pace: Pace = field(default_factory=Pace)
    seed: int | None = None
    rules: RuleSettings | None = None


def _rules(options: EmbeddedOptions) -> RuleSettings:
    managed = options.managed
    return RuleSettings(options.gates, managed.frameworks, managed.namespaces, managed.without_queue)


class EmbeddedCluster:
    """Write through `store`, call `run`, and read the outcome from `store`. Implements `Runtime`."""

    def __init__(
        self,
        now: Callable[[], float],
        options: EmbeddedOptions | None = None,
        log: Log | None = None,
        decisions: Decisions | None = None,
        cost: Callable[[], float] = perf_counter,
    ) -> None:
        self.options = options = options or EmbeddedOptions()
        self.decisions = decisions or Decisions(Memory())
        ids: Ids = RandomIds(options.seed)
        rules = HostRules(options.rules or _rules(options))
        self.now = now
        self.store = Store(now, ids, rules, log)
        keep = self.decisions.keep
        self.control_plane = ControlPlane(options.gates, options.settings, now, cost, options.managed, keep)
        around = stand_in.standins(options.pace, Random(options.seed or 0))
        self.loop = Loop(self.store, [self.control_plane, *(Worker(self.store, one) for one in around)])

    def add(self, one: Participant) -> None:
        """Add a participant after all others; call it before `begin`."""
        self.loop.add(one)

    def watch(self, watcher: ChangeListener) -> None:
        self.add(_WatcherParticipant(watcher))

    def vitals(self) -> Vitals:
        """The defaults: this process always decides, without leader election or watches that could fail."""
        return Vitals()

    def begin(self) -> None:
        """Show every existing object to all participants, and create the namespaces that every cluster has."""
        for change in self._all():
            self.loop.tell(change)
        self.loop.seen = self.store.version
        for name in NAMESPACES:
            if self.store.find(kinds.NAMESPACE, "", name) is None:
                self.store.create(kinds.NAMESPACE, {"metadata": {"name": name}})

    def _all(self) -> Iterator[Change]:
        order: list[Kind] = [*(kind for kind in kinds.KINDS if kind not in LAST), *LAST]
        for kind in order:
            for raw in list(self.store.all(kind)):
                yield Change(int(raw["metadata"]["resourceVersion"]), "ADDED", kind, raw)

    def run(self, most: int | None = None) -> float | None:
        """Do everything that is due now; returns when something is next due."""
        return self.loop.run(self.now(), most)


class _WatcherParticipant:
    """A watcher as a participant of the loop; it never has anything to do."""

    def __init__(self, watcher: ChangeListener) -> None:
        self.watches, self.see = watcher.watches, watcher.see

    def due(self) -> float | None:
        return None

    def step(self, now: float) -> Sequence[Write]:
        return ()

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        """Never called: a watcher writes nothing."""
