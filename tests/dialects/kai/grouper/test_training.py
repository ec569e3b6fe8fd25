"""PyTorchJob, MPIJob and the others of Kubeflow."""

from __future__ import annotations

from closeknit.dialects.kai import keys
from dialects.kai.jobs import (
    NETWORK,
    RACK,
    SEGMENTS_OF_2,
    SPEC,
    Raw,
    a_pytorch_job,
    a_training_job,
    an_object,
    constraints,
    group,
    mistakes,
    tree,
    warnings,
)


def an_mpi_job(inside: Raw | None = None, **spec: object) -> Raw:
    return a_training_job("MPIJob", "mpiReplicaSpecs", {"Launcher": 1, "Worker": 4}, inside, **spec)


def a_pod(role: str, index: int = 0) -> Raw:
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)}
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": "j"}
    return an_object("v1", "Pod", SPEC, f"{role}-{index}", labels=labels, ownerReferences=[owner])


def test_masters_and_workers_of_a_pytorch_job_are_sub_groups() -> None:
    one = group(a_pytorch_job())
    assert one.pod_group["spec"]["minMember"] == 5
    assert tree(one) == {"master": ("", 1, 1), "worker": ("", 4, 4)}


def test_an_elastic_job_needs_its_minimum_of_replicas() -> None:
    one = group(a_pytorch_job(elasticPolicy={"minReplicas": 2}))
    assert (one.pod_group["spec"]["minMember"], tree(one)["worker"]) == (2, ("", 1, 4))


def test_the_minimum_of_the_scheduling_policy_comes_before_that_of_the_elastic_one() -> None:
    policy = {"schedulingPolicy": {"minAvailable": 3}}
    one = group(a_pytorch_job(elasticPolicy={"minReplicas": 2}, runPolicy=policy))
    assert (one.pod_group["spec"]["minMember"], tree(one)["worker"]) == (3, ("", 2, 4))


def test_a_minimum_above_the_replicas_is_written_and_warned_of() -> None:
    job = a_pytorch_job(runPolicy={"schedulingPolicy": {"minAvailable": 9}})
    assert group(job).pod_group["spec"]["minMember"] == 9
    assert warnings(job) == [
        "f: PyTorchJob j: spec.runPolicy.schedulingPolicy.minAvailable: is 9, but there are only 5 pods: "
        "the group can never start; use at most 5"
    ]


def test_workers_in_segments_are_sub_groups_of_the_workers() -> None:
    one = group(a_pytorch_job(SEGMENTS_OF_2, workers=3), NETWORK)
    assert tree(one) == {
        "master": ("", 1, 1),
        "worker": ("", "2 groups", 0),
        "worker-0": ("worker", 2, 2),
        "worker-1": ("worker", 1, 1),
    }
    assert constraints(one) == {"worker-0": RACK, "worker-1": RACK}


def test_a_minimum_below_what_segments_need_is_warned_of() -> None:
    job = a_pytorch_job(SEGMENTS_OF_2, elasticPolicy={"minReplicas": 3})
    assert warnings(job) == [
        "f: PyTorchJob j: spec.elasticPolicy.minReplicas: leaves 2 of 4 workers out, "
        "but their segments need all of them; remove it, or the segments"
    ]


def test_pods_that_disagree_about_the_size_of_segments_are_refused() -> None:
    pods = [a_pod("worker", index) for index in range(2)]
    for pod, size in zip(pods, "12", strict=True):
        pod["metadata"]["annotations"] = {keys.SEGMENT_SIZE: size}
    assert mistakes(an_mpi_job(), *pods) == [
        'f: Pod worker-1: metadata.annotations[kai.scheduler/segment-size]: is "2", but other pods have "1"; '
        "use one size for all of them"
    ]


def test_too_many_segments_are_refused() -> None:
    job = a_pytorch_job({keys.SEGMENT_SIZE: "1"}, workers=10_001)
    assert mistakes(job) == [
        "f: PyTorchJob j: spec.pytorchReplicaSpecs.Worker.template: makes 10001 segments of 1 pods; "
        "at most 10000 groups are supported"
    ]


def test_a_pod_without_the_labels_of_its_role_is_in_the_group_and_warned_of() -> None:
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j"}
    pod = an_object("v1", "Pod", SPEC, "p", ownerReferences=[owner])
    assert warnings(a_pytorch_job(), pod) == [
        "f: Pod p: joins no sub-group of its group; check the labels that its controller sets"
    ]


def test_an_mpi_job_is_one_group_without_sub_groups() -> None:
    one = group(an_mpi_job())
    assert (one.pod_group["spec"]["minMember"], tree(one), len(one.pods)) == (5, {}, 5)


def test_a_launcher_that_waits_for_the_workers_is_not_waited_for() -> None:
    job = an_mpi_job(launcherCreationPolicy="WaitForWorkersReady")
    workers = [a_pod("worker", index) for index in range(4)]
    assert group(job, *workers).pod_group["spec"]["minMember"] == 4
    assert group(job, *workers, a_pod("launcher")).pod_group["spec"]["minMember"] == 5


def test_workers_of_every_training_job_may_be_divided_into_segments() -> None:
    one = group(an_mpi_job(SEGMENTS_OF_2), NETWORK)
    assert tree(one) == {
        "launcher": ("", 1, 1),
        "worker": ("", "2 groups", 0),
        "worker-0": ("worker", 2, 2),
        "worker-1": ("worker", 2, 2),
    }


def test_segments_of_an_mpi_job_have_no_effect_in_kai() -> None:
    assert tree(group(an_mpi_job(SEGMENTS_OF_2), like_kai=True)) == {}
    assert tree(group(a_pytorch_job(SEGMENTS_OF_2), like_kai=True)).keys() == {
        "master",
        "worker",
        "worker-0",
        "worker-1",
    }
