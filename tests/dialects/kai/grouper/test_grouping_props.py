"""Grouping never loses a pod, never puts one into two groups, and makes groups that can be read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects.kai import keys
from closeknit.dialects.kai.gang import read_gang
from closeknit.dialects.kai.grouper import Grouping, group_objects
from closeknit.dialects.kai.grouper.kinds import GROUP_KINDS
from closeknit.dialects.kueue.jobs.identity import ObjectIdentity
from closeknit.model.gang import Gang
from dialects.kai.jobs import (
    NETWORK,
    SEGMENTS_OF_2,
    SPEC,
    Raw,
    a_job,
    a_job_set,
    a_leader_worker_set,
    a_pytorch_job,
    a_replicated_job,
    an_object,
    template,
)

COUNTS = st.integers(1, 7)
PLACED = st.sampled_from([{}, {keys.TOPOLOGY: "network", keys.REQUIRED: "zone", keys.PREFERRED: "rack"}])
SEGMENTED = st.sampled_from([{}, SEGMENTS_OF_2, {**SEGMENTS_OF_2, keys.SEGMENT_SIZE: "3"}])
MINIMUM = st.sampled_from([{}, {keys.MIN_MEMBER: "1"}])


@st.composite
def jobs(draw: st.DrawFn) -> Raw:
    count, notes, inside = draw(COUNTS), draw(PLACED), draw(SEGMENTED)
    replicated = [
        a_replicated_job(name, draw(st.integers(0, 3)), draw(COUNTS), draw(PLACED), draw(SEGMENTED)) for name in "ab"
    ]
    exclusive = draw(st.sampled_from([{}, {keys.LWS_EXCLUSIVE: "rack"}]))
    size = draw(st.integers(3, 9))
    made: dict[str, Raw] = {
        "Job": a_job(count, {**notes, **draw(MINIMUM)}, inside, completionMode="Indexed"),
        "JobSet": a_job_set(*replicated, notes=draw(MINIMUM)),
        "PyTorchJob": a_pytorch_job(inside, draw(st.integers(0, 2)), count, elasticPolicy={"minReplicas": 1}),
        "LeaderWorkerSet": a_leader_worker_set(
            size, draw(COUNTS), {**notes, **exclusive}, workerTemplate=template(**inside)
        ),
        "StatefulSet": an_object(
            "apps/v1",
            "StatefulSet",
            {"replicas": count, "template": template(**inside), "podManagementPolicy": "Parallel"},
        ),
        "Deployment": an_object("apps/v1", "Deployment", {"replicas": count, "template": template()}),
        "Pod": an_object("v1", "Pod", SPEC),
    }
    job = made[draw(st.sampled_from(sorted(made)))]
    job["metadata"]["name"] = f"job-{draw(st.integers(0, 10**6))}"
    return job


def planned(job: Raw) -> list[Raw]:
    """The pods of a job as they would be in a cluster, with the reference to it; a bare pod is its own."""
    identity = ObjectIdentity.of("", job)
    if identity.kind == "Pod":
        return [job]
    owner = {"apiVersion": job["apiVersion"], "kind": identity.kind, "name": identity.name, "controller": True}
    pods = list(GROUP_KINDS[identity.group, identity.kind].pods(identity.field))
    return [{**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}} for pod in pods]


def names(groupings: list[Grouping]) -> Counter[str]:
    return Counter(pod["metadata"]["name"] for one in groupings for pod in one.pods)


@settings(max_examples=150, deadline=None)
@given(st.lists(jobs(), max_size=4, unique_by=lambda job: job["metadata"]["name"]), st.booleans(), st.data())
def test_every_pod_is_in_exactly_one_group_that_can_be_read(objects: list[Raw], like_kai: bool, data: Any) -> None:
    pods = [pod for job in objects for pod in planned(job)]
    shuffled = data.draw(st.permutations([*(job for job in objects if job["kind"] != "Pod"), *pods]))
    result = group_objects([("f", one) for one in (NETWORK, *shuffled)], like_kai)
    assert list(map(str, result.mistakes)) == []
    assert names(result.groupings) == Counter(pod["metadata"]["name"] for pod in pods)
    for one in result.groupings:
        gang = read_gang(("f", one.pod_group), [("f", pod) for pod in one.pods], result.topologies)
        assert isinstance(gang, Gang)
        assert sum(found.count for found in gang.request.pod_sets) == len(one.pods)
        assert gang.missing == 0


@settings(max_examples=50, deadline=None)
@given(jobs(), st.booleans())
def test_planned_pods_are_grouped_like_pods_that_exist(job: Raw, like_kai: bool) -> None:
    alone = group_objects([("f", NETWORK), ("f", job)], like_kai)
    listed = [] if job["kind"] == "Pod" else planned(job)
    there = group_objects([("f", one) for one in (NETWORK, job, *listed)], like_kai)
    assert [one.pod_group for one in alone.groupings] == [one.pod_group for one in there.groupings]
    assert names(alone.groupings) == names(there.groupings)
