from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.jobs import GivenJob, read, requests, workload_name
from closeknit.dialects.kueue.jobs.kinds import KINDS
from closeknit.model.gates import Gates
from closeknit.model.mistake import InputError
from closeknit.model.request import Constraint, Group, Layer, PodSet, Ranks, Request
from closeknit.model.shape import Shape

MANIFESTS = Path(__file__).parents[3].parent / "shared" / "manifests" / "kueue"

KUEUE = Gates.profile("kueue")
OURS = Gates.profile("closeknit")
NO_TAS = Gates.profile("kueue", {"TopologyAwareScheduling": False})
RACK = "example.com/rack"
CPU = Shape.of({"cpu": 1000})

Raw = dict[str, Any]


def template(annotations: dict[str, Any] | None = None, cpu: Any = 1) -> Raw:
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    return {"metadata": {"annotations": annotations}, "spec": spec}


def an_object(api_version: str, kind: str, spec: Any, name: str = "train", **metadata: Any) -> Raw:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def a_job(annotations: dict[str, Any] | None = None, **spec: Any) -> Raw:
    return an_object("batch/v1", "Job", {"template": template(annotations), **spec})


def a_pod(name: str, group: str | None = "g", total: str | None = "2", cpu: Any = 1, **annotations: Any) -> Raw:
    said = {key: value for key, value in {keys.POD_GROUP_COUNT: total, **annotations}.items() if value is not None}
    labels = {keys.POD_GROUP: group} if group else {}
    spec = template(cpu=cpu)["spec"]
    return an_object("v1", "Pod", spec, name, labels=labels, annotations=said)


def jobs(*objects: Raw, gates: Gates = KUEUE) -> list[GivenJob]:
    return requests([("file.yaml", one) for one in objects], gates).jobs


def sets(*objects: Raw, gates: Gates = KUEUE) -> list[PodSet]:
    (job,) = jobs(*objects, gates=gates)
    return list(job.request.pod_sets)


def counts(*objects: Raw) -> dict[str, int]:
    return {one.name: one.count for one in sets(*objects)}


def refusals(*objects: Raw, gates: Gates = KUEUE) -> list[str]:
    with pytest.raises(InputError) as error:
        requests([("file.yaml", one) for one in objects], gates)
    return [str(mistake).removeprefix("file.yaml: ") for mistake in error.value.mistakes]


# Job


def test_a_job_is_one_pod_set_with_its_index_label() -> None:
    (job,) = jobs(a_job({keys.REQUIRED: RACK}, parallelism=4, completions=8))
    assert (job.where, job.kind, job.namespace, job.name) == ("file.yaml", "Job", "default", "train")
    assert list(job.request.pod_sets) == [
        PodSet("main", 4, CPU, Constraint(RACK), Ranks("batch.kubernetes.io/job-completion-index"))
    ]


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"completions": 4}, 1),
        ({"parallelism": 4, "completions": 3}, 3),
        ({"parallelism": 0, "completions": 3}, 0),
        ({"parallelism": None, "completions": None}, 1),
    ],
)
def test_as_many_pods_run_as_parallelism_and_completions_allow(spec: Raw, count: int) -> None:
    assert counts(a_job(**spec)) == {"main": count}


def test_annotations_become_a_constraint() -> None:
    annotations = {keys.PREFERRED: RACK, keys.SLICE_LEVEL: "kubernetes.io/hostname", keys.SLICE_SIZE: "2"}
    (main,) = sets(a_job(annotations, parallelism=4))
    assert main.constraint == Constraint(preferred=RACK, slices=(Layer("kubernetes.io/hostname", 2),))


def test_without_topology_annotations_topology_is_implied() -> None:
    assert sets(a_job())[0].constraint is None


def test_without_topology_aware_scheduling_annotations_are_ignored() -> None:
    (main,) = sets(a_job({keys.REQUIRED: "no label!", keys.GROUP: "7"}), gates=NO_TAS)
    assert (main.constraint, main.ranks) == (None, Ranks())


