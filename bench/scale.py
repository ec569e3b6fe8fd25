"""Kueue's scale test in virtual time: 640 nodes, 30 queues in 5 cohorts, 15,000 workloads that run and finish.

Arrivals, run times, quotas and priorities are those of Kueue's `tas` configuration, except that every host has a
name of its own. Nothing waits for a real clock: the next event is the next arrival, finish or wake-up, a cycle runs
whenever a workload is ready, and parked workloads are woken one second after a workload of their cohort finished.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from closeknit.decide.decision import Admit, Preempt
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.status import carried_out
from closeknit.model.cluster_queue import Preemption
from closeknit.model.node import Node
from closeknit.model.quota import Quota
from closeknit.model.request import Constraint, Layer
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from closeknit.queue.wake import WakeEvent

from .cluster import BLOCK, GIB, RACK
from .shapes import queue, scheduler, stopped, workload

RACKS, RACK_NODES = 10, 64
COHORTS, QUEUES = 5, 6
BATCH = 1.0
"""Seconds between a finish and the wake-up that follows it."""


@dataclass(frozen=True)
class Kind:
    """Workloads of one size: how many of each constraint, how often they arrive, how long they run."""

    name: str
    counts: tuple[int, int, int]
    pods: int
    cpu: int
    slice: int
    every: float
    runs: float
    priority: int

    def constraints(self) -> list[Constraint]:
        required, preferred, sliced = self.counts
        return (
            [Constraint(required=RACK)] * required
            + [Constraint(preferred=RACK)] * preferred
            + [Constraint(slices=(Layer(RACK, self.slice),))] * sliced
        )


KINDS = (
    Kind("small", (120, 120, 110), 2, 500, 1, 0.1, 0.2, 50),
    Kind("medium", (34, 33, 33), 4, 1250, 2, 0.5, 0.5, 100),
    Kind("large", (17, 17, 16), 8, 2500, 4, 1.2, 1.0, 200),
)


def cluster() -> Scheduler:
    topology = Topology("default", (BLOCK, RACK, HOSTNAME))
    nodes = [
        Node(
            f"r{rack}-n{number}",
            {BLOCK: "b0", RACK: f"r{rack}", HOSTNAME: f"r{rack}-n{number}"},
            {"cpu": 96_000, "memory": 256 * GIB, "pods": 110},
        )
        for rack in range(RACKS)
        for number in range(RACK_NODES)
    ]
    policy = Preemption(within_queue="LowerPriority", reclaim="Any")
    names = [(f"cq-{cohort}-{number}", f"cohort-{cohort}") for cohort in range(COHORTS) for number in range(QUEUES)]
    quotas = {"cpu": Quota(20_000, borrowing=100_000)}
    return scheduler(topology, nodes, [queue(name, quotas, cohort, policy) for name, cohort in names])


def arrivals(scheduler: Scheduler, share: float = 1.0) -> Iterator[tuple[float, Workload, Kind]]:
    """Every workload with the time of its arrival."""
    for name in scheduler.world.cluster_queues:
        for kind in KINDS:
            shape = Shape.of({"cpu": kind.cpu})
            constraints = kind.constraints()
            for number, constraint in enumerate(constraints[: round(len(constraints) * share)]):
                at = number * kind.every
                key = f"{name}-{kind.name}-{number}"
                yield at, workload(key, name, kind.pods, shape, constraint, kind.priority, at), kind


@dataclass
class Played:
    """The results of a run, in virtual seconds."""

    finished: int = 0
    cycles: int = 0
    evictions: int = 0
    ended: float = 0.0
    waits: dict[str, list[float]] = field(default_factory=dict)


def play(share: float = 1.0) -> Played:
    """The whole run."""
    return _Run(cluster(), share).run()


class _Run:
    def __init__(self, built: Scheduler, share: float) -> None:
        self.built, self.result = built, Played()
        self.kinds: dict[str, Kind] = {}
        self.events: list[tuple[float, int, str, str]] = []
        self.known: dict[str, Workload] = {}
        self.waking: set[str] = set()
        self.started: dict[str, int] = {}
        self._ticket = 0
        for at, one, kind in arrivals(built, share):
            self.kinds[one.key] = kind
            self.known[one.key] = one
            self._at(at, "arrive", one.key)

    def _at(self, time: float, what: str, key: str) -> None:
        self._ticket += 1
        heapq.heappush(self.events, (time, self._ticket, what, key))

    def run(self) -> Played:
        now = 0.0
        while self.events:
            now, ticket, what, key = heapq.heappop(self.events)
            self._happen(now, ticket, what, key)
            while self.events and self.events[0][0] <= now:
                self._happen(*heapq.heappop(self.events))
            while self.built.is_ready:
                self._cycle(now)
        self.result.ended = now
        return self.result

    def _happen(self, now: float, ticket: int, what: str, key: str) -> None:
        if what == "arrive":
            self.built.put(self.known[key], now)
        elif what == "wake":
            self.waking.discard(key)
            self.built.wake(WakeEvent.WORKLOAD_FINISHED, key, now)
        elif self.started.get(key) == ticket:
            queue = self.known.pop(key).queue.removeprefix("lq-")
            self.built.drop(key)
            self.result.finished += 1
            self._wake_later(queue, now)

    def _wake_later(self, queue: str, now: float) -> None:
        first = self.built.world.tree_of(queue)[0]
        if first not in self.waking:
            self.waking.add(first)
            self._at(now + BATCH, "wake", first)

    def _cycle(self, now: float) -> None:
        self.result.cycles += 1
        for decision in self.built.cycle(now):
            if isinstance(decision, Admit):
                one, _ = carried_out(self.built.world, decision, now)[0]
                kind = self.kinds[one.key]
                self.known[one.key] = one
                self.built.put(one, now)
                self.result.waits.setdefault(kind.name, []).append(now - one.created)
                self._at(now + kind.runs, "finish", one.key)
                self.started[one.key] = self._ticket
            elif isinstance(decision, Preempt):
                one, _ = carried_out(self.built.world, decision, now)[0]
                self.known[one.key] = one = stopped(one, now)
                self.started.pop(one.key, None)
                self.result.evictions += 1
                self.built.put(one, now)
                self._wake_later(decision.queue, now)
