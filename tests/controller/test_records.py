"""The diary of decisions: evictions of every cause are in it, and nobody is said to wait for the same reason twice."""

from __future__ import annotations

from closeknit.cluster import kinds
from closeknit.controller.records import Diary, Record
from closeknit.host.embedded import EmbeddedCluster, Options
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab


def record(outcome: str, reason: str, workload: str = "ns/a") -> Record:
    return Record(1.0, workload, outcome, "", "", (), reason, 1)


def test_waiting_for_the_same_reason_is_written_once() -> None:
    kept: list[Record] = []
    diary = Diary(kept.append)
    told = [("Waits", "x"), ("Waits", "x"), ("Waits", "y"), ("Admitted", ""), ("Waits", "y"), ("Waits", "y")]
    for outcome, reason in told:
        diary.write(record(outcome, reason))
    diary.write(record("Waits", "y", "ns/b"))
    assert [(one.workload, one.outcome, one.reason) for one in kept] == [
        ("ns/a", "Waits", "x"),
        ("ns/a", "Waits", "y"),
        ("ns/a", "Admitted", ""),
        ("ns/a", "Waits", "y"),
        ("ns/b", "Waits", "y"),
    ]


def test_an_eviction_by_a_queue_that_drains_is_in_the_diary() -> None:
    kept: list[Record] = []
    lab = Lab()
    lab.cluster = EmbeddedCluster(lambda: lab.clock, Options(seed=1), keep=kept.append)
    lab.cluster.begin()
    centre(lab)
    lab.apply(JOB.manifest.replace("20s", "1h"))
    lab.advance(5)
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "HoldAndDrain"}})
    lab.advance(30)
    assert [(one.outcome, one.queue, one.reason) for one in kept] == [
        ("Admitted", "cq", ""),
        ("Evicted", "cq", "ClusterQueueStopped: The ClusterQueue is stopped"),
    ]