def test_a_name_to_be_generated_is_known_by_its_beginning() -> None:
    raw = a_job()
    raw["metadata"] = {"generateName": "train-", "namespace": "team"}
    (job,) = jobs(raw)
    assert (job.namespace, job.name) == ("team", "train-")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"parallelism": "four"}, 'spec.parallelism: is "four", not a whole number; use a whole number'),
        ({"parallelism": -1}, "spec.parallelism: is -1; use a whole number from 0 to 2147483647"),
        ({"completions": 2**31}, "spec.completions: is 2147483648; use a whole number from 0 to 2147483647"),
        ({"template": None}, "spec.template.spec.containers: is missing; add at least one container"),
        (
            {"template": template(cpu="-1")},
            "spec.template.spec.containers[0].resources.requests.cpu: is -1; use a quantity that is not negative",
        ),
        (
            {"template": template({keys.SLICE_SIZE: 4, keys.SLICE_LEVEL: RACK})},
            f'spec.template.metadata.annotations[{keys.SLICE_SIZE}]: is 4, not a string; put it in quotes: "4"',
        ),
    ],
)
def test_mistakes_in_a_job_are_reported_with_their_paths(spec: Raw, text: str) -> None:
    assert f"Job train: {text}" in refusals(a_job(**spec))


def test_all_mistakes_of_all_objects_are_reported_together() -> None:
    other = a_job(parallelism=[])
    other["metadata"]["name"] = "tune"
    assert refusals(a_job({keys.REQUIRED: "a/b/c"}, parallelism="x"), a_job(), other) == [
        'Job train: spec.parallelism: is "x", not a whole number; use a whole number',
        f'Job train: spec.template.metadata.annotations[{keys.REQUIRED}]: is "a/b/c", not a label name; '
        'name a level such as "kubernetes.io/hostname"',
        "Job tune: spec.parallelism: is a list, not a whole number; use a whole number",
    ]


def test_a_job_runs_rules_7_and_9_but_not_8() -> None:
    sliced = {keys.SLICE_LEVEL: RACK, keys.SLICE_SIZE: "4"}
    assert "is 4, but there are only 3 pods" in refusals(a_job(sliced, parallelism=3))[0]
    elastic = a_job({keys.REQUIRED: RACK})
    elastic["metadata"]["annotations"] = {keys.ELASTIC: "true"}
    assert "is not allowed in an elastic job" in refusals(elastic)[0]
    (job,) = jobs(a_job({keys.REQUIRED: RACK, keys.GROUP: "alone"}))
    assert [group.name for group in job.request.groups] == ["alone"]


def test_our_gates_apply_when_a_job_is_read() -> None:
    both = {keys.REQUIRED: "example.com/block", keys.PREFERRED: RACK}
    assert sets(a_job(both), gates=OURS)[0].constraint == Constraint("example.com/block", RACK)
    assert "cannot be combined" in refusals(a_job(both))[0]
    uneven = a_job({keys.SLICE_LEVEL: RACK, keys.SLICE_SIZE: "4"}, parallelism=10)
    assert counts(uneven) == {"main": 10}
    assert "10 pods do not divide into slices of 4; use 8 or 12 pods" in refusals(uneven, gates=OURS)[0]


@pytest.mark.parametrize(("least", "fine"), [("5", True), ("0", False), ("20", False), ("five", False)])
def test_a_job_may_start_with_fewer_pods_but_not_with_none_or_all(least: str, fine: bool) -> None:
    raw = a_job(parallelism=20)
    raw["metadata"]["annotations"] = {keys.MIN_PARALLELISM: least}
    if fine:
        assert counts(raw) == {"main": 20}
    else:
        assert keys.MIN_PARALLELISM in refusals(raw)[0]


