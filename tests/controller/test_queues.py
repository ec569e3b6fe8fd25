"""How often the status of a queue is written: once per second, and less often when the server is slow.

That a queue has become empty or non-empty is written sooner, and before further decisions.
"""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.port import Change, Key, Update
from closeknit.controller.queues import BATCH, LONGEST_BATCH, PROMPT, SPARING, PromptQueueStatus, QueueStatusReconciler
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.cluster_cache import ClusterCache
from closeknit.write.events import Recorder
from closeknit.write.in_flight import Flight

QUEUE: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {
        "name": "cq",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
    },
    "spec": {"resourceGroups": []},
}


class Harness:
    """The reconciler of one queue whose counts change all the time."""

    def __init__(self) -> None:
        self.time = 100.0
        self.cache = ClusterCache(Gates.profile(), Settings(), lambda: self.time)
        self.reconciler = QueueStatusReconciler(self.cache, Recorder())
        self.number = 0
        self.see()

    def see(self) -> None:
        self.cache.tally.queues["cq"].reserving += 1
        self.number += 1
        raw = {**QUEUE, "metadata": {**QUEUE["metadata"], "resourceVersion": str(self.number)}}
        change = Change(self.number, "MODIFIED" if self.number > 1 else "ADDED", kinds.CLUSTER_QUEUE, raw)
        self.cache.see(change)
        self.reconciler.see(change)

    def write(self) -> Flight[Key]:
        (found,) = self.reconciler.step(self.time)
        return found

    def answered(self, flight: Flight[Key], after: float) -> None:
        self.time += after
        self.reconciler.done(flight, {}, self.time)


@pytest.mark.parametrize(
    ("took", "pause"),
    [(0.001, BATCH), (BATCH / SPARING, BATCH), (2 * BATCH / SPARING, 2 * BATCH), (60.0, LONGEST_BATCH)],
)
def test_the_next_status_waits_as_the_last_one_took(took: float, pause: float) -> None:
    one = Harness()
    begin = one.time
    one.answered(one.write(), took)
    one.see()
    due = one.reconciler.due()
    assert due == pytest.approx(max(one.time, begin + pause))


def test_a_change_during_a_status_write_in_flight_waits_as_well() -> None:
    one = Harness()
    begin, write = one.time, one.write()
    one.time += BATCH
    one.see()
    assert list(one.reconciler.step(one.time)) == []
    assert one.reconciler.due() is None
    one.answered(write, 0.5)
    assert one.reconciler.due() == pytest.approx(begin + LONGEST_BATCH)


LOCAL: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "lq", "namespace": "default", "uid": "l", "resourceVersion": "1", "generation": 1},
    "spec": {"clusterQueue": "cq"},
}


class Arrivals(Harness):
    """The same with workloads that are added and removed."""

    def __init__(self) -> None:
        super().__init__()
        self.flips, self.said = PromptQueueStatus(self.reconciler), 0
        self.tell(Change(2, "ADDED", kinds.LOCAL_QUEUE, LOCAL))
        self.answer()
        self.time += BATCH
        self.answer()

    def tell(self, change: Change) -> None:
        self.cache.see(change)
        self.reconciler.see(change)

    def arrive(self, name: str, type_: Any = "ADDED") -> None:
        meta = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1", "generation": 1}
        self.tell(Change(3, type_, kinds.WORKLOAD, {"metadata": meta, "spec": {"queueName": "lq", "podSets": []}}))

    def answer(self) -> None:
        """Write everything that is due now, and show it."""
        for part in (self.flips, self.reconciler):
            while (at := part.due()) is not None and at <= self.time:
                for flight in part.step(self.time):
                    write = flight.write
                    assert isinstance(write, Update)
                    part.done(flight, write.body, self.time)
                    self.tell(Change(4, "MODIFIED", write.kind, write.body))
                    if write.kind is kinds.CLUSTER_QUEUE:
                        self.said = write.body["status"]["pendingWorkloads"]


def test_a_queue_that_becomes_non_empty_reports_it_promptly() -> None:
    arrivals = Arrivals()
    arrivals.time += 10
    arrivals.arrive("first")
    assert arrivals.reconciler.due() == arrivals.time
    assert arrivals.flips.due() == arrivals.time + PROMPT
    arrivals.time += PROMPT
    arrivals.answer()
    assert arrivals.said == 1


def test_a_slow_server_does_not_delay_that_report() -> None:
    arrivals = Arrivals()
    arrivals.reconciler.batches.seconds = LONGEST_BATCH
    arrivals.arrive("first")
    assert arrivals.reconciler.due() == pytest.approx(arrivals.time + LONGEST_BATCH)
    arrivals.time += BATCH
    arrivals.answer()
    assert arrivals.said == 1


def test_further_pending_workloads_wait_for_the_next_status() -> None:
    arrivals = Arrivals()
    arrivals.time += 10
    arrivals.arrive("first")
    arrivals.answer()
    arrivals.arrive("second")
    assert arrivals.flips.due() is None
    assert arrivals.reconciler.due() == pytest.approx(arrivals.time + BATCH)


def test_a_queue_that_becomes_empty_reports_it_before_decisions_are_made() -> None:
    arrivals = Arrivals()
    arrivals.arrive("first")
    arrivals.time += BATCH
    arrivals.answer()
    arrivals.arrive("first", "DELETED")
    arrivals.time += BATCH
    assert arrivals.flips.due() == arrivals.time
    arrivals.answer()
    assert arrivals.said == 0


@pytest.mark.parametrize(("still_running", "pause"), [(0, BATCH), (1, LONGEST_BATCH)])
def test_on_a_slow_server_the_end_of_all_work_is_prompt_but_not_the_end_of_a_wait(
    still_running: int, pause: float
) -> None:
    arrivals, key = Arrivals(), Key(kinds.CLUSTER_QUEUE, "", "cq")
    arrivals.cache.tally.queues["cq"].reserving = 1
    arrivals.arrive("first")
    arrivals.time += 10
    arrivals.answer()
    arrivals.reconciler.batches.seconds = LONGEST_BATCH
    arrivals.cache.tally.queues["cq"].reserving = still_running
    arrivals.arrive("first", "DELETED")
    assert arrivals.reconciler.flipped[key] == arrivals.time + pause


def test_what_passes_by_is_not_worth_a_status() -> None:
    """A workload that is added and removed again before the status is due."""
    arrivals = Arrivals()
    arrivals.arrive("first")
    arrivals.arrive("first", "DELETED")
    arrivals.time += BATCH
    assert list(arrivals.flips.step(arrivals.time)) == []
    assert arrivals.flips.due() is None
