"""JobSets, and TrainJobs, which are rendered to one."""

from __future__ import annotations

from closeknit.dialects.kai import keys
from dialects.kai.jobs import (
    NETWORK,
    RACK,
    SEGMENTS_OF_2,
    a_job_set,
    a_replicated_job,
    an_object,
    constraints,
    group,
    mistakes,
    template,
    tree,
    warnings,
)

WORKERS = a_replicated_job("w", 2, 3)
DRIVER = a_replicated_job("d", 1, 1)


def test_every_replica_is_a_sub_group_of_its_replicated_job() -> None:
    one = group(a_job_set(DRIVER, WORKERS))
    assert one.pod_group["spec"]["minSubGroup"] == 2
    assert "minMember" not in one.pod_group["spec"]
    assert tree(one) == {
        "d": ("", "1 groups", 0),
        "d-replica-0": ("d", 1, 1),
        "w": ("", "2 groups", 0),
        "w-replica-0": ("w", 3, 3),
        "w-replica-1": ("w", 3, 3),
    }


def test_a_job_set_that_starts_in_order_needs_one_replicated_job_at_first() -> None:
    one = group(a_job_set(DRIVER, WORKERS, startupPolicy={"startupPolicyOrder": "InOrder"}))
    assert one.pod_group["spec"]["minSubGroup"] == 1


def test_minimums_count_replicated_jobs_on_the_job_set_and_pods_on_a_template() -> None:
    one = group(a_job_set(DRIVER, a_replicated_job("w", 2, 3, {keys.MIN_MEMBER: "2"}), notes={keys.MIN_MEMBER: "1"}))
    assert one.pod_group["spec"]["minSubGroup"] == 1
    assert tree(one)["w-replica-1"] == ("w", 2, 3)


def test_minimums_above_what_there_is_are_warned_of() -> None:
    job_set = a_job_set(a_replicated_job("w", 1, 3, {keys.MIN_MEMBER: "4"}), notes={keys.MIN_MEMBER: "2"})
    assert group(job_set).pod_group["spec"]["minSubGroup"] == 1
    assert warnings(job_set) == [
        "f: JobSet j: spec.replicatedJobs[0].template.metadata.annotations[kai.scheduler/batch-min-member]: "
        "is 4, but there are only 3 pods: the group can never start; use at most 3",
        "f: JobSet j: metadata.annotations[kai.scheduler/batch-min-member]: "
        "is 2, but there are only 1 replicated jobs; 1 is written",
    ]


def test_a_placement_on_a_template_is_that_of_every_replica() -> None:
    jobs = a_replicated_job("w", 2, 3, {keys.REQUIRED: "rack"})
    one = group(a_job_set(DRIVER, jobs, notes={keys.TOPOLOGY: "network"}), NETWORK)
    assert constraints(one) == {"w-replica-0": RACK, "w-replica-1": RACK}
    assert one.pod_group["spec"]["topologyConstraint"] == {"topology": "network"}


def test_replicated_jobs_without_pods_are_left_out() -> None:
    assert tree(group(a_job_set(DRIVER, a_replicated_job("w", 0, 3)))).keys() == {"d", "d-replica-0"}


def test_replicas_may_be_divided_into_segments() -> None:
    one = group(a_job_set(a_replicated_job("w", 1, 3, inside=SEGMENTS_OF_2)), NETWORK)
    assert tree(one) == {
        "w": ("", "1 groups", 0),
        "w-replica-0": ("w", "2 groups", 0),
        "w-replica-0-0": ("w-replica-0", 2, 2),
        "w-replica-0-1": ("w-replica-0", 1, 1),
    }
    assert constraints(one) == {"w-replica-0-0": RACK, "w-replica-0-1": RACK}