def test_topology_on_the_job_itself_is_warned_about() -> None:
    raw = a_job()
    raw["metadata"]["annotations"] = {keys.REQUIRED: RACK}
    parsed = requests([("file.yaml", raw)], KUEUE)
    assert [str(warning) for warning in parsed.warnings] == [
        f"file.yaml: Job train: metadata.annotations[{keys.REQUIRED}]: is ignored there; put it on the pod template"
    ]


def test_a_cron_job_is_read_by_its_job_template() -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"parallelism": 3, "template": template()}}}
    raw = an_object("batch/v1", "CronJob", spec)
    assert counts(raw) == {"main": 3}
    assert jobs(raw)[0].workload == workload_name("Job", "batch", "train")


# Names


def test_a_workload_is_named_by_kind_name_and_hash() -> None:
    assert workload_name("Job", "batch", "name", "uid") == "job-name-ef3a1"


def test_a_long_workload_name_is_cut_to_253_characters() -> None:
    name = workload_name("Job", "batch", "x" * 300)
    assert len(name) == 253
    assert name.startswith("job-" + "x" * 243 + "-")


def test_workloads_are_named_after_what_owns_them() -> None:
    raw = a_job()
    raw["metadata"].update(name="name", uid="uid")
    assert jobs(raw)[0].workload == "job-name-ef3a1"
    raw["metadata"].update(annotations={keys.ELASTIC: "true"}, generation=2)
    assert jobs(raw)[0].workload == workload_name("Job", "batch", "name", "uid", "2")
    assert jobs(a_pod("p", None, None))[0].workload == workload_name("Pod", "", "p")
    (group,) = jobs(a_pod("p", total="1"))
    assert (group.kind, group.name, group.workload) == ("Pod group", "g", "g")


# JobSet


def replicated(name: str, annotations: dict[str, str] | None = None, replicas: Any = 1, **spec: Any) -> Raw:
    return {"name": name, "replicas": replicas, "template": {"spec": {"template": template(annotations), **spec}}}


def a_job_set(*replicated_jobs: Raw) -> Raw:
    return an_object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(replicated_jobs)})


def test_a_job_set_has_a_pod_set_per_replicated_job() -> None:
    driver, workers = sets(a_job_set(replicated("driver"), replicated("workers", None, 3, parallelism=4)))
    assert (driver.name, driver.count) == ("driver", 1)
    assert (workers.name, workers.count) == ("workers", 12)
    index, job_index = "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-index"
    assert workers.ranks == Ranks(index, job_index, 3)


def test_a_group_ties_leader_and_workers_together() -> None:
    tied = {keys.REQUIRED: RACK, keys.GROUP: "g"}
    (job,) = jobs(
        a_job_set(replicated("leader", tied), replicated("extra"), replicated("workers", tied, 1, parallelism=3))
    )
    assert [[one.name for one in group.pod_sets] for group in job.request.groups] == [
        ["leader", "workers"],
        ["extra"],
    ]


def test_a_job_set_runs_rule_8() -> None:
    tied = {keys.REQUIRED: RACK, keys.GROUP: "g"}
    (text,) = refusals(a_job_set(replicated("leader", tied)))
    assert text.startswith("JobSet train: spec.replicatedJobs[0].template.spec.template.metadata.annotations[")
    assert 'group "g" has 1 pod set' in text


@pytest.mark.parametrize(
    ("replicated_jobs", "text"),
    [
        ([], "spec.replicatedJobs: is missing"),
        ([replicated("a"), replicated("a")], 'spec.replicatedJobs[1].name: is "a", the name of another pod set'),
        ([replicated("")], "spec.replicatedJobs[0].name: is missing"),
        ([replicated("a_b")], 'spec.replicatedJobs[0].name: is "a_b"'),
        ([replicated(f"r{i}") for i in range(19)], "spec.replicatedJobs[18].name: is pod set 19"),
        (
            [replicated("a", None, 2**20, parallelism=2**20)],
            "spec.replicatedJobs[0].replicas: makes 1099511627776 pods",
        ),
        ([replicated("a", None, "two")], 'spec.replicatedJobs[0].replicas: is "two", not a whole number'),
    ],
)
def test_mistakes_in_a_job_set_are_reported_with_their_paths(replicated_jobs: list[Raw], text: str) -> None:
    assert refusals(a_job_set(*replicated_jobs))[0].startswith(f"JobSet train: {text}")


