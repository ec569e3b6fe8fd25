"""Jobs as Workloads: queue, priority, minimum number of pods, quota usage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.dialects.kueue.jobs import GivenJob, requests
from closeknit.model.gates import Gates
from closeknit.model.limit_range import LimitRange
from closeknit.model.request import Constraint, Group, Request
from closeknit.model.workload import Workload
from closeknit.observe.workloads import Surroundings, workload_of

from .written import GPU, KUEUE, QUEUE, RACK, job, pod, template

GATES = Gates.profile()
CLASS = "kueue.x-k8s.io/priority-class"


def only(raw: dict[str, Any]) -> GivenJob:
    (found,) = requests([("job.yaml", raw)], GATES).jobs
    return found


def made(raw: dict[str, Any], around: Surroundings | None = None, gates: Gates = GATES) -> Workload:
    found = workload_of(only(raw), around or Surroundings(), gates, 7.0)
    assert isinstance(found, Workload), found
    return found


def wrong(raw: dict[str, Any], around: Surroundings) -> list[str]:
    found = workload_of(only(raw), around, GATES, 7.0)
    assert not isinstance(found, Workload)
    return [str(one) for one in found]


def test_name_queue_time_and_pods_are_those_of_the_job() -> None:
    one = made(job("name", 3, uid="uid", gpus=2, level=RACK))
    assert (one.key, one.local_queue, one.created, one.job_uid) == (
        "default/job-name-ef3a1",
        "default/main",
        7.0,
        "uid",
    )
    (part,), (pod_set,) = one.parts, one.request.pod_sets
    assert (part.name, pod_set.count, part.requests) == ("main", 3, {GPU: 2})
    assert pod_set.constraint == Constraint(required=RACK)
    assert dict(pod_set.shape.containers[0].requests) == {GPU: 2}


def test_a_job_may_start_with_fewer_pods_if_the_gate_allows_it() -> None:
    raw = job("train", 8, annotations={"kueue.x-k8s.io/job-min-parallelism": "5"})
    assert made(raw).parts[0].min_count == 5
    without = Gates.profile(changes={"PartialAdmission": False})
    assert made(raw, gates=without).parts[0].min_count is None


def test_run_time_limit_and_gates_are_read_too() -> None:
    labels = {"kueue.x-k8s.io/max-exec-time-seconds": "60"}
    one = made(job("train", labels=labels, annotations={"kueue.x-k8s.io/admission-gated-by": "clerk"}))
    assert (one.max_seconds, one.gated_by) == (60, "clerk")


def test_a_lone_pod_is_recognised() -> None:
    assert made(pod("alone", labels={QUEUE: "main"})).owned_by_pod
    assert not made(job("train")).owned_by_pod


def test_pod_sets_keep_the_order_of_the_job_and_their_group() -> None:
    level = {"kueue.x-k8s.io/podset-required-topology": RACK, "kueue.x-k8s.io/podset-group-name": "g"}

    def replicated(name: str, pods: int, annotations: dict[str, str]) -> dict[str, Any]:
        inner = template()
        inner["metadata"] = {"annotations": annotations}
        return {"name": name, "template": {"spec": {"parallelism": pods, "completions": pods, "template": inner}}}

    jobs = [replicated("leader", 1, level), replicated("extra", 2, {}), replicated("workers", 4, level)]
    raw = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "labels": {QUEUE: "main"}},
        "spec": {"replicatedJobs": jobs},
    }
    one = made(raw)
    assert [part.name for part in one.parts] == ["leader", "extra", "workers"]
    assert [(group.name, [each.name for each in group.pod_sets]) for group in one.request.groups] == [
        ("g", ["leader", "workers"]),
        (None, ["extra"]),
    ]


def test_a_tree_of_groups_is_carried_with_the_shapes_that_the_cluster_gives_its_pods() -> None:
    asked = only(job("train", 3))
    (main,) = asked.request.pod_sets
    tree = Request((Group((Group((main,), "inner", Constraint(preferred=RACK)),), "outer", Constraint(required=RACK)),))
    limits = LimitRange("Container", default_request={"cpu": 250})
    one = workload_of(replace(asked, request=tree), Surroundings(limit_ranges={"default": [limits]}), GATES, 7.0)
    assert isinstance(one, Workload)
    assert one.request.outline == tree.outline
    assert [dict(each.shape.requests) for each in one.request.pod_sets] == [{GPU: 1, "cpu": 250}]


def test_a_workload_that_is_given_keeps_its_priority_and_its_least_numbers() -> None:
    spec = {
        "queueName": "main",
        "priority": -3,
        "podSets": [{"name": "a", "count": 4, "minCount": 2, "template": template()}],
    }
    raw = {"apiVersion": KUEUE, "kind": "Workload", "metadata": {"name": "w"}, "spec": spec}
    one = made(raw)
    assert (one.key, one.priority, one.parts[0].min_count) == ("default/w", -3, 2)


# Queue


def test_without_a_queue_the_default_one_is_taken_if_there_is_one() -> None:
    around = Surroundings(local_queues={"default": ["main", "default"]})
    assert made(job("train", queue=None), around).queue == "default"
    assert made(job("train"), around).queue == "main"


def test_without_any_queue_the_remedy_names_those_of_the_namespace() -> None:
    text = wrong(job("train", queue=None), Surroundings(local_queues={"default": ["a", "b"], "team": ["c"]}))[0]
    assert text.endswith("give one of the LocalQueues of namespace default: a, b")
    text = wrong(job("train", queue=None, namespace="empty"), Surroundings())[0]
    assert text.endswith("namespace empty has no LocalQueue: create one, and name it here")


# Priority: one line of the order in which it is looked for each


@pytest.mark.parametrize(
    ("raw", "around", "priority"),
    [
        (job("j", labels={CLASS: "high"}, priorityClassName="pods"), {}, 10),
        (job("j", priorityClassName="pods"), {"workload_classes": {"default": 3}}, 3),
        (job("j", priorityClassName="pods"), {}, 20),
        (job("j", priorityClassName="system-node-critical"), {}, 2_000_001_000),
        (job("j"), {}, 5),
        (job("j"), {"default_priority": None}, 0),
    ],
    ids=["label", "default-class", "pods", "built-in", "global-default", "nothing"],
)
def test_priority_is_looked_up_in_order(raw: dict[str, Any], around: dict[str, Any], priority: int) -> None:
    known = Surroundings(workload_classes={"high": 10}, default_priority=5)
    known.pod_classes["pods"] = 20
    for key, value in around.items():
        setattr(known, key, value)
    assert made(raw, known).priority == priority


def test_a_training_job_names_one_class_for_all_or_takes_the_first_of_its_templates() -> None:
    def training(policy: dict[str, Any], master: str, worker: str) -> dict[str, Any]:
        def replicas(name: str) -> dict[str, Any]:
            return {"replicas": 1, "template": template(priorityClassName=name)}

        spec = {"pytorchReplicaSpecs": {"Master": replicas(master), "Worker": replicas(worker)}, **policy}
        meta = {"name": "t", "labels": {QUEUE: "main"}}
        return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta, "spec": spec}

    known = Surroundings(pod_classes={"all": 1, "worker": 2})
    policy = {"runPolicy": {"schedulingPolicy": {"priorityClass": "all"}}}
    assert made(training(policy, "", "worker"), known).priority == 1
    assert made(training({}, "", "worker"), known).priority == 2


def test_of_other_jobs_only_the_first_template_counts() -> None:
    inner = [
        {"name": name, "template": {"spec": {"template": template(priorityClassName=class_name)}}}
        for name, class_name in (("a", ""), ("b", "pods"))
    ]
    raw = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "labels": {QUEUE: "main"}},
        "spec": {"replicatedJobs": inner},
    }
    assert made(raw, Surroundings(pod_classes={"pods": 9}, default_priority=4)).priority == 4


def test_a_class_that_does_not_exist_is_a_mistake_with_the_nearest_one() -> None:
    around = Surroundings(workload_classes={"high": 10, "low": 1})
    (text,) = wrong(job("train", labels={CLASS: "hihg"}), around)
    assert text == (
        f'job.yaml: Job default/train: metadata.labels[{CLASS}]: is "hihg", but there is no such '
        "WorkloadPriorityClass; did you mean high? use one of: high, low"
    )
    (text,) = wrong(job("train", priorityClassName="gone"), around)
    assert text.endswith("the cluster has no PriorityClass: create it")


# What the cluster adds


def test_defaults_of_the_namespace_count() -> None:
    around = Surroundings(limit_ranges={"default": [LimitRange("Container", default_request={"cpu": 250})]})
    assert made(job("train"), around).parts[0].requests == {GPU: 1, "cpu": 250}
    assert made(job("train", namespace="other"), around).parts[0].requests == {GPU: 1}


def test_a_runtime_class_costs_its_overhead() -> None:
    around = Surroundings(runtime_classes={"vm": {"cpu": 100}})
    whole = made(job("train", runtimeClassName="vm"), around)
    one, pod_set = whole.parts[0], next(whole.request.pod_sets)
    assert one.requests == {GPU: 1, "cpu": 100}
    assert dict(pod_set.shape.requests) == {GPU: 1, "cpu": 100}, "placement goes by it, too"


def test_a_template_to_which_nothing_is_added_stays_the_very_same() -> None:
    given = template()
    assert Surroundings().template("default", given) is given
