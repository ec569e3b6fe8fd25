"""Operators played by the test: they create the pods that the real operators would, with the same labels.

Each does what its operator does when a job starts, is stopped, and when all of its pods are done. They follow what the
real operators write, and share nothing with the stand-ins of the embedded host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from servers.manifests import Object

from .scene import JOBS, PODS, Scene

TRAINING = "training.kubeflow.org"
NOW = "2026-01-01T00:00:00Z"
RAY_CLUSTERS, JOB_SETS = "ray.io/v1/rayclusters", "jobset.x-k8s.io/v1alpha2/jobsets"
CLUSTER_RUNTIMES = "trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"


class Operator(NamedTuple):
    """`pause` is the path of the kind's suspend field, `templates` the paths of the pod templates of each pod set.

    `start`, `stop` and `end` are the operator's actions.
    """

    resource: str
    pause: tuple[str, ...]
    templates: Callable[[Object], dict[str, Object]]
    start: Callable[[Scene, Object], None]
    stopped: Object
    ended: Object | None

    def is_suspended(self, raw: Object) -> bool:
        found: Any = raw["spec"]
        for name in self.pause:
            found = found.get(name) or {}
        return found is True

    def stop(self, scene: Scene, raw: Object) -> None:
        """Delete the job's pods and their owners."""
        for resource in (RAY_CLUSTERS, JOB_SETS, JOBS, PODS):
            for one in scene.all(resource):
                owners = one["metadata"].get("ownerReferences") or ()
                if any(owner["uid"] == raw["metadata"]["uid"] for owner in owners):
                    scene.delete(resource, one["metadata"]["name"])
        self.tell(scene, raw, self.stopped)

    def end(self, scene: Scene, raw: Object) -> None:
        assert self.ended is not None
        self.tell(scene, raw, self.ended)

    def tell(self, scene: Scene, raw: Object, status: Object) -> None:
        scene.patch(self.resource, raw["metadata"]["name"], {"status": status}, "status")


def made(scene: Scene, owner: Object, kind: tuple[str, str], name: str, body: Mapping[str, Any]) -> Object:
    """An object that belongs to `owner`."""
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    meta = {**body.get("metadata", {}), "name": name, "namespace": scene.name}
    meta["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    return scene.create({**body, "apiVersion": kind[0], "kind": kind[1], "metadata": meta})


def pod(scene: Scene, owner: Object, name: str, template: Object, labels: Mapping[str, str], **spec: Any) -> None:
    body = labelled(template, labels)
    made(scene, owner, ("v1", "Pod"), name, {**body, "spec": {**body["spec"], **spec}})


def labelled(template: Object, labels: Mapping[str, str]) -> Object:
    meta = template.get("metadata") or {}
    return {**template, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), **labels}}}


def condition(kind: str) -> Object:
    return {"type": kind, "status": "True", "reason": kind, "message": kind, "lastTransitionTime": NOW}


def conditions(kind: str) -> Object:
    return {"conditions": [condition(kind)]}


# Kubeflow


def _training(job: Object, operator: str, **more: str) -> dict[str, str]:
    marks = {"job-name": job["metadata"]["name"], "operator-name": operator, **more}
    return {f"{TRAINING}/{key.replace('_', '-')}": value for key, value in marks.items()}


def _mpi_templates(job: Object) -> dict[str, Object]:
    return {name.lower(): one["template"] for name, one in job["spec"]["mpiReplicaSpecs"].items()}


def _start_mpi(scene: Scene, job: Object) -> None:
    """Workers as pods, the launcher as a Job."""
    name, specs = job["metadata"]["name"], job["spec"]["mpiReplicaSpecs"]
    for index in range(specs["Worker"].get("replicas", 1)):
        labels = _training(job, "mpi-operator", job_role="worker", replica_index=str(index))
        pod(scene, job, f"{name}-worker-{index}", specs["Worker"]["template"], labels, restartPolicy="Never")
    template = labelled(specs["Launcher"]["template"], _training(job, "mpi-operator", job_role="launcher"))
    template = {**template, "spec": {"restartPolicy": "OnFailure", **template["spec"]}}
    made(scene, job, ("batch/v1", "Job"), f"{name}-launcher", {"spec": {"template": template}})
    active = {"Launcher": {"active": 1}, "Worker": {"active": specs["Worker"].get("replicas", 1)}}
    MPI.tell(scene, job, {**conditions("Running"), "replicaStatuses": active})


def _torch_templates(job: Object) -> dict[str, Object]:
    return {name.lower(): one["template"] for name, one in job["spec"]["pytorchReplicaSpecs"].items()}


def _start_torch(scene: Scene, job: Object) -> None:
    name = job["metadata"]["name"]
    for kind, spec in job["spec"]["pytorchReplicaSpecs"].items():
        for index in range(spec.get("replicas", 1)):
            labels = _training(
                job, "pytorchjob-controller", replica_type=kind.lower(), replica_index=str(index), job_role=kind.lower()
            )
            short = f"{name}-{kind.lower()}-{index}"
            pod(scene, job, short, spec["template"], labels, restartPolicy=spec.get("restartPolicy", "OnFailure"))
    TORCH.tell(scene, job, {**conditions("Running"), "replicaStatuses": {"Worker": {"active": 1}}})