# Pods


def test_a_pod_alone_is_a_pod_set_of_one() -> None:
    (main,) = sets(a_pod("p", None, None, **{keys.REQUIRED: RACK}))
    assert main == PodSet("main", 1, CPU, Constraint(RACK), Ranks(keys.POD_GROUP_INDEX))


def test_pods_of_a_group_are_placed_together_a_pod_set_per_shape() -> None:
    objects = [a_pod("p0", total="3"), a_job(), a_pod("p1", total="3", cpu=2), a_pod("p2", total="3")]
    group, job = jobs(*objects)
    assert (group.kind, group.name, job.kind) == ("Pod group", "g", "Job")
    pod_sets = list(group.request.pod_sets)
    assert sorted(one.count for one in pod_sets) == [1, 2]
    assert [one.name for one in pod_sets] == sorted(one.name for one in pod_sets)
    assert {one.count: one.shape for one in pod_sets} == {2: CPU, 1: Shape.of({"cpu": 2000})}


def test_a_group_may_be_named_by_an_annotation_and_roles_by_a_hash() -> None:
    pods = [a_pod(f"p{i}", None, "2", cpu=i + 1, **{keys.POD_GROUP: "g", keys.ROLE_HASH: "main"}) for i in range(2)]
    assert counts(*pods) == {"main": 2}


def test_groups_of_one_name_in_two_namespaces_are_two_groups() -> None:
    one, other = a_pod("p", total="1"), a_pod("p", total="1")
    other["metadata"]["namespace"] = "team"
    assert [job.namespace for job in jobs(one, other)] == ["default", "team"]


def test_slices_of_a_group_are_counted_over_the_whole_group() -> None:
    sliced = {keys.SLICE_LEVEL: RACK, keys.SLICE_SIZE: "2"}
    assert [one.count for one in sets(*(a_pod(f"p{i}", **sliced) for i in range(2)), gates=OURS)] == [2]
    three = [a_pod(f"p{i}", total="3", **sliced) for i in range(3)]
    assert "3 pods do not divide into slices of 2; use 2 or 4 pods" in refusals(*three, gates=OURS)[0]


def test_with_fast_admission_the_first_pod_represents_all() -> None:
    pod = a_pod("p0", total="5", **{keys.FAST_ADMISSION: "true"})
    assert [one.count for one in sets(pod)] == [5]


@pytest.mark.parametrize(
    ("pods", "text"),
    [
        ([a_pod("a", total=None)], "is missing; set the number of pods in the group"),
        ([a_pod("a", total="two")], 'is "two", not a whole number'),
        ([a_pod("a", total="0")], 'is "0"; set the number of pods in the group'),
        ([a_pod("a", total="2")], "is 2, but the group has 1 pod; add the missing pods, or correct the number"),
        ([a_pod(name, total="1") for name in "ab"], "is 1, but the group has 2 pods"),
        (
            [a_pod("a", total="2"), a_pod("b", total="3")],
            "is 3, but Pod a has 2; use the same number for all pods of the group",
        ),
        ([a_pod("a", None, "2")], "requires a group"),
    ],
)
def test_a_group_has_a_total_count_and_as_many_pods(pods: list[Raw], text: str) -> None:
    (refusal,) = refusals(*pods)
    assert f"metadata.annotations[{keys.POD_GROUP_COUNT}]: {text}" in refusal


def test_a_group_waits_in_one_queue() -> None:
    pods = [a_pod("a"), a_pod("b")]
    pods[1]["metadata"]["labels"][keys.QUEUE] = "other"
    assert 'is "other", but Pod a has ""' in refusals(*pods)[0]


