"""Jobs and CronJobs."""

from __future__ import annotations

import pytest

from closeknit.dialects.kai import keys
from dialects.kai.jobs import (
    NETWORK,
    RACK,
    SEGMENTS_OF_2,
    Raw,
    a_job,
    an_object,
    constraints,
    group,
    groups,
    mistakes,
    tree,
    warnings,
)

ZONE = {keys.TOPOLOGY: "network", keys.REQUIRED: "zone", keys.PREFERRED: "rack"}


def minimums(*objects: Raw, like_kai: bool = False) -> list[tuple[str, int, int]]:
    found = groups(*objects, like_kai=like_kai)
    return [(one.pod_group["metadata"]["name"], one.pod_group["spec"]["minMember"], len(one.pods)) for one in found]


def test_a_job_that_says_nothing_about_its_pods_together_is_a_group_for_each_pod() -> None:
    assert minimums(a_job(2)) == [("pg-j-0", 1, 1), ("pg-j-1", 1, 1)]


def test_a_job_with_a_topology_is_one_group_of_all_its_pods() -> None:
    assert minimums(a_job(3, ZONE), NETWORK) == [("pg-j", 3, 3)]
    assert group(a_job(3, ZONE), NETWORK).pod_group["spec"]["topologyConstraint"] == {
        "topology": "network",
        "requiredTopologyLevel": "zone",
        "preferredTopologyLevel": "rack",
    }


def test_as_in_kai_a_topology_holds_for_each_pod_of_a_job_alone() -> None:
    found = groups(a_job(3, ZONE), like_kai=True)
    assert [one.pod_group["spec"]["minMember"] for one in found] == [1, 1, 1]
    assert all(one.pod_group["spec"]["topologyConstraint"]["requiredTopologyLevel"] == "zone" for one in found)


@pytest.mark.parametrize("like_kai", [False, True])
def test_a_minimum_makes_one_group_of_a_job(like_kai: bool) -> None:
    assert minimums(a_job(6, {keys.MIN_MEMBER: "2"}), like_kai=like_kai) == [("pg-j", 2, 6)]


def test_a_minimum_above_the_pods_is_written_and_warned_of() -> None:
    job = a_job(2, {keys.MIN_MEMBER: "5"})
    assert minimums(job) == [("pg-j", 5, 2)]
    assert warnings(job) == [
        "f: Job j: metadata.annotations[kai.scheduler/batch-min-member]: is 5, but there are only 2 pods: "
        "the group can never start; use at most 2"
    ]


def test_a_minimum_that_is_no_number_is_refused() -> None:
    assert mistakes(a_job(2, {keys.MIN_MEMBER: "some"})) == [
        'f: Job j: metadata.annotations[kai.scheduler/batch-min-member]: is "some"; '
        "use a whole number from 1 to 2147483647, in quotes"
    ]


def test_only_pods_that_run_at_once_count() -> None:
    assert minimums(a_job(8, ZONE, completions=3)) == [("pg-j", 3, 3)]


def test_an_indexed_job_may_be_divided_into_segments() -> None:
    one = group(a_job(5, inside=SEGMENTS_OF_2, completionMode="Indexed"), NETWORK)
    assert one.pod_group["spec"]["minMember"] == 5
    assert tree(one) == {"segment-0": ("", 2, 2), "segment-1": ("", 2, 2), "segment-2": ("", 1, 1)}
    assert constraints(one) == dict.fromkeys(["segment-0", "segment-1", "segment-2"], RACK)


def test_a_minimum_of_pods_in_segments_is_one_of_segments() -> None:
    one = group(a_job(6, {keys.MIN_MEMBER: "3"}, SEGMENTS_OF_2, completionMode="Indexed"), NETWORK)
    assert one.pod_group["spec"]["minSubGroup"] == 2
    assert "minMember" not in one.pod_group["spec"]


