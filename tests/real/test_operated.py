"""Jobs of other operators: suspended, counted, started on their planned hosts, restored, and finished."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import yaml

from host import jobs_of_each_kind as known
from host.jobs_of_each_kind import Case
from servers.manifests import Object

from .operators import MPI, RAY_CLUSTER, RAY_JOB, TORCH, TRAIN, Operator
from .scene import SCENE, WORKLOADS, Scene

REPLICA, COMPLETION = "training.kubeflow.org/replica-index", "batch.kubernetes.io/job-completion-index"
POD_SET = "kueue.x-k8s.io/podset"


class Played(NamedTuple):
    """`ranks` is the label with the pod's rank, for the pod sets that have one."""

    case: Case
    operator: Operator
    sets: dict[str, int]
    ranks: dict[str, str]


PLAYED = (
    Played(known.MPI_JOB, MPI, {"launcher": 1, "worker": 3}, {"worker": REPLICA}),
    Played(known.PYTORCH_JOB, TORCH, {"master": 1, "worker": 3}, {"master": REPLICA, "worker": REPLICA}),
    Played(known.TRAIN_JOB, TRAIN, {"node": 4}, {"node": COMPLETION}),
    Played(known.RAY_CLUSTER, RAY_CLUSTER, {"head": 1, "small": 3}, {}),
    Played(known.RAY_JOB, RAY_JOB, {"head": 1, "small": 2, "submitter": 1}, {}),
)


@pytest.fixture(params=PLAYED, ids=lambda one: one.case.name)
def played(request: pytest.FixtureRequest) -> Played:
    found: Played = request.param
    return found


def submitted(scene: Scene, played: Played) -> Object:
    """Submit the job with what it needs in this scene; all pods run until the test ends them."""
    body: Object = {}
    for one in yaml.safe_load_all(played.case.manifest.replace("20s", "forever")):
        if one["kind"] == "ClusterTrainingRuntime":
            scene.of_all(**{**one, "metadata": {"name": scene.name}})
        else:
            body = one
    if "runtimeRef" in body["spec"]:
        body["spec"]["runtimeRef"]["name"] = scene.name
    del body["metadata"]["labels"]
    return scene.submit(body)


def started(scene: Scene, played: Played) -> Object:
    """The job once it may run."""

    def may_run() -> Object | None:
        found = scene.get(played.operator.resource, "one")
        return None if played.operator.is_suspended(found) else found

    found: Object = scene.until(may_run, "it may run")
    played.operator.start(scene, found)
    return found


def test_it_is_held_counted_started_in_place_put_back_and_ended(scene: Scene, played: Played) -> None:
    operator = played.operator
    scene.nodes(racks=2, hosts=3, cpu=4)
    made = submitted(scene, played)
    assert operator.is_suspended(made)
    scene.queue()
    workload = scene.await_true("one", "Admitted")
    assert {one["name"]: one["count"] for one in workload["spec"]["podSets"]} == played.sets

    job = started(scene, played)
    for name, template in operator.templates(job).items():
        assert template["metadata"]["labels"][POD_SET] == name
        assert template["spec"]["nodeSelector"][SCENE] == scene.name
        assert template["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
        assert SCENE in {one["key"] for one in template["spec"]["tolerations"]}
    check_places(scene, played)

    scene.patch(WORKLOADS, workload["metadata"]["name"], {"spec": {"active": False}})
    scene.until(lambda: operator.is_suspended(scene.get(operator.resource, "one")), "it is stopped")
    operator.stop(scene, job)
    scene.until(lambda: not scene.pods(gone=True), "its pods are gone")
    scene.until(lambda: operator.templates(scene.get(operator.resource, "one")) == operator.templates(made), "restored")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")

    scene.patch(WORKLOADS, workload["metadata"]["name"], {"spec": {"active": True}})
    job = started(scene, played)
    check_places(scene, played)
    if operator.ended is None:
        scene.delete(operator.resource, "one")
        scene.until(lambda: not scene.all(WORKLOADS), "its workload is gone")
    else:
        operator.end(scene, job)
        scene.await_true("one", "Finished")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")


def check_places(scene: Scene, played: Played) -> None:
    """Check that pods are bound as planned, by rank if there are ranks, each pod set in one rack."""
    scene.await_running(sum(played.sets.values()))
    for name in played.sets:
        plan, selector = scene.plan("one", name), f"{POD_SET}={name}"
        assert len(scene.racks(plan)) == 1
        if name in played.ranks:
            assert scene.places(selector, played.ranks[name]) == plan
        else:
            assert sorted(one["spec"]["nodeName"] for one in scene.pods(selector)) == sorted(plan)