def test_every_pod_of_a_group_is_checked() -> None:
    assert refusals(a_pod("a"), a_pod("b", **{keys.REQUIRED: "a/b/c"}))[0].startswith("Pod b: metadata.annotations[")
    assert refusals(a_pod("a"), a_pod("b", cpu="x"))[0].startswith("Pod b: spec.containers[0]")


def test_a_group_of_too_many_shapes_is_refused() -> None:
    pods = [a_pod(f"p{i}", total="19", cpu=i + 1) for i in range(19)]
    assert refusals(*pods) == ["Pod p18: is of shape number 19 in its group; a group allows at most 18"]


@pytest.mark.parametrize("state", [{"spec": {"nodeName": "n1"}}, {"status": {"phase": "Succeeded"}}])
@pytest.mark.parametrize("group", ["g", None])
def test_pods_that_run_or_have_ended_are_not_placed(state: Raw, group: str | None) -> None:
    pod = a_pod("p", group, "1" if group else None)
    pod["spec"].update(state.get("spec", {}))
    assert jobs({**pod, "status": state.get("status")}) == []


# Workload


def a_workload(*pod_sets: Raw, version: str = "v1beta2") -> Raw:
    return an_object(f"kueue.x-k8s.io/{version}", "Workload", {"podSets": list(pod_sets)})


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_workload_has_its_own_topology_request(version: str) -> None:
    request = {"required": RACK, "podIndexLabel": "i", "podSetGroupName": "g", "subGroupCount": 2}
    pod_set = {"name": "w", "count": 4, "minCount": 2, "template": template(), "topologyRequest": request}
    (job,) = jobs(a_workload(pod_set, version=version))
    assert job.workload == "train"
    made = PodSet("w", 4, CPU, Constraint(RACK), Ranks("i", None, 2))
    assert job.request == Request((Group((made,), "g"),))


def test_annotations_in_a_workload_are_not_read() -> None:
    (main,) = sets(a_workload({"template": template({keys.REQUIRED: RACK})}))
    assert main == PodSet("main", 1, CPU)


def test_layers_are_read_in_v1beta2_and_dropped_in_v1beta1() -> None:
    request = {"podsetSliceRequiredTopologyConstraints": [{"topology": RACK, "size": 2}]}
    pod_set = {"count": 4, "template": template(), "topologyRequest": request}
    assert sets(a_workload(pod_set))[0].constraint == Constraint(slices=(Layer(RACK, 2),))
    assert sets(a_workload(pod_set, version="v1beta1"))[0].constraint is None


@pytest.mark.parametrize(
    ("pod_sets", "text"),
    [
        ([], "spec.podSets: is empty"),
        ([{"template": template(), "count": -1}], "spec.podSets[0].count: is -1"),
        (
            [{"template": template(), "count": 2, "minCount": 3}],
            "spec.podSets[0].minCount: is 3, more than the count",
        ),
        ([{"template": template(), "minCount": 0}], "spec.podSets[0].minCount: is 0"),
        ([{"count": 1}], "spec.podSets[0].template.spec.containers: is missing"),
        ([{"template": template()}, {"template": template()}], 'spec.podSets[1].name: is "main", the name of another'),
        (
            [{"name": name, "template": template(), "minCount": 1} for name in "ab"],
            "spec.podSets[1].minCount: is set for a second pod set",
        ),
        (
            [{"template": template(), "topologyRequest": {"podSetSliceSize": "4"}}],
            "spec.podSets[0].topologyRequest.podSetSliceSize: expected int, got str",
        ),
        (
            [{"template": template(), "topologyRequest": {"podSetSliceSize": 4}}],
            "spec.podSets[0].topologyRequest.podSetSliceSize: requires podSetSliceRequiredTopology",
        ),
    ],
)
def test_mistakes_in_a_workload_are_reported_with_their_paths(pod_sets: list[Raw], text: str) -> None:
    assert refusals(a_workload(*pod_sets))[0].startswith(f"Workload train: {text}")


