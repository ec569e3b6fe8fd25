"""Whatever happens in whatever order, the scheduler is what its objects make it, and no workload is lost.

Queues change, stop and start; nodes come and go; jobs arrive, finish, shrink and lose nodes; writes fail. After every
step the running scheduler is compared with one that is built from the objects as they are.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from closeknit.decide.activity import PROVISIONING
from closeknit.decide.decision import Admit, Evict, Preempt, Replace, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.status import carried_out
from closeknit.model.cluster_queue import AdmissionCheck, CheckRule, ClusterQueue, LocalQueue, Preemption, StopPolicy
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import Cohort
from closeknit.model.request import Constraint
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Check, Workload
from closeknit.queue.wake import WakeEvent
from engine.clusters import columns

from .objects import DEFAULT, GPU, cohort, queue, workload
from .play import stopped

BY_HOST = Topology("t", (HOSTNAME,))
FLAVORS = (Flavor("plain"), Flavor("placed", {"pool": "x"}, topology="t"))
ANY = Preemption("LowerPriority", "Any")
HERE = Constraint(required=HOSTNAME)

names = st.sampled_from([f"w{at}" for at in range(6)])
queues = st.sampled_from(["plain", "placed", "later"])
hosts = st.sampled_from(["h1", "h2"])
policies = st.sampled_from(["None", "None", "Hold"])

Job = tuple[str, str, int, int]
jobs = st.tuples(names, queues, st.integers(1, 3), st.integers(0, 2))
"""Name, queue, pods and priority."""


class Events(RuleBasedStateMachine):
    """`later` is a queue with nodes that have to be provisioned first."""

    def __init__(self) -> None:
        super().__init__()
        self.cohorts: dict[str, Cohort] = {"r": cohort("r")}
        self.queues: dict[str, ClusterQueue] = {}
        self.gone: dict[str, ClusterQueue] = {}
        self.nodes: dict[str, Node] = {}
        self.known: dict[str, Workload] = {}
        self.made, self.now = 0, 100.0

    @initialize(fair=st.booleans(), jobs=st.lists(jobs, min_size=2, max_size=5))
    def begin(self, fair: bool, jobs: list[Job]) -> None:
        self.settings = Settings(FAIR if fair else ())
        self.queues = {
            "plain": queue("plain", {"plain": 4}, "r", preemption=ANY),
            "placed": queue("placed", {"placed": 4}, "r", preemption=ANY),
            "later": queue("later", {"placed": 2}, "r", preemption=ANY, checks=(CheckRule("nodes"),)),
        }
        for name in ("h1", "h2"):
            self.nodes[name] = Node(name, {HOSTNAME: name, "pool": "x"}, {GPU: 3, "pods": 4})
        self.scheduler = self.built()
        for job in jobs:
            self.submit(*job)
        self.run(1)

    def built(self) -> Scheduler:
        """A scheduler from the objects as they are."""
        made = Scheduler(Gates.profile(), self.settings)
        made.world.namespaces[DEFAULT] = {}
        made.world.put_topology(BY_HOST)
        made.world.put_check(AdmissionCheck("nodes", PROVISIONING, True))
        for flavor in FLAVORS:
            made.world.put_flavor(flavor)
        for one in self.cohorts.values():
            made.world.put_cohort(one)
        for node in self.nodes.values():
            made.world.put_node(node)
        for each in self.queues.values():
            made.put_cluster_queue(each)
        for name in (*self.queues, *self.gone):
            made.put_local_queue(LocalQueue(DEFAULT, name, name))
        for known in self.known.values():
            made.put(known, self.now)
        return made

    def put(self, one: Workload) -> None:
        self.known[one.key] = one
        self.scheduler.put(one, self.now)

    # What users and administrators do

    @rule(some=st.lists(jobs, min_size=1, max_size=3))
    def arrive(self, some: list[Job]) -> None:
        for job in some:
            self.submit(*job)
        self.run(2)

    def submit(self, name: str, queue: str, count: int, priority: int) -> None:
        if f"{DEFAULT}/{name}" not in self.known:
            self.made += 1
            constraint = None if queue == "plain" else HERE
            uid, created = f"{self.made:04d}", float(self.made)
            self.put(workload(name, queue, count, constraint=constraint, priority=priority, uid=uid, created=created))

    @rule(name=names)
    def finish(self, name: str) -> None:
        one = self.known.pop(f"{DEFAULT}/{name}", None)
        if one is not None:
            self.scheduler.put(replace(one, status=one.status.condition("Finished", True, "x", "", self.now)), self.now)
            self.scheduler.wake(WakeEvent.WORKLOAD_FINISHED, one.queue, self.now)

    @rule(name=names, active=st.booleans())
    def activate(self, name: str, active: bool) -> None:
        one = self.known.get(f"{DEFAULT}/{name}")
        if one is not None and not one.reserved:
            self.put(replace(one, active=active))

    @rule(name=names)
    def pods_are_done(self, name: str) -> None:
        one = self.known.get(f"{DEFAULT}/{name}")
        if one is not None:
            done = min(next(one.request.pod_sets).count, one.status.reclaimable.get("main", 0) + 1)
            self.put(replace(one, status=replace(one.status, reclaimable={"main": done})))
            self.scheduler.wake(WakeEvent.PODS_RECLAIMED, one.queue, self.now)

    @rule(name=queues, quota=st.integers(0, 5), stop=policies)
    def change_queue(self, name: str, quota: int, stop: StopPolicy) -> None:
        old = self.queues.get(name)
        if old is None:
            return
        new = queue(name, {old.flavors[0]: quota}, "r", preemption=ANY, checks=old.checks, stop=stop)
        self.queues[name] = new
        self.scheduler.put_cluster_queue(new)
        self.scheduler.wake(WakeEvent.QUEUE_CHANGED, name, self.now)

    @rule(name=queues)
    def drop_or_put_queue(self, name: str) -> None:
        if name in self.queues:
            self.gone[name] = self.queues.pop(name)
            self.scheduler.drop_cluster_queue(name)
        else:
            self.queues[name] = self.gone.pop(name)
            self.scheduler.put_cluster_queue(self.queues[name])
        self.scheduler.wake(WakeEvent.QUEUE_CHANGED, name, self.now)
        self.is_what_the_objects_make_it()
        self.run(1)

    @rule(topology=st.booleans())
    def take_away_what_places_hang_on_and_bring_it_back(self, topology: bool) -> None:
        world = self.scheduler.world
        if topology:
            world.drop_topology(BY_HOST.name)
        else:
            world.drop_flavor("placed")
        self.run(1)
        world.put_topology(BY_HOST)
        world.put_flavor(FLAVORS[1])
        self.scheduler.wake(WakeEvent.FLAVOR_CHANGED, "placed", self.now)

    @rule()
    def restart(self) -> None:
        self.scheduler = self.built()

    @rule(quota=st.integers(0, 4))
    def change_cohort(self, quota: int) -> None:
        self.cohorts["r"] = cohort("r", "", {"placed": quota})
        self.scheduler.world.put_cohort(self.cohorts["r"])
        self.scheduler.wake(WakeEvent.COHORT_CHANGED, "plain", self.now)

    @rule(name=hosts, gpus=st.integers(1, 4), ready=st.booleans())
    def put_node(self, name: str, gpus: int, ready: bool) -> None:
        self.nodes[name] = Node(name, {HOSTNAME: name, "pool": "x"}, {GPU: gpus, "pods": 4}, ready=ready)
        self.scheduler.world.put_node(self.nodes[name])
        self.scheduler.wake(WakeEvent.NODE_CHANGED, "placed", self.now)

    @rule(name=hosts)
    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.scheduler.world.drop_node(name)

    # What the cluster does

    @rule(name=names)
    def check_is_ready(self, name: str) -> None:
        one = self.known.get(f"{DEFAULT}/{name}")
        if one is not None and one.reserved and one.queue == "later" and not one.evicted:
            self.put(replace(one, status=replace(one.status, checks=(Check("nodes", "Ready"),))))
            self.is_what_the_objects_make_it()
            self.run(1)

    @rule(name=names, host=hosts)
    def node_fails(self, name: str, host: str) -> None:
        one = self.known.get(f"{DEFAULT}/{name}")
        if one is not None and one.admitted and not one.evicted:
            self.put(replace(one, status=replace(one.status, unhealthy=(host,))))
            self.is_what_the_objects_make_it()
            self.run(1)

    @rule()
    def victims_stop(self) -> None:
        for one in [one for one in self.known.values() if one.evicted and one.reserved]:
            self.put(stopped(one, self.now))
            self.scheduler.wake(WakeEvent.WORKLOAD_EVICTED, one.queue, self.now)
        self.run(1)

    @rule(cycles=st.integers(1, 3), fails=st.booleans(), seconds=st.integers(0, 40))
    def run(self, cycles: int, fails: bool = False, seconds: int = 2) -> None:
        """Some cycles; what is admitted is written, or the write fails."""
        for _ in range(cycles):
            self.now += seconds
            self.scheduler.tick(self.now)
            changed: dict[str, Workload] = {}
            for decision in self.scheduler.cycle(self.now):
                assert not isinstance(decision, Replace)
                if isinstance(decision, Admit) and fails:
                    self.scheduler.failed(decision.workload, self.now)
                elif isinstance(decision, Admit | Preempt | Wait | Evict):
                    one, _ = carried_out(self.scheduler.world, decision, self.now)[0]
                    changed[one.key] = one
            for key in sorted(changed):
                self.put(changed[key])

    # What holds

    @invariant()
    def is_what_the_objects_make_it(self) -> None:
        rebuilt = self.built()
        assert usage(self.scheduler) == usage(rebuilt)
        assert room(self.scheduler) == room(rebuilt)
        assert in_line(self.scheduler) == in_line(rebuilt)
        assert self.scheduler.second_pass.keys() == rebuilt.second_pass.keys()

    @invariant()
    def everybody_stands_where_they_belong(self) -> None:
        held = {key for key, one in self.known.items() if one.reserved}
        assert set(self.scheduler.world.ledger.holdings) == held
        assert not any(self.scheduler.world.ledger.is_assumed(key) for key in held)
        for key, one in self.known.items():
            waits = one.active and not one.reserved
            assert (self.scheduler.pending.get(key) is not None) == (waits and one.queue in self.queues)
            assert (key in self.scheduler.pending.without_queue) == (waits and one.queue in self.gone)


def usage(scheduler: Scheduler) -> dict[str, dict[tuple[str, str], int]]:
    tree = scheduler.world.tree
    return {
        repr(node): {fr: amount for fr, amount in node.usage.items() if amount}
        for node in [*tree.queues.values(), *tree.cohorts.values()]
    }


def room(scheduler: Scheduler) -> dict[str, object]:
    return {name: columns(mirror.snapshot) for name, mirror in scheduler.world.views.items()}


def in_line(scheduler: Scheduler) -> dict[str, list[tuple[object, ...]]]:
    return {
        name: sorted((*one.order, one.key, one.equivalence_key) for one in [*line.ready(), *line.all_parked()])
        for name, line in scheduler.pending.queues.items()
    }


TestEvents = Events.TestCase
TestEvents.settings = settings(max_examples=40, stateful_step_count=30)
