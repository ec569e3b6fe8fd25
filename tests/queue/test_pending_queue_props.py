"""A line with classes and stale heap entries takes and parks as a plain list would."""

from __future__ import annotations

from collections.abc import Hashable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.pending_queue import PendingQueue
from closeknit.queue.pending_workload import PendingWorkload, pending_workload
from decide.objects import workload

names = st.sampled_from([f"w{at}" for at in range(6)])
sizes = st.integers(1, 2)
times = st.integers(0, 9)
reasons = st.sampled_from(["quota", "place"])


def entry(name: str, size: int, time: int) -> PendingWorkload:
    return pending_workload(workload(name, requests=size, created=float(time)), "a", Settings(), Gates.profile())


class Lists(RuleBasedStateMachine):
    """The model: ready workloads, workloads parked alone and why, classes parked and why."""

    def __init__(self) -> None:
        super().__init__()
        self.line = PendingQueue("a", "BestEffortFIFO")
        self.members: dict[str, PendingWorkload] = {}
        self.alone: dict[str, tuple[PendingWorkload, str]] = {}
        self.classes: dict[Hashable, str] = {}

    @rule(name=names, size=sizes, time=times)
    def push(self, name: str, size: int, time: int) -> None:
        one = entry(name, size, time)
        self.line.push(one)
        self.alone.pop(one.key, None)
        self.members[one.key] = one

    @rule(name=names, size=sizes, time=times, why=reasons)
    def park(self, name: str, size: int, time: int, why: str) -> None:
        one = entry(name, size, time)
        self.line.park(one, why)
        self.members.pop(one.key, None)
        self.alone[one.key] = (one, why)

    @rule(name=names, size=sizes, time=times, why=reasons)
    def park_class(self, name: str, size: int, time: int, why: str) -> None:
        one = entry(name, size, time)
        self.line.park_class(one, why)
        self.alone.pop(one.key, None)
        self.members[one.key] = one
        self.classes[one.equivalence_key] = why

    @rule(name=names)
    def drop(self, name: str) -> None:
        key = f"default/{name}"
        found = self.line.drop(key)
        known = self.members.pop(key, None) or self.alone.pop(key, (None, ""))[0]
        assert found is known

    @rule()
    def pop(self) -> None:
        best = min(self.ready(), key=lambda one: one.order, default=None)
        found = self.line.pop()
        assert (None if found is None else found.order[:2]) == (None if best is None else best.order[:2])
        if found is not None:
            del self.members[found.key]

    @rule(why=reasons)
    def wake(self, why: str) -> None:
        woken = [one for one in self.members.values() if self.classes.get(one.equivalence_key) == why]
        self.classes = {key: each for key, each in self.classes.items() if each != why}
        back = [one for one, each in self.alone.values() if each == why]
        assert self.line.wake(lambda _: True, lambda each: each == why) == len(woken) + len(back)
        for one in back:
            del self.alone[one.key]
            self.members[one.key] = one

    def ready(self) -> list[PendingWorkload]:
        return [one for one in self.members.values() if one.equivalence_key not in self.classes]

    @invariant()
    def agrees_with_the_model(self) -> None:
        ready = {one.key for one in self.ready()}
        parked = {*self.alone, *(key for key in self.members if key not in ready)}
        assert {one.key for one in self.line.ready()} == ready
        assert {one.key for one in self.line.all_parked()} == parked
        assert self.line.is_ready == bool(ready)
        assert len(self.line) == len(ready) + len(parked)


TestLists = Lists.TestCase
TestLists.settings = settings(max_examples=40, stateful_step_count=30)