def test_a_request_for_pods_is_refused() -> None:
    pod_set = {"template": template()}
    pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]["pods"] = 1
    assert "requests.pods: is counted by the node itself" in refusals(a_workload(pod_set))[0]


# Other kinds


def test_training_jobs_have_a_pod_set_per_replica_type_in_kueues_order() -> None:
    specs = {"Worker": {"replicas": 2, "template": template()}, "Launcher": {"template": template()}}
    mpi = an_object("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": specs})
    assert [(one.name, one.count) for one in sets(mpi)] == [("launcher", 1), ("worker", 2)]
    assert sets(mpi)[0].ranks == Ranks("training.kubeflow.org/replica-index")
    torch = an_object("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Worker": specs["Worker"]}})
    assert counts(torch) == {"worker": 2}
    assert "has none of Worker" in refusals(an_object("kubeflow.org/v1", "JAXJob", {}))[0]


@pytest.mark.parametrize(
    ("spec", "unranked"),
    [({}, {"launcher"}), ({"runLauncherAsWorker": False}, {"launcher"}), ({"runLauncherAsWorker": True}, set())],
)
def test_the_launcher_of_an_mpi_job_has_a_rank_only_if_it_works_too(spec: Raw, unranked: set[str]) -> None:
    replicas = {"Launcher": {"template": template()}, "Worker": {"template": template()}}
    (job,) = jobs(an_object("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": replicas, **spec}))
    assert job.unranked == unranked


def test_pods_that_do_the_work_have_ranks() -> None:
    torch = {"pytorchReplicaSpecs": {"Master": {"template": template()}, "Worker": {"template": template()}}}
    for raw in (a_job(), an_object("kubeflow.org/v1", "PyTorchJob", torch), a_pod("a", None, None)):
        assert jobs(raw)[0].unranked == frozenset()


def test_rule_8_is_run_for_mpi_jobs_but_not_for_other_training_jobs() -> None:
    tied = {"Worker": {"template": template({keys.REQUIRED: RACK, keys.GROUP: "g"})}}
    assert "group" in refusals(an_object("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": tied}))[0]
    assert counts(an_object("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": tied})) == {"worker": 1}


def test_a_leader_worker_set_is_a_workload_per_replica() -> None:
    group = {"size": 3, "leaderTemplate": template(cpu=2), "workerTemplate": template()}
    raw = an_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": group})
    one, other = jobs(raw)
    assert (one.name, other.name) == ("train-0", "train-1")
    assert other.workload == workload_name("LeaderWorkerSet", "leaderworkerset.x-k8s.io", "train-1")
    leader, worker = one.request.pod_sets
    assert (leader.name, leader.count, leader.ranks) == ("leader", 1, Ranks())
    assert (worker.name, worker.count) == ("worker", 2)
    assert worker.ranks == Ranks("leaderworkerset.sigs.k8s.io/worker-index")


def test_a_leader_worker_set_without_a_leader_template_is_one_pod_set() -> None:
    spec = {"leaderWorkerTemplate": {"size": 3, "workerTemplate": template()}}
    assert counts(an_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)) == {"main": 3}


def test_a_stateful_set_is_placed_whole_and_a_deployment_pod_by_pod() -> None:
    spec = {"replicas": 3, "template": template()}
    stateful = an_object("apps/v1", "StatefulSet", spec)
    assert counts(stateful) == {"main": 3}
    assert sets(stateful)[0].ranks == Ranks("apps.kubernetes.io/pod-index")
    pods = jobs(an_object("apps/v1", "Deployment", spec))
    assert [job.name for job in pods] == [f"train-{i}" for i in range(3)]
    assert {one.count for job in pods for one in job.request.pod_sets} == {1}
    assert jobs(an_object("apps/v1", "Deployment", {**spec, "replicas": 0})) == []
    assert "at most 10000" in refusals(an_object("apps/v1", "Deployment", {**spec, "replicas": 10**6}))[0]


