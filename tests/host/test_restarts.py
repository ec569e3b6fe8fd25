"""A host killed in the middle of something completes it after the next start."""

from __future__ import annotations

import pytest
import yaml

from closeknit.cluster import kinds
from closeknit.cluster.kinds import kind_of
from closeknit.cluster.port import Key
from host.centre import centre
from host.jobs_of_each_kind import JOB, JOB_SET, MPI_JOB, RAY_JOB, TRAIN_JOB, Case
from host.lab import Lab
from host.test_job_lives import LONG, QUEUE, only, running


def delete(lab: Lab, case: Case) -> None:
    for raw in filter(None, yaml.safe_load_all(case.manifest)):
        kind = kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None
        lab.delete(kind, "default", raw["metadata"]["name"])


def killed(lab: Lab, changes: int) -> None:
    """Kill the host after that many more changes, or after a minute."""
    end, seen = lab.clock.time + 60, lab.store.version
    while lab.clock.time < end and not lab.run_until(seen + changes - lab.store.version):
        due = lab.cluster.run(1)
        lab.clock.time = end if due is None else max(lab.clock.time, min(due, end))
    lab.restart()


@pytest.mark.parametrize("case", [JOB, JOB_SET, MPI_JOB, TRAIN_JOB, RAY_JOB], ids=lambda case: case.name)
def test_whatever_point_of_a_deletion_a_kill_comes_at_nothing_is_left(case: Case) -> None:
    long = case._replace(manifest=case.manifest.replace("20s", "1h"))
    for changes in range(1, 24, 2):
        lab = running(long.manifest)
        delete(lab, long)
        killed(lab, changes)
        lab.advance(400)
        left = [one["metadata"]["name"] for kind in (kinds.POD, kinds.JOB, kinds.WORKLOAD) for one in lab.all(kind)]
        assert left == [], f"killed after {changes} changes"


def test_a_pod_that_its_job_left_behind_can_be_deleted() -> None:
    lab = running()
    lab.store.delete(Key(kinds.JOB, "default", "one"), propagation="Orphan")
    lab.settle()
    assert len(lab.pods()) == 5
    for pod in lab.pods():
        lab.delete(kinds.POD, "default", pod["metadata"]["name"])
    lab.advance(60)
    assert lab.pods() == []


def test_a_class_that_changed_just_before_a_kill_gives_its_value_to_every_workload_of_it() -> None:
    lab = running(LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/priority-class: high"))
    lab.patch(kinds.WORKLOAD_PRIORITY_CLASS, "", "high", {"value": 7})
    lab.restart()
    lab.advance(5)
    assert only(lab)["spec"]["priority"] == 7


def test_a_restart_at_rest_writes_nothing() -> None:
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    before = lab.store.version
    lab.restart()
    lab.settle()
    assert lab.store.version == before
