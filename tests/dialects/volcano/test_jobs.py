"""Volcano's Jobs: pods planned from tasks, and partitions as sub-groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.model.request import Constraint
from dialects.objects import Raw, gang, named, pod, pods_of, read, said, tree

MANIFESTS = Path(__file__).parents[4] / "shared/manifests/volcano"


def task(name: str = "t0", replicas: int = 4, **more: Any) -> Raw:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    return {"name": name, "replicas": replicas, "template": template, **more}


def job(*tasks: Raw, **spec: Any) -> Raw:
    return named("batch.volcano.sh/v1alpha1", "Job", "j", {"tasks": list(tasks), **spec})


def test_the_pods_of_a_job_are_planned_from_its_tasks() -> None:
    found = gang(job(task("ps", 1), task("w", 2)))
    assert (found.name, found.queue, found.missing) == ("j", "default", 0)
    [group] = found.request.groups
    assert pods_of(group) == {"j": ("j-ps-0", "j-w-0", "j-w-1")}
    assert group.min_pods == 3


def test_pods_that_exist_are_used_instead() -> None:
    mine = pod("j-t0-0", node="n1", labels={"volcano.sh/job-name": "j"})
    found = tree(job(task(replicas=2), minAvailable=1), mine)
    [only] = found.pod_sets
    assert (only.running, only.count, found.min_pods) == (("n1",), 0, 1)


def test_a_job_whose_pod_group_exists_is_read_once() -> None:
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "1"}
    made = named("scheduling.volcano.sh/v1beta1", "PodGroup", "j-1", {"minMember": 1}, ownerReferences=[owner])
    assert gang(job(task()), made).name == "j-1"


def test_partitions_are_sub_groups_of_consecutive_pods() -> None:
    rack = {"mode": "hard", "highestTierAllowed": 1}
    cut = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1, "networkTopology": rack}
    found = tree(job(task(partitionPolicy=cut), minAvailable=2))
    assert (found.min_groups, found.min_total) == (1, None)
    assert pods_of(found) == {"t0/0": ("j-t0-0", "j-t0-1"), "t0/1": ("j-t0-2", "j-t0-3")}
    assert {one.constraint for one in found.groups} == {Constraint("tier-1", topology="hypernodes")}


def test_the_least_of_each_task_counts_where_the_job_needs_as_many() -> None:
    found = tree(job(task("ps", 2, minAvailable=1), task("w", 4, minAvailable=2), minAvailable=4))
    assert [(one.name, one.min_pods) for one in found.groups] == [("ps", 1), ("w", 2)]
    assert found.min_total == 4


def test_without_a_minimum_the_job_needs_those_of_its_tasks() -> None:
    found = tree(job(task("ps", 1), task("w", 4, minAvailable=2)))
    assert [(one.name, one.min_pods) for one in found.groups] == [("ps", 1), ("w", 2)]


def test_tasks_without_a_name_are_named_after_their_place() -> None:
    found = tree(job(task("", 1), task("", 1)))
    assert pods_of(found) == {"j": ("j-default0-0", "j-default1-0")}


def test_pods_that_succeeded_count_for_the_job_and_their_task() -> None:
    def own(name: str, of: str, phase: str = "") -> Raw:
        return pod(name, phase=phase, labels={"volcano.sh/job-name": "j", "volcano.sh/task-spec": of})

    parts = task("ps", 2, minAvailable=1), task("w", 2)
    found = gang(
        job(*parts), own("j-ps-0", "ps"), own("j-ps-1", "ps"), own("j-w-0", "w"), own("j-w-1", "w", "Succeeded")
    )
    assert found.missing == 0
    assert [(one.name, one.min_pods) for one in found.request.groups[0].groups] == [("ps", 1), ("w", 1)]


def test_a_pod_group_of_another_namespace_does_not_stand_for_the_job() -> None:
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "1"}
    spec = {"minMember": 1}
    made = named("scheduling.volcano.sh/v1beta1", "PodGroup", "x", spec, namespace="b", ownerReferences=[owner])
    assert [one.key for one in read(job(task()), made).gangs] == ["b/x", "default/j"]


def test_pod_sets_have_names_of_their_own_where_a_task_is_named_like_the_job() -> None:
    labels = {"volcano.sh/job-name": "j"}
    members = [pod("a", labels=labels), *(pod(name, labels={**labels, "volcano.sh/task-spec": "j"}) for name in "bc")]
    found = tree(job(task("j", 3, minAvailable=1), minAvailable=2), *members)
    assert pods_of(found) == {"j": ("a",), "j/j": ("b", "c")}


@pytest.mark.parametrize(
    ("wrong", "mistake"),
    [
        (
            job(task(), minAvailable=5),
            "spec.minAvailable: is 5, but the tasks have 4 pods; use at most 4, or more replicas",
        ),
        (job(task(minAvailable=5)), "spec.tasks[0].minAvailable: is 5, but the task has 4 pods; use at most 4"),
        (job(task(), task()), "spec.tasks[1].name: t0 is the name of two tasks; rename one of them"),
        (
            job(task(partitionPolicy={"totalPartitions": 3, "partitionSize": 2})),
            "spec.tasks[0].partitionPolicy: makes 3 partitions of 2, but the task has 4 pods; "
            "their product has to be the number of replicas",
        ),
        (
            job(task(partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 3})),
            "spec.tasks[0].partitionPolicy.minPartitions: is 3, but there are 2 partitions; use at most 2",
        ),
        (
            job(task(partitionPolicy={"totalPartitions": 4})),
            "spec.tasks[0].partitionPolicy.partitionSize: is missing; "
            "give it: totalPartitions times partitionSize is the number of replicas",
        ),
        (
            job(task(replicas=20_000, partitionPolicy={"totalPartitions": 20_000, "partitionSize": 1})),
            "spec.tasks[0].partitionPolicy.totalPartitions: is 20000; at most 10000 groups are supported",
        ),
        (job(), "spec.tasks: is missing; list the tasks, each with name, replicas and template"),
        (
            job(task(partitionpolicy={})),
            "spec.tasks[0].partitionpolicy: is not a known field; did you mean partitionPolicy?",
        ),
    ],
)
def test_a_job_that_cannot_run_as_written_is_refused(wrong: Raw, mistake: str) -> None:
    found = read(wrong)
    assert said(found) == [f"Job j: {mistake}"]
    assert found.gangs == ()


def test_the_published_examples_are_read() -> None:
    if not MANIFESTS.is_dir():
        pytest.skip(f"SKIPPED, LOUDLY: no published examples at {MANIFESTS}")
    files = sorted(MANIFESTS.glob("*.yaml"))
    objects = [(file.name, raw) for file in files for raw in yaml.safe_load_all(file.read_text())]
    found = [read(raw, nodes=None) for _, raw in objects]
    assert [len(one.gangs) for one in found] == [0, 1, 1, 1]
    assert [one.mistakes for one in found] == [(), (), (), ()]
    [cut] = found[2].gangs[0].request.groups
    assert [(one.name, one.min_pods) for one in cut.groups] == [("t0/0", 4), ("t0/1", 4)]
    assert (cut.min_groups, cut.min_total) == (1, None)
    assert cut.constraint == Constraint("tier-2", "tier-1", topology="hypernodes")