def a_ray_cluster(**extra: Any) -> Raw:
    workers = {"groupName": "Small", "replicas": 2, "numOfHosts": 3, "template": template()}
    return {"headGroupSpec": {"template": template(cpu=2)}, "workerGroupSpecs": [workers], **extra}


def test_a_ray_cluster_is_a_head_and_groups_of_workers() -> None:
    for raw in (
        an_object("ray.io/v1", "RayCluster", a_ray_cluster()),
        an_object("ray.io/v1", "RayService", {"rayClusterConfig": a_ray_cluster()}),
        an_object("ray.io/v1", "RayJob", {"rayClusterSpec": a_ray_cluster(), "submissionMode": "HTTPMode"}),
    ):
        assert counts(raw) == {"head": 1, "small": 6}


def test_a_ray_job_has_a_submitter_of_its_own_or_beside_the_head() -> None:
    own = sets(an_object("ray.io/v1", "RayJob", {"rayClusterSpec": a_ray_cluster()}))
    assert (own[2].name, own[2].shape.plain) == ("submitter", Shape.of({"cpu": 500, "memory": 200 * 2**20}))
    described = {"rayClusterSpec": a_ray_cluster(), "submitterPodTemplate": template(cpu=3)}
    assert sets(an_object("ray.io/v1", "RayJob", described))[2].shape == Shape.of({"cpu": 3000})
    beside = {"rayClusterSpec": a_ray_cluster(), "submissionMode": "SidecarMode"}
    head, _ = sets(an_object("ray.io/v1", "RayJob", beside))
    assert head.shape.plain == Shape.of({"cpu": 2500, "memory": 200 * 2**20})


def test_the_submitter_of_a_ray_job_has_no_rank() -> None:
    (job,) = jobs(an_object("ray.io/v1", "RayJob", {"rayClusterSpec": a_ray_cluster()}))
    assert job.unranked == {"submitter"}


def test_a_ray_job_in_an_existing_cluster_has_nothing_to_place() -> None:
    assert jobs(an_object("ray.io/v1", "RayJob", {"clusterSelector": {"ray.io/cluster": "c"}})) == []


def test_a_ray_cluster_with_an_unknown_number_of_pods_is_refused() -> None:
    scaling = an_object("ray.io/v1", "RayCluster", a_ray_cluster(enableInTreeAutoscaling=True))
    assert "spec.enableInTreeAutoscaling" in refusals(scaling)[0]
    second_head = a_ray_cluster()
    second_head["workerGroupSpecs"][0]["groupName"] = "head"
    assert "the name of another pod set" in refusals(an_object("ray.io/v1", "RayCluster", second_head))[0]


def test_an_unknown_kind_with_a_queue_is_refused() -> None:
    raw = an_object("batch.volcano.sh/v1alpha1", "Job", {}, labels={keys.QUEUE: "q"})
    assert (
        "batch.volcano.sh/v1alpha1/Job is not supported yet; use one of batch/Job, batch/CronJob, " in refusals(raw)[0]
    )


def test_what_an_object_of_the_input_owns_is_not_placed_again() -> None:
    job, pod, workload = a_job(), a_pod("p", None, None), a_workload({"template": template()})
    job["metadata"]["uid"] = "u1"
    for owned in (pod, workload):
        owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "uid": "u1"}]
    assert [one.kind for one in jobs(workload, job, pod)] == ["Job"]
    assert [one.kind for one in jobs(workload)] == ["Workload"]


def test_an_owned_object_with_a_queue_is_no_job() -> None:
    owner = [{"kind": "Deployment", "name": "web", "uid": "u1"}]
    assert jobs(an_object("apps/v1", "ReplicaSet", {}, labels={keys.QUEUE: "q"}, ownerReferences=owner)) == []


