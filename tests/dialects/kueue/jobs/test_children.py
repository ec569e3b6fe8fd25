"""Whether an object is a child of its owner: by the kinds, names and labels that controllers give."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.children import has_unlisted_owners, is_child

Raw = dict[str, Any]


def one(kind: str, name: str, labels: dict[str, str] | None = None, **more: Any) -> Raw:
    return {"kind": kind, "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}}, **more}


JOB = one("Job", "a")
MANUAL = one("Job", "a", spec={"manualSelector": True, "selector": {"matchLabels": {"app": "x"}}})
JOB_SET = one("JobSet", "a", spec={"replicatedJobs": [{"name": "w", "replicas": 2}, {"name": "solo"}]})
RAY_JOB = one("RayJob", "a")
RAY_JOB_RUNS = one("RayJob", "a", status={"rayClusterName": "a-x1"})
WRAPPER = one("AppWrapper", "a", spec={"components": [{"template": {"kind": "Job", "metadata": {"name": "inner"}}}]})
OF_A = {"batch.kubernetes.io/controller-uid": "uid-a"}

CASES = [
    (JOB, one("Pod", "a-0-x", OF_A), True),
    (JOB, one("Pod", "a-0-x", {"controller-uid": "uid-a"}), True),
    (JOB, one("Pod", "a-0-x"), False),
    (JOB, one("Pod", "a-0-x", {"batch.kubernetes.io/controller-uid": "uid-b"}), False),
    (JOB, one("Job", "b", OF_A), False),
    (MANUAL, one("Pod", "p", {"app": "x"}), True),
    (MANUAL, one("Pod", "p", {"app": "y"}), False),
    (JOB_SET, one("Job", "a-w-1"), True),
    (JOB_SET, one("Job", "a-solo-0"), True),
    (JOB_SET, one("Job", "a-w-2"), False),
    (JOB_SET, one("Job", "a-w--1"), False),
    (JOB_SET, one("Job", "a-w-²"), False),
    (JOB_SET, one("Job", "thief"), False),
    (JOB_SET, one("Pod", "a-w-1"), False),
    (one("TrainJob", "a"), one("JobSet", "a"), True),
    (one("TrainJob", "a"), one("JobSet", "b"), False),
    (one("MPIJob", "a"), one("Job", "a-launcher"), True),
    (one("MPIJob", "a"), one("Job", "thief"), False),
    (one("MPIJob", "a"), one("Pod", "a-worker-0"), True),
    (one("PyTorchJob", "a"), one("Pod", "a-master-0"), True),
    (one("PyTorchJob", "a"), one("Pod", "thief"), False),
    (RAY_JOB, one("RayCluster", "a-x1"), True),
    (RAY_JOB_RUNS, one("RayCluster", "a-x1"), True),
    (RAY_JOB_RUNS, one("RayCluster", "a-x2"), False),
    (RAY_JOB, one("Job", "a"), True),
    (RAY_JOB, one("Job", "thief"), False),
    (one("RayCluster", "a"), one("Pod", "p", {"ray.io/cluster": "a"}), True),
    (one("RayCluster", "a"), one("Pod", "p"), False),
    (WRAPPER, one("Job", "inner"), True),
    (WRAPPER, one("Job", "thief"), False),
    (WRAPPER, one("Pod", "inner"), False),
    (one("LeaderWorkerSet", "a"), one("StatefulSet", "a"), True),
    (one("LeaderWorkerSet", "a"), one("StatefulSet", "thief"), False),
    (one("StatefulSet", "a"), one("Pod", "a-0"), True),
    (one("StatefulSet", "a"), one("Pod", "a-x"), False),
    (one("Pod", "a-0"), one("StatefulSet", "a-0"), True),
    (one("Pod", "a-0"), one("Job", "a-0"), False),
    (one("SparkApplication", "a"), one("Pod", "any"), True),
    (one("MyJob", "a"), one("Pod", "any"), True),
]


@pytest.mark.parametrize(
    ("owner", "child", "is_one"),
    CASES,
    ids=[f"{o['kind']}-{c['kind']}-{c['metadata']['name']}-{n}" for n, (o, c, _) in enumerate(CASES)],
)
def test_a_child_has_the_kind_and_name_that_its_owners_controller_gives(owner: Raw, child: Raw, is_one: bool) -> None:
    assert is_child(owner, child) is is_one


def component(kind: str, *paths: str) -> Raw:
    return {"template": {"kind": kind}, "podSets": [{"path": one} for one in paths]}


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        ([component("Job"), component("Pod", "template"), component("ConfigMap")], False),
        ([component("JobSet")], False),
        ([component("Job"), component("Deployment")], True),
        ([component("Odd", "template.spec.template")], True),
        ([], False),
    ],
)
def test_only_some_wrapped_kinds_have_pods_with_other_owners(components: list[Raw], expected: bool) -> None:
    assert has_unlisted_owners(one("AppWrapper", "a", spec={"components": components})) is expected