def test_segments_need_an_index_for_every_pod() -> None:
    assert mistakes(a_job(4, inside=SEGMENTS_OF_2)) == [
        "f: Job j: spec.completionMode: has to be Indexed for kai.scheduler/segment-size: "
        "otherwise the pods have no index; set it",
        *(
            f"f: Pod default/j-{index}: metadata.labels[batch.kubernetes.io/job-completion-index]: is missing; "
            "segments need the index of every pod"
            for index in range(4)
        ),
    ]
    assert mistakes(a_job(2, inside=SEGMENTS_OF_2, completionMode="Indexed", completions=4))[0] == (
        "f: Job j: spec.completions: is more than parallelism, which kai.scheduler/segment-size does not allow; "
        "use as many completions as run at once"
    )


def test_segments_of_a_job_have_no_effect_in_kai_and_that_is_told() -> None:
    job = a_job(2, inside=SEGMENTS_OF_2, completionMode="Indexed")
    assert minimums(job, like_kai=True) == [("pg-j-0", 1, 1), ("pg-j-1", 1, 1)]
    assert warnings(job, like_kai=True) == [
        "f: Pod default/j-0: metadata.annotations[kai.scheduler/segment-size]: has no effect in KAI on a Job; remove it"
    ]


def test_a_level_of_segments_without_their_size_is_refused() -> None:
    assert mistakes(a_job(2, inside={keys.SEGMENT_REQUIRED: "rack"}, completionMode="Indexed")) == [
        "f: Pod default/j-0: metadata.annotations[kai.scheduler/segment-topology-required-placement]: "
        "needs kai.scheduler/segment-size; add it: the number of pods in a segment"
    ]


def test_a_level_of_segments_without_a_topology_is_warned_of() -> None:
    job = a_job(2, inside={keys.SEGMENT_SIZE: "2", keys.SEGMENT_REQUIRED: "rack"}, completionMode="Indexed")
    assert constraints(group(job)) == {}
    assert warnings(job) == [
        "f: Pod default/j-0: metadata.annotations[kai.scheduler/segment-topology-required-placement]: "
        "has no effect without a topology; add the annotation kai.scheduler/topology"
    ]


def test_a_placement_on_the_pods_of_a_job_is_warned_of_since_only_that_on_the_job_is_read() -> None:
    assert warnings(a_job(1, inside={keys.REQUIRED: "rack"})) == [
        "f: Pod default/j-0: metadata.annotations[kai.scheduler/topology-required-placement]: "
        "has no effect on the pods of a job; put it on Job j"
    ]


def test_a_cron_job_is_looked_through() -> None:
    inner = {"metadata": {"annotations": ZONE}, "spec": a_job(3)["spec"]}
    cron = an_object("batch/v1", "CronJob", {"schedule": "@daily", "jobTemplate": inner}, "nightly")
    assert minimums(cron, NETWORK) == [("pg-nightly", 3, 3)]


def test_segments_on_a_cron_job_are_those_of_its_jobs() -> None:
    spec = {"jobTemplate": {"spec": a_job(4, completionMode="Indexed")["spec"]}}
    one = group(an_object("batch/v1", "CronJob", spec, "nightly", annotations=SEGMENTS_OF_2), NETWORK)
    assert tree(one) == {"segment-0": ("", 2, 2), "segment-1": ("", 2, 2)}


def test_the_jobs_of_a_cron_job_are_groups_of_their_own() -> None:
    cron = an_object("batch/v1", "CronJob", {"jobTemplate": {}}, "nightly", uid="c")
    objects = [cron]
    for number in range(2):
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "c", "controller": True}
        job = a_job(1, {keys.MIN_MEMBER: "1"})
        job["metadata"] |= {"name": f"nightly-{number}", "uid": f"u{number}", "ownerReferences": [owner]}
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": f"u{number}"}
        pod = an_object("v1", "Pod", {"containers": [{"name": "c"}]}, f"p-{number}", ownerReferences=[reference])
        objects += [job, pod]
    assert minimums(*objects) == [("pg-nightly-0-u0", 1, 1), ("pg-nightly-1-u1", 1, 1)]