@pytest.mark.parametrize(
    "kind", ["Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass", "AdmissionCheck"]
)
def test_other_objects_of_kueue_are_skipped(kind: str) -> None:
    assert jobs(an_object("kueue.x-k8s.io/v1beta2", kind, {"levels": "wrong"})) == []


@pytest.mark.parametrize("kind", ["Namespace", "ConfigMap", "Service", "Node"])
def test_objects_of_kubernetes_that_are_no_jobs_are_skipped(kind: str) -> None:
    assert jobs(an_object("v1", kind, None)) == []


def test_skipped_objects_have_a_reading_with_the_reason() -> None:
    (reading,) = read([("a.yaml", an_object("v1", "Service", {}))], KUEUE)
    assert (reading.what, reading.jobs, reading.mistakes) == ("Service train", (), ())
    assert reading.skipped == "v1/Service is not read"


def test_objects_owned_by_another_object_are_skipped_with_a_reason() -> None:
    owned = an_object("batch/v1", "Job", {}, ownerReferences=[{"uid": "1"}])
    readings = read([("a.yaml", an_object("v1", "Service", {}, uid="1")), ("a.yaml", owned)], KUEUE)
    assert [reading.skipped for reading in readings] == ["v1/Service is not read", "its owner is read instead"]


@pytest.mark.parametrize("raw", [{}, {"kind": "Job"}, {"apiVersion": "batch/v1"}, {"kind": 3, "apiVersion": "v1"}])
def test_an_invalid_kubernetes_object_is_refused(raw: Raw) -> None:
    assert refusals(raw)


@pytest.mark.parametrize("metadata", [None, {}, {"name": 3}, []])
def test_a_job_without_a_name_is_refused(metadata: Any) -> None:
    assert "metadata" in refusals({**a_job(), "metadata": metadata})[0]


@pytest.mark.parametrize("name", ["Train", "train_1", "train ", "-train", "train.", "a..b", "x" * 254])
def test_a_name_that_kubernetes_would_refuse_is_refused(name: str) -> None:
    for raw in (a_job(), a_pod("a", None, None), a_workload({"template": template()})):
        raw["metadata"]["name"] = name
        (text,) = refusals(raw)
        assert "metadata.name: is " in text
        assert "not a valid name; use lower-case letters, digits, dashes and dots" in text


@pytest.mark.parametrize(("prefix", "fine"), [("train-", True), ("train", True), ("Train-", False), ("a b", False)])
def test_the_beginning_of_a_generated_name_may_end_in_a_dash(prefix: str, fine: bool) -> None:
    raw = a_job()
    raw["metadata"] = {"generateName": prefix}
    if fine:
        assert jobs(raw)[0].name == prefix
    else:
        assert "metadata.generateName: is " in refusals(raw)[0]


@pytest.mark.parametrize("key", KINDS, ids=lambda key: key[1])
@pytest.mark.parametrize("spec", [None, [], "x", 3, {"template": 3}, {"replicas": {}}])
def test_no_kind_breaks_on_a_spec_of_the_wrong_form(key: tuple[str, str], spec: Any) -> None:
    assert refusals(an_object(f"{key[0]}/v1", key[1], spec))


# Published manifests


@pytest.mark.skipif(not MANIFESTS.exists(), reason=f"SKIPPED, LOUDLY: no published manifests at {MANIFESTS}")
@pytest.mark.parametrize("profile", ["kueue", "closeknit"])
def test_every_job_that_kueue_publishes_gives_a_request(profile: str) -> None:
    files = sorted(MANIFESTS.rglob("*.yaml"))
    assert files
    for file in files:
        objects = [one for one in yaml.safe_load_all(file.read_text()) if one]
        parsed = requests([(file.name, one) for one in objects], Gates.profile(profile))
        expected = {one["kind"] for one in objects if not one["apiVersion"].startswith("kueue.x-k8s.io/")}
        assert {job.kind for job in parsed.jobs} == expected, file
        assert all(one.count > 0 for job in parsed.jobs for one in job.request.pod_sets), file
        assert parsed.warnings == (), file
