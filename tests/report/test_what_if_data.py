"""A story as data."""

from __future__ import annotations

from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME
from closeknit.report.what_if_data import as_data
from decide.objects import DEFAULT, GPU, queue, scheduler, workload
from decide.test_what_if import RACK, checked, racks, running

from .test_what_if import BY_PRIORITY, answer


def test_data_of_an_admission_has_flavors_and_places() -> None:
    found = as_data(answer(racks(), [workload("one", count=3, constraint=Constraint(required=RACK))]))
    assert (found["now"], found["admitted"], found["cut"], found["waiting"]) == ("then", True, False, [])
    (job,) = found["jobs"]
    assert job["job"] == {"kind": "Job", "namespace": "default", "name": "one", "file": "j.yaml"}
    assert (job["workload"], job["state"], job["clusterQueue"]) == ("default/one", "Admitted", "a")
    (pod_set,) = job["podSets"]
    assert (pod_set["flavors"], pod_set["resources"], pod_set["level"]) == ({GPU: DEFAULT}, {GPU: 3}, HOSTNAME)
    assert pod_set["domains"] == [{"path": ["r-n1", "n1"], "pods": 3}]
    assert pod_set["assignment"]["levels"] == [HOSTNAME]
    (step,) = found["steps"]
    assert (step["step"], step["kind"], step["podSets"]) == (1, "Admitted", job["podSets"])


def test_data_of_a_preemption_has_the_exact_words() -> None:
    built = scheduler([queue("a", 10, preemption=BY_PRIORITY)])
    found = as_data(answer(built, [workload("high", count=8, priority=5)], running("low", 6)))
    step = found["steps"][0]
    assert (step["kind"], step["reason"], step["by"]["workload"]) == ("Preempted", "InClusterQueue", "default/high")
    assert step["message"] == (
        "Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; "
        "preemptor path: /a; preemptee path: /a"
    )
    (waits,) = found["waiting"]
    assert (waits["workload"], waits["reason"], waits["holdsQuota"]) == ("default/low", "WaitingForQuota", False)
    assert waits["message"].endswith("4 more needed")
    assert not waits["remedy"], "explain would speak of the present, in which it runs"


def test_data_of_a_workload_with_quota_that_waits() -> None:
    found = as_data(answer(checked(), [workload("one")], checks_ready=False))
    (job,) = found["jobs"]
    assert (job["state"], job["reason"], found["admitted"]) == ("QuotaReserved", "UnsatisfiedAdmissionChecks", False)
    assert found["waiting"][0]["holdsQuota"]


def test_data_of_one_that_is_like_another_names_it() -> None:
    alike = [workload(f"like-{number}", count=3, created=float(number)) for number in range(2)]
    found = as_data(answer(scheduler([queue("a", 4)]), alike, running("old", 2)))
    assert found["jobs"][1]["like"]["workload"] == "default/like-0"
    assert found["jobs"][1]["like"]["message"] == found["jobs"][0]["message"]


def test_data_names_queues_that_admit_nothing() -> None:
    found = as_data(answer(scheduler([queue("a", 4, stop="Hold")]), [workload("one")]))
    assert [(one["clusterQueue"], one["reason"]) for one in found["inactive"]] == [("a", "Stopped")]


def test_data_of_a_pending_workload_names_its_queue() -> None:
    found = as_data(answer(scheduler([queue("a", 4)]), [workload("big", count=9)]))
    assert (found["jobs"][0]["clusterQueue"], found["waiting"][0]["clusterQueue"]) == ("a", "a")
