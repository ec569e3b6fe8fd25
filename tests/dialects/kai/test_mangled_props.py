"""For any input, grouping gives groups or mistakes with remedies, and never crashes."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects.kai import keys
from closeknit.dialects.kai.grouper import group_objects
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

PLACED = {keys.TOPOLOGY: "network", keys.REQUIRED: "zone", keys.MIN_MEMBER: "2"}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
GANG = {"name": "a", "minReplicas": 1, "podReferences": [{"namespace": "default", "name": "p"}]}
RAY = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "numOfHosts": 2}],
}
TREE = [{"name": "a"}, {"name": "b", "parent": "a", "minMember": 1}, {"name": "c", "parent": "a", "minMember": 1}]
OBJECTS: list[Raw] = [
    NETWORK,
    a_job(2, PLACED, SEGMENTS_OF_2, completionMode="Indexed"),
    a_job_set(a_replicated_job("w", 2, 2, PLACED, SEGMENTS_OF_2), notes={keys.JOB_SET_EXCLUSIVE: "rack"}),
    a_pytorch_job(SEGMENTS_OF_2, elasticPolicy={"minReplicas": 2}),
    a_leader_worker_set(5, 2, {keys.LWS_EXCLUSIVE: "rack"}, subGroupPolicy={"subGroupSize": 2}),
    an_object("apps/v1", "StatefulSet", {"replicas": 2, "template": template(**SEGMENTS_OF_2)}),
    an_object("apps/v1", "Deployment", {"replicas": 2, "template": template()}),
    an_object("batch/v1", "CronJob", {"jobTemplate": {"metadata": {}, "spec": a_job(1)["spec"]}}),
    an_object("ray.io/v1", "RayJob", {"rayClusterSpec": RAY}, labels={"ray.io/priority-class-name": "build"}),
    an_object("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "r"}}),
    an_object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", {"template": {"spec": {}}}, "r"),
    an_object(
        "scheduler.grove.io/v1alpha1",
        "PodGang",
        {"podgroups": [GANG], "topologyConstraintGroupConfigs": [{"name": "x", "podGroupNames": ["a"]}]},
    ),
    an_object(
        "scheduling.run.ai/v2alpha2",
        "PodGroup",
        {"minSubGroup": 1, "subGroups": TREE, "topologyConstraint": {"topology": "network"}},
        annotations={keys.APART: "a=rack"},
    ),
    an_object("scheduling.run.ai/v2", "Queue", {"resources": {"cpu": {"quota": 1}}, "preemptMinRuntime": "5m"}),
    an_object("v1", "Pod", SPEC, "p", labels={"grove.io/podgang": "j", keys.SUB_GROUP: "b"}, ownerReferences=[OWNER]),
    an_object("v1", "Pod", SPEC, "q", annotations={keys.POD_GROUP: "j"}, labels={keys.SUB_GROUP: "b"}),
]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=8),
    st.sampled_from(["-1", "0", "true", "x" * 400]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a tree with each of its keys."""
    if isinstance(value, dict):
        return [(value, key) for key in value] + [pair for inner in value.values() for pair in places(inner)]
    if isinstance(value, list):
        return [(value, index) for index in range(len(value))] + [pair for inner in value for pair in places(inner)]
    return []


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_grouping_never_crashes(data: st.DataObject) -> None:
    objects = [copy.deepcopy(data.draw(st.sampled_from(OBJECTS))) for _ in range(data.draw(st.integers(1, 3)))]
    for _ in range(data.draw(st.integers(0, 3))):
        container, key = data.draw(st.sampled_from(places(objects)))
        if isinstance(container, dict) and data.draw(st.booleans()):
            del container[key]
        else:
            container[key] = data.draw(JUNK)
    pairs = [("f", one) for one in objects if isinstance(one, dict)]
    result = group_objects(pairs, data.draw(st.booleans()))
    assert not (result.groupings and result.mistakes)
    assert len(result.gangs) == len(result.groupings)
    assert all(mistake.text and mistake.what for mistake in result.mistakes)