# Trainer


def _train_templates(job: Object) -> dict[str, Object]:
    """The pod templates of the runtime's parts, with the job's patches."""
    found: dict[str, Object] = {}
    for patch in job["spec"].get("runtimePatches") or ():
        for one in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
            found[one["name"]] = one["template"]["spec"]["template"]
    return found


def _start_train(scene: Scene, job: Object) -> None:
    """Create a JobSet for the real controller, with the placement from the patches."""
    runtime = scene.api.get(f"/apis/{CLUSTER_RUNTIMES}/{job['spec']['runtimeRef']['name']}").body
    patches, parts = _train_templates(job), []
    for one in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        spec = one["template"]["spec"]
        nodes = job["spec"].get("trainer", {}).get("numNodes", 1)
        sizes = {"parallelism": nodes, "completions": nodes}
        template = _patched(spec["template"], patches[one["name"]])
        parts.append({**one, "template": {**one["template"], "spec": {**spec, **sizes, "template": template}}})
    name = job["metadata"]["name"]
    made(scene, job, ("jobset.x-k8s.io/v1alpha2", "JobSet"), name, {"spec": {"replicatedJobs": parts}})


def _patched(template: Object, patch: Object) -> Object:
    """Maps are merged, and lists are replaced."""
    merged = dict(template)
    for key, value in patch.items():
        there = merged.get(key)
        merged[key] = _patched(there, value) if isinstance(value, dict) and isinstance(there, dict) else value
    return merged


# Ray


def _ray_templates(spec: Object) -> dict[str, Object]:
    groups = {one["groupName"]: one["template"] for one in spec.get("workerGroupSpecs") or ()}
    return {"head": spec["headGroupSpec"]["template"], **groups}


def _start_ray(scene: Scene, cluster: Object) -> None:
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    marks = {"ray.io/cluster": name, "ray.io/is-ray-node": "yes"}
    head = {**marks, "ray.io/node-type": "head", "ray.io/group": "headgroup"}
    pod(scene, cluster, f"{name}-head", spec["headGroupSpec"]["template"], head)
    for group in spec.get("workerGroupSpecs") or ():
        for index in range(group.get("replicas", 1)):
            labels = {**marks, "ray.io/node-type": "worker", "ray.io/group": group["groupName"]}
            pod(scene, cluster, f"{name}-{group['groupName']}-worker-{index}", group["template"], labels)
    RAY_CLUSTER.tell(scene, cluster, {"state": "ready"})


def _start_ray_job(scene: Scene, job: Object) -> None:
    """A cluster of its own, and a Job that submits."""
    name = job["metadata"]["name"]
    cluster = made(scene, job, ("ray.io/v1", "RayCluster"), f"{name}-x7k2p", {"spec": job["spec"]["rayClusterSpec"]})
    assert not cluster["spec"].get("suspend"), "a cluster of a job that runs is not held"
    _start_ray(scene, cluster)
    template = job["spec"].get("submitterPodTemplate") or _submitter(job)
    template = {**template, "spec": {"restartPolicy": "Never", **template["spec"]}}
    made(scene, job, ("batch/v1", "Job"), name, {"spec": {"template": template}})
    RAY_JOB.tell(scene, job, {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"})


def _submitter(job: Object) -> Object:
    """The submitter Job as the operator creates it, with the head's image."""
    image = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
    room = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    return {"spec": {"containers": [{"name": "ray-job-submitter", "image": image, "resources": room}]}}


def _ray_job_templates(job: Object) -> dict[str, Object]:
    submitter = job["spec"].get("submitterPodTemplate")
    found = _ray_templates(job["spec"]["rayClusterSpec"])
    return {**found, "submitter": submitter} if submitter else found


MPI = Operator(
    "kubeflow.org/v2beta1/mpijobs",
    ("runPolicy", "suspend"),
    _mpi_templates,
    _start_mpi,
    {"replicaStatuses": None, "conditions": []},
    {**conditions("Succeeded"), "replicaStatuses": None},
)
TORCH = Operator(
    "kubeflow.org/v1/pytorchjobs",
    ("runPolicy", "suspend"),
    _torch_templates,
    _start_torch,
    {"replicaStatuses": None, "conditions": []},
    {**conditions("Succeeded"), "replicaStatuses": None},
)
TRAIN = Operator(
    "trainer.kubeflow.org/v1alpha1/trainjobs",
    ("suspend",),
    _train_templates,
    _start_train,
    {"conditions": []},
    conditions("Complete"),
)
RAY_CLUSTER = Operator(
    RAY_CLUSTERS,
    ("suspend",),
    lambda cluster: _ray_templates(cluster["spec"]),
    _start_ray,
    {"state": "suspended"},
    None,
)
RAY_JOB = Operator(
    "ray.io/v1/rayjobs",
    ("suspend",),
    _ray_job_templates,
    _start_ray_job,
    {"jobDeploymentStatus": "Suspended"},
    {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
)
