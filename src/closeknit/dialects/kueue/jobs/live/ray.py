"""RayCluster and RayJob: a head, groups of workers, and for a job most often a pod that submits it.

The head's pod has more containers than its template: KubeRay adds the autoscaler and, if wanted, the submitter. A
Workload counts them, but they are never written into the job.
"""

from __future__ import annotations

from dataclasses import replace

from ... import keys
from ..integration import Counts, Finished, Integration, Sets, Templates, form, forms
from ..raw import Raw, at, items, mapping, put, without
from ..ray import HEAD, SUBMITTER, SUBMITTER_ROLE, ray_cluster, ray_job
from .job import is_suspended, suspended

GROUP = "ray.io"
READY = "ready"
_CLUSTER = ("spec", "rayClusterSpec")
_SUBMITTER = ("spec", "submitterPodTemplate")


def cluster_sets(raw: Raw) -> Sets:
    return forms(raw, ray_cluster)


def job_sets(raw: Raw) -> Sets:
    """As read, but for the submitter that KubeRay makes when none is described: that has the image of the head."""
    found = forms(raw, ray_job)
    if found and found[-1].name == SUBMITTER_ROLE and at(raw, *_SUBMITTER) is None:
        return (*found[:-1], form(SUBMITTER_ROLE, 1, default_submitter(raw)))
    return found


def default_submitter(raw: Raw) -> Raw:
    containers = items(raw, *_CLUSTER, "headGroupSpec", "template", "spec", "containers")
    image = at(containers[0], "image") if containers else None
    container = {**SUBMITTER, "image": image} if image else SUBMITTER
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def cluster_with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    return put(raw, ("spec",), _with_templates(mapping(raw, "spec"), templates))


def job_with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    """A submitter that is as KubeRay would make it need not be written down."""
    raw = put(raw, _CLUSTER, _with_templates(mapping(raw, *_CLUSTER), templates))
    submitter = templates.get(SUBMITTER_ROLE)
    if submitter is None:
        return raw
    return without(raw, _SUBMITTER) if submitter == default_submitter(raw) else put(raw, _SUBMITTER, submitter)


def _with_templates(cluster: Raw, templates: Templates) -> Raw:
    head = mapping(cluster, "headGroupSpec")
    containers = at(head, "template", "spec", "containers")
    changed = {**head, "template": put(templates[HEAD], ("spec", "containers"), containers)}
    if "workerGroupSpecs" not in cluster:
        return {**cluster, "headGroupSpec": changed}
    groups = items(cluster, "workerGroupSpecs")
    workers = [{**group, "template": templates[group["groupName"].lower()]} for group in groups]
    return {**cluster, "headGroupSpec": changed, "workerGroupSpecs": workers}


def never(_raw: Raw) -> Finished | None:
    """A cluster is there until somebody deletes it."""
    return None


def cluster_ready(raw: Raw) -> bool:
    return bool(at(raw, "status", "state") == READY)


def job_finished(raw: Raw) -> Finished | None:
    status = mapping(raw, "status")
    if status.get("jobDeploymentStatus") not in ("Complete", "Failed"):
        return None
    return Finished(status.get("jobStatus") == "SUCCEEDED", status.get("message") or "")


def job_active(raw: Raw) -> bool:
    return (at(raw, "status", "jobDeploymentStatus") or "") not in ("", "Suspended")


def job_ready(raw: Raw) -> bool:
    return bool(at(raw, "status", "rayClusterStatus", "state") == READY)


def job_ignored(raw: Raw) -> str:
    return "it runs in a cluster that exists already" if at(raw, "spec", "clusterSelector") else ""


def job_refusal(raw: Raw) -> str:
    if at(raw, "spec", "shutdownAfterJobFinishes") is not True:
        return "spec.shutdownAfterJobFinishes: a kueue managed job should delete the cluster after finishing"
    return _autoscaling(raw, _CLUSTER)


def cluster_refusal(raw: Raw) -> str:
    return _autoscaling(raw, ("spec",))


def _autoscaling(raw: Raw, cluster: tuple[str, ...]) -> str:
    elastic = at(raw, "metadata", "annotations", keys.ELASTIC) == "true"
    if elastic or at(raw, *cluster, "enableInTreeAutoscaling") is not True:
        return ""
    return f"{'.'.join(cluster)}.enableInTreeAutoscaling: a kueue managed job should not use autoscaling"


def on_hold(raw: Raw) -> str:
    failed = at(raw, "status", "jobDeploymentStatus") == "ValidationFailed"
    return at(raw, "status", "message") or "the RayJob is not valid" if failed else ""


RAY_CLUSTER = Integration(
    GROUP,
    "RayCluster",
    "ray.io/raycluster",
    is_suspended,
    suspended,
    cluster_sets,
    cluster_with_templates,
    never,
    cluster_ready,
    cluster_ready,
    refusal=cluster_refusal,
    may_be_elastic=True,
)

RAY_JOB = replace(
    RAY_CLUSTER,
    kind="RayJob",
    framework="ray.io/rayjob",
    sets_in=job_sets,
    with_templates=job_with_templates,
    finished=job_finished,
    is_active=job_active,
    ready_in=job_ready,
    ignored=job_ignored,
    refusal=job_refusal,
    on_hold=on_hold,
)
