"""The decision log has evictions of every cause, and does not repeat that a workload waits for the same reason."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.controller.decision_log import DecisionLog, Record, record_of, together
from closeknit.decide.decision import Admit
from closeknit.decide.plan import Plan
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Admission, PodSetAssignment
from decide.objects import workload
from decide.test_prospects import racks
from decide.test_what_if import RACK
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab
from host.late import Late


def record(outcome: str, reason: str, workload: str = "ns/a") -> Record:
    return Record(1.0, workload, outcome, "", "", (), reason, 1)


def test_waiting_for_the_same_reason_is_written_once() -> None:
    kept: list[Record] = []
    log = DecisionLog(kept.append)
    records = [("Waits", "x"), ("Waits", "x"), ("Waits", "y"), ("Admitted", ""), ("Waits", "y"), ("Waits", "y")]
    for outcome, reason in records:
        log.write(record(outcome, reason))
    log.write(record("Waits", "y", "ns/b"))
    assert [(one.workload, one.outcome, one.reason) for one in kept] == [
        ("ns/a", "Waits", "x"),
        ("ns/a", "Waits", "y"),
        ("ns/a", "Admitted", ""),
        ("ns/a", "Waits", "y"),
        ("ns/b", "Waits", "y"),
    ]


def test_an_eviction_that_was_decided_and_then_seen_is_written_once() -> None:
    kept: list[Record] = []
    log = DecisionLog(kept.append)
    for outcome, reason in (
        ("Evicted", "Workload was evicted"),
        ("Evicted", "NodeFailures: Workload was evicted"),
        ("Admitted", ""),
        ("Evicted", "Workload was evicted"),
    ):
        log.write(record(outcome, reason))
    assert [one.outcome for one in kept] == ["Evicted", "Admitted", "Evicted"]


def test_an_admission_without_places_says_how_many_pods_of_which_flavor() -> None:
    one = workload("part", count=20)
    given = PodSetAssignment("main", {"gpu": "spot"}, {"gpu": 5}, 5)
    found = record_of(Admit(one, Admission("a", (given,)), Plan([])), 1.0, 0.0)
    assert found is not None
    assert (found.level, found.domains, found.reason) == ("", (), "5 of 20 pods of spot")


def test_the_level_of_an_admission_is_the_lowest_that_holds_all_its_pods() -> None:
    world = racks(16).world
    assert together(world, ("n0", "n1"), HOSTNAME) == RACK
    assert together(world, ("n0",), HOSTNAME) == HOSTNAME
    assert together(world, ("n0", "n3"), HOSTNAME) == ""
    assert together(world, ("gone",), HOSTNAME) == HOSTNAME


def test_a_pending_workload_is_recorded_with_its_job_and_its_queue() -> None:
    kept: list[Record] = []
    lab = Lab()
    lab.decisions.listeners.append(kept.append)
    centre(lab)
    lab.apply(JOB.manifest.replace(": 5\n", ": 5000\n"))
    lab.advance(5)
    assert [(one.outcome, one.queue, one.job) for one in kept][:1] == [("Waits", "cq", "Job/one")]


def test_an_eviction_by_a_draining_queue_is_in_the_decision_log() -> None:
    kept: list[Record] = []
    lab = Lab()
    lab.decisions.listeners.append(kept.append)
    centre(lab)
    lab.apply(JOB.manifest.replace("20s", "1h"))
    lab.advance(5)
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "HoldAndDrain"}})
    lab.advance(30)
    assert [(one.outcome, one.queue, one.reason) for one in kept] == [
        ("Admitted", "cq", ""),
        ("Evicted", "cq", "ClusterQueueStopped: The ClusterQueue is stopped"),
    ]


def filling(name: str, pods: int, more: str = "") -> str:
    """A Job each of whose pods fills a host."""
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq{more}}}}}
spec:
  parallelism: {pods}
  completions: {pods}
  template:
    metadata: {{annotations: {{closeknit.dev/run-time: 600s}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: x, resources: {{requests: {{cpu: "4"}}}}}}]
"""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shown", [0.0, 1.0])
def test_a_preemption_is_in_the_decision_log_once_however_long_its_write_takes(seed: int, shown: float) -> None:
    kept: list[Record] = []
    lab = Lab()
    lab.decisions.listeners.append(kept.append)
    centre(lab)
    for number in range(4):
        lab.apply(filling(f"low{number}", 3))
    lab.advance(5)
    Late(lab.cluster, shown, 2.0, seed)
    for name, pods in (("high", 6), ("next", 3)):
        lab.apply(filling(name, pods, ", kueue.x-k8s.io/priority-class: high"))
    lab.advance(60)
    victims = sorted(one.job for one in kept if one.outcome == "Preempted")
    assert victims == ["Job/low0", "Job/low1", "Job/low3"]