def test_with_an_exclusive_topology_all_replicas_are_apart_in_domains_of_their_own() -> None:
    one = group(a_job_set(DRIVER, WORKERS, notes={keys.JOB_SET_EXCLUSIVE: "rack"}), NETWORK)
    assert one.pod_group["metadata"]["annotations"][keys.APART] == "rack"
    assert one.pod_group["spec"]["minSubGroup"] == 3
    assert tree(one) == {"d-replica-0": ("", 1, 1), "w-replica-0": ("", 3, 3), "w-replica-1": ("", 3, 3)}
    assert constraints(one) == dict.fromkeys(tree(one), RACK)


def test_an_exclusive_topology_of_one_replicated_job_keeps_its_replicas_apart() -> None:
    notes = {keys.JOB_SET_EXCLUSIVE: "rack"}
    job_set = a_job_set(DRIVER, a_replicated_job("w", 2, 3, notes))
    one = group(job_set, NETWORK)
    assert one.pod_group["metadata"]["annotations"][keys.APART] == "w=rack"
    assert constraints(one) == {"w": {"topology": "network"}, "w-replica-0": RACK, "w-replica-1": RACK}
    assert warnings(job_set, NETWORK) == [
        f"f: JobSet j: spec.replicatedJobs[1].template.metadata.annotations[{keys.JOB_SET_EXCLUSIVE}]: keeps replicas "
        "of this job apart from one another, not from those of other replicated jobs; "
        "put it on the JobSet to keep all of them apart"
    ]


def test_kai_ignores_an_exclusive_topology() -> None:
    one = group(a_job_set(WORKERS, notes={keys.JOB_SET_EXCLUSIVE: "rack"}), like_kai=True)
    assert constraints(one) == {}
    assert keys.APART not in one.pod_group["metadata"]["annotations"]


def test_an_exclusive_topology_that_no_or_several_topologies_have_is_refused() -> None:
    job_set = a_job_set(WORKERS, notes={keys.JOB_SET_EXCLUSIVE: "rack"})
    other = {**NETWORK, "metadata": {"name": "other"}}
    field = f"f: JobSet j: metadata.annotations[{keys.JOB_SET_EXCLUSIVE}]"
    remedy = "name the topology: kai.scheduler/topology"
    assert mistakes(job_set) == [f'{field}: is "rack", and no known Topology has that level; {remedy}']
    assert mistakes(job_set, NETWORK, other) == [f'{field}: is "rack", and network, other have that level; {remedy}']


def test_an_exclusive_topology_excludes_another_placement_and_a_minimum() -> None:
    notes = {keys.JOB_SET_EXCLUSIVE: "rack", keys.MIN_MEMBER: "1"}
    job_set = a_job_set(a_replicated_job("w", 2, 3, {keys.REQUIRED: "zone"}), notes=notes)
    assert mistakes(job_set, NETWORK) == [
        "f: JobSet j: spec.replicatedJobs[0].template.metadata.annotations[kai.scheduler/topology-required-placement]: "
        "cannot be combined with an exclusive topology, which is required too; remove one",
        "f: JobSet j: metadata.annotations[kai.scheduler/batch-min-member]: "
        "counts replicated jobs, and an exclusive topology has none as groups; remove one of the two",
    ]


def test_a_train_job_is_looked_through_to_the_job_set_of_its_runtime() -> None:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": template()}}}
    spec = {"template": {"spec": {"replicatedJobs": [node]}}}
    runtime = an_object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", spec, "torch")
    wanted = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}}
    job = an_object("trainer.kubeflow.org/v1alpha1", "TrainJob", wanted, labels={keys.QUEUE: "team"})
    one = group(job, runtime)
    assert tree(one) == {"node": ("", "1 groups", 0), "node-replica-0": ("node", 3, 3)}
    assert one.pod_group["spec"]["queue"] == "team"
    assert mistakes(job) == [
        'f: TrainJob j: spec.runtimeRef: refers to ClusterTrainingRuntime "torch", which is not among the objects; '
        "add it: it describes the pods of the job"
    ]
