"""JobSet and LeaderWorkerSet under their real controllers, StatefulSet and Deployment under those of Kubernetes."""

from __future__ import annotations

from closeknit.observe.pool_form import RACK
from servers.manifests import Object, is_true

from .scene import WORKLOADS, Scene
from .work import template

JOB_SETS, LEADER_WORKER_SETS = "jobset.x-k8s.io/v1alpha2/jobsets", "leaderworkerset.x-k8s.io/v1/leaderworkersets"
JOB_INDEX, WORKER_INDEX = "jobset.sigs.k8s.io/job-index", "leaderworkerset.sigs.k8s.io/worker-index"
COMPLETION, PART = "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/replicatedjob-name"
STATEFUL_SETS, DEPLOYMENTS = "apps/v1/statefulsets", "apps/v1/deployments"
POD_INDEX = "apps.kubernetes.io/pod-index"


def job_set(**parts: tuple[int, int, Object]) -> Object:
    """A JobSet with that many replicas, pods in each, and this template."""
    found = [
        {
            "name": name,
            "replicas": replicas,
            "template": {"spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": pod}},
        }
        for name, (replicas, pods, pod) in parts.items()
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train"},
        "spec": {"replicatedJobs": found},
    }


def nodes_of(scene: Scene, part: str, per_job: int) -> list[str]:
    """The nodes by rank: those of the first job, then those of the second."""

    def rank(pod: Object) -> int:
        labels = pod["metadata"]["labels"]
        return int(labels[JOB_INDEX]) * per_job + int(labels[COMPLETION])

    return [one["spec"].get("nodeName", "") for one in sorted(scene.pods(f"{PART}={part}"), key=rank)]


def test_the_parts_of_a_job_set_are_placed_by_rank_and_end_together(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=4, cpu=8)
    scene.queue()
    leader, worker = template(2, required=RACK), template(4, required=RACK)
    scene.submit(job_set(driver=(1, 1, leader), workers=(2, 3, worker)))
    running = scene.await_running(7)
    workload = scene.workload("train")
    assert [(one["name"], one["count"]) for one in workload["spec"]["podSets"]] == [("driver", 1), ("workers", 6)]
    for name, per_job in (("driver", 1), ("workers", 3)):
        plan = scene.plan("train", name)
        assert len(scene.racks(plan)) == 1
        assert nodes_of(scene, name, per_job) == plan
    scene.finish(*running)
    scene.await_true("train", "Finished")
    scene.until(lambda: is_true(scene.get(JOB_SETS, "train"), "Completed"), "the JobSet is Completed")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")


def test_the_jobs_of_a_job_set_can_each_have_a_rack(scene: Scene) -> None:
    scene.nodes(racks=3, hosts=2, cpu=8)
    scene.queue()
    worker = template(4, unconstrained="true", slice_required=RACK, slice_size="4")
    scene.submit(job_set(workers=(3, 4, worker)))
    scene.await_running(12)
    plan = scene.plan("train", "workers")
    assert nodes_of(scene, "workers", 4) == plan
    assert [scene.racks(plan[at : at + 4]) for at in (0, 4, 8)] == [["b1-r1"], ["b1-r2"], ["b1-r3"]]


def test_each_replica_of_a_leader_worker_set_is_in_a_rack(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=3, cpu=8)
    scene.queue()
    body = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve"},
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {"size": 5, "workerTemplate": template(4, restart="Always", required=RACK)},
        },
    }
    scene.submit(body)
    scene.await_running(10)
    scene.until(lambda: is_true(scene.get(LEADER_WORKER_SETS, "serve"), "Available"), "it is available")
    racks = []
    for group in ("0", "1"):
        selector = f"leaderworkerset.sigs.k8s.io/group-index={group}"
        pods = scene.pods(selector)
        (name,) = {one["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for one in pods}
        assert scene.places(selector, WORKER_INDEX) == scene.plan(name)
        racks.append(scene.racks(scene.plan(name)))
    assert sorted(racks) == [["b1-r1"], ["b1-r2"]]
    scene.delete(LEADER_WORKER_SETS, "serve")
    scene.until(lambda: not scene.pods(gone=True) and not scene.all(WORKLOADS), "everything of it is gone")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")


def test_a_leader_of_another_kind_shares_the_rack_of_its_workers(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=3, cpu=8)
    scene.queue()
    near = {"required": RACK, "group_name": "replica"}
    template_ = {
        "size": 3,
        "leaderTemplate": template(2, restart="Always", **near),
        "workerTemplate": template(6, restart="Always", **near),
    }
    body = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": template_},
    }
    scene.submit(body)
    pods = scene.await_running(3)
    (name,) = {one["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for one in pods}
    sets = [one["name"] for one in scene.workload(name)["spec"]["podSets"]]
    assert len(sets) == 2
    plans = [scene.plan(name, one) for one in sets]
    assert sorted(map(len, plans)) == [1, 2]
    assert len(scene.racks([host for plan in plans for host in plan])) == 1
    assert sorted(scene.places(rank=WORKER_INDEX)) == sorted(host for plan in plans for host in plan)


def apps(kind: str, replicas: int, pod: Object, **more: object) -> Object:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "serve"}}, "template": pod, **more}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "serve"}, "spec": spec}


def test_a_stateful_set_is_placed_by_its_ordinals_and_goes_without_a_trace(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2, cpu=8)
    scene.queue()
    pod = template(4, restart="Always", labels={"app": "serve"}, required=RACK)
    scene.submit(apps("StatefulSet", 3, pod, serviceName="serve"))
    pods = scene.await_running(3)
    (name,) = {one["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for one in pods}
    plan = scene.plan(name)
    assert scene.places("app=serve", POD_INDEX) == plan
    assert len(scene.racks(plan)) == 1
    scene.delete(STATEFUL_SETS, "serve")
    scene.until(lambda: not scene.pods(gone=True) and not scene.all(WORKLOADS), "everything of it is gone")


def test_a_stateful_set_of_none_holds_nothing_and_comes_back_larger(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue()
    pod = template(4, restart="Always", labels={"app": "serve"}, required=RACK)
    scene.submit(apps("StatefulSet", 2, pod, serviceName="serve"))
    scene.await_running(2)
    scene.patch(STATEFUL_SETS, "serve", {"spec": {"replicas": 0}})
    scene.until(lambda: not scene.pods(gone=True), "it is down to none")
    scene.await_false("serve", "QuotaReserved")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")
    scene.patch(STATEFUL_SETS, "serve", {"spec": {"replicas": 4}})
    scene.await_running(4)
    scene.until(lambda: scene.used() == "16", "four pods are counted")


def test_every_pod_of_a_deployment_waits_for_itself(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue(cpu=12)
    pod = template(4, restart="Always", labels={"app": "serve"}, required=RACK)
    scene.submit(apps("Deployment", 4, pod))
    running = scene.await_running(3)
    for one in running:
        assert [one["spec"]["nodeName"]] == scene.plan(one["metadata"]["name"])
    waiting = scene.until(lambda: [one for one in scene.pods() if not one["spec"].get("nodeName")], "one waits")
    assert len(waiting) == 1
    assert waiting[0]["spec"]["schedulingGates"]
    scene.patch(DEPLOYMENTS, "serve", {"spec": {"replicas": 0}})
    scene.until(lambda: not scene.pods(gone=True), "it is down to none")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")
