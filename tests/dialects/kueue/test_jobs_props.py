"""For any input, reading gives requests or reports mistakes with remedies, and never crashes."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.admin import CHECKS
from closeknit.dialects.kueue.jobs import read
from closeknit.model.gates import Gates

ANNOTATIONS = {
    keys.REQUIRED: "example.com/block",
    keys.SLICE_LEVEL: "example.com/rack",
    keys.SLICE_SIZE: "2",
    keys.GROUP: "g",
    keys.UNCONSTRAINED: "true",
    keys.LAYERS: '[{"topology": "example.com/rack", "size": 2}]',
}
TERM = {
    "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
TEMPLATE: dict[str, Any] = {
    "metadata": {"annotations": ANNOTATIONS, "labels": {"a": "b"}},
    "spec": {
        "containers": [{"name": "a", "resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}}],
        "initContainers": [{"name": "b", "resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"}],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": TERM}],
            }
        },
        "overhead": {"cpu": "1m"},
    },
}
REPLICAS = {"replicas": 2, "template": TEMPLATE}
RAY = {"headGroupSpec": REPLICAS, "workerGroupSpecs": [{"groupName": "w", "numOfHosts": 2, **REPLICAS}]}
POD_META = {"labels": {keys.POD_GROUP: "g"}, "annotations": {keys.POD_GROUP_COUNT: "1", **ANNOTATIONS}}
REQUEST = {
    "required": "example.com/block",
    "podSetSliceRequiredTopology": "example.com/rack",
    "podSetSliceSize": 2,
    "subGroupCount": 2,
    "podsetSliceRequiredTopologyConstraints": [{"topology": "example.com/rack", "size": 2}],
}


def an_object(api_version: str, kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", **metadata}, "spec": spec}


JOB = {"parallelism": 4, "completions": 4, "template": TEMPLATE}
OBJECTS = [
    an_object("batch/v1", "Job", JOB, annotations={keys.ELASTIC: "true", keys.MIN_PARALLELISM: "2"}, generation=3),
    an_object("batch/v1", "CronJob", {"jobTemplate": {"spec": JOB}}),
    an_object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [{"name": "a", "template": {"spec": JOB}}]}),
    an_object("v1", "Pod", TEMPLATE["spec"], **POD_META),
    an_object("v1", "Pod", TEMPLATE["spec"]),
    an_object(
        "kueue.x-k8s.io/v1beta2",
        "Workload",
        {"podSets": [{"name": "a", "count": 4, "minCount": 2, "template": TEMPLATE, "topologyRequest": REQUEST}]},
    ),
    an_object(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {
            "replicas": 2,
            "leaderWorkerTemplate": {"size": 3, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE},
        },
    ),
    an_object("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": REPLICAS, "Worker": REPLICAS}}),
    an_object("apps/v1", "Deployment", REPLICAS),
    an_object("apps/v1", "StatefulSet", REPLICAS),
    an_object("ray.io/v1", "RayCluster", RAY),
    an_object("ray.io/v1", "RayJob", {"rayClusterSpec": RAY, "submissionMode": "SidecarMode"}),
    an_object("kueue.x-k8s.io/v1beta2", "Topology", {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "b"}]}),
    an_object(
        "kueue.x-k8s.io/v1beta2",
        "ResourceFlavor",
        {
            "nodeLabels": {"a": "b"},
            "nodeTaints": [{"key": "a", "effect": "NoSchedule"}],
            "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}],
            "topologyName": "t",
        },
    ),
    {**an_object("v1", "Node", {}), "status": {"allocatable": {"cpu": 4}}},
]

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["auto", "-1", "1e99", "true", "0", "x" * 400]),
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
def test_reading_never_crashes(data: st.DataObject) -> None:
    objects = [copy.deepcopy(data.draw(st.sampled_from(OBJECTS))) for _ in range(data.draw(st.integers(1, 2)))]
    for _ in range(data.draw(st.integers(0, 3))):
        container, key = data.draw(st.sampled_from(places(objects)))
        if isinstance(container, dict) and data.draw(st.booleans()):
            del container[key]
        else:
            container[key] = data.draw(JUNK)
    gates = Gates.profile(data.draw(st.sampled_from(["kueue", "closeknit"])))
    pairs = [("file.yaml", one) for one in objects if isinstance(one, dict)]
    for reading in read(pairs, gates, CHECKS):
        assert not (reading.jobs and reading.mistakes)
        assert all(mistake.text and mistake.what for mistake in reading.mistakes)
        for job in reading.jobs:
            assert all(0 <= one.count < 2**31 for one in job.request.pod_sets)


def test_the_objects_that_are_mangled_are_read_as_they_are() -> None:
    readings = read([("file.yaml", one) for one in OBJECTS], Gates.profile("kueue"), CHECKS)
    assert not any(reading.skipped for reading in readings)
