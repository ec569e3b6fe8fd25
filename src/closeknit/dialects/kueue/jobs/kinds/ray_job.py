"""RayJob: a RayCluster for the job, and usually a pod that submits it. A RayJob in an existing cluster does not wait,
since KubeRay cannot suspend it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .... import cel
from .... import known_fields as known
from ....cel import ANNOTATIONS, PolicyCheck, all_of
from ....field import Field
from ....served import Kind
from ..integration import Counts, Finished, Sets, Templates, form, forms
from ..job_kind import AGE, AdmissionHold, Column
from ..raw import Raw, at, items, mapping, put, without
from ..roles import Role
from . import ray_cluster
from .ray_cluster import GROUP, RAY_CLUSTER, READY

SUBMITTER: dict[str, Any] = {
    "name": "ray-job-submitter",
    "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
}
"""The submitter that KubeRay creates if the job has none."""

SUBMITTER_ROLE = "submitter"
CLUSTER = "spec.rayClusterSpec"
_CLUSTER = ("spec", "rayClusterSpec")
_SUBMITTER = ("spec", "submitterPodTemplate")


def roles(body: Field) -> list[Role]:
    """The roles; none for a job that runs in an existing cluster."""
    spec = body.at("spec")
    if spec.at("clusterSelector").value:
        return []
    found = ray_cluster.cluster_roles(spec.at("rayClusterSpec"), ray_cluster.is_elastic(body))
    match spec.at("submissionMode").text("K8sJobMode"):
        case "K8sJobMode":
            template = spec.at("submitterPodTemplate")
            default = Field({"spec": {"containers": [SUBMITTER]}}, template.path, template.report)
            return [*found, Role(SUBMITTER_ROLE, 1, template if template.given else default, ranked=False)]
        case "SidecarMode":
            return [ray_cluster.with_container(found[0], SUBMITTER), *found[1:]]
    return found


def pod_sets(raw: Raw) -> Sets:
    """The pod sets; the submitter that KubeRay creates by default gets the image of the head."""
    found = forms(raw, roles)
    if found and found[-1].name == SUBMITTER_ROLE and at(raw, *_SUBMITTER) is None:
        return (*found[:-1], form(SUBMITTER_ROLE, 1, default_submitter(raw)))
    return found


def default_submitter(raw: Raw) -> Raw:
    containers = items(raw, *_CLUSTER, "headGroupSpec", "template", "spec", "containers")
    image = at(containers[0], "image") if containers else None
    container = {**SUBMITTER, "image": image} if image else SUBMITTER
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    """Set the templates, but leave out a submitter that equals KubeRay's default."""
    raw = put(raw, _CLUSTER, ray_cluster.cluster_with_templates(mapping(raw, *_CLUSTER), templates))
    submitter = templates.get(SUBMITTER_ROLE)
    if submitter is None:
        return raw
    return without(raw, _SUBMITTER) if submitter == default_submitter(raw) else put(raw, _SUBMITTER, submitter)


def finished(raw: Raw) -> Finished | None:
    status = mapping(raw, "status")
    if status.get("jobDeploymentStatus") not in ("Complete", "Failed"):
        return None
    return Finished(status.get("jobStatus") == "SUCCEEDED", status.get("message") or "")


def is_active(raw: Raw) -> bool:
    return (at(raw, "status", "jobDeploymentStatus") or "") not in ("", "Suspended")


def is_ready(raw: Raw) -> bool:
    return bool(at(raw, "status", "rayClusterStatus", "state") == READY)


def ignored(raw: Raw) -> str:
    return "it runs in an existing cluster" if at(raw, "spec", "clusterSelector") else ""


def refusal(raw: Raw) -> str:
    if at(raw, "spec", "shutdownAfterJobFinishes") is not True:
        return "spec.shutdownAfterJobFinishes: a kueue managed job should delete the cluster after finishing"
    return ray_cluster.autoscaling(raw, CLUSTER)


def on_hold(raw: Raw) -> str:
    failed = at(raw, "status", "jobDeploymentStatus") == "ValidationFailed"
    return at(raw, "status", "message") or "the RayJob is not valid" if failed else ""


_ELSEWHERE = f"{cel.at('spec.clusterSelector', '{}')} != {{}}"


def _sets() -> str:
    template = cel.one_set("object.?spec.?submitterPodTemplate", cel.text("spec.submitterPodTemplate" + ANNOTATIONS))
    submitted = f'{cel.at("spec.submissionMode", cel.text("K8sJobMode"))} == "K8sJobMode"'
    submitter = f"({all_of(submitted, cel.given('spec.submitterPodTemplate'))} ? [{template}] : [])"
    return f"({_ELSEWHERE}) ? [] : {ray_cluster.sets(CLUSTER)} + {submitter}"


_SHUTDOWN = PolicyCheck(
    f"{cel.at('spec.shutdownAfterJobFinishes', 'false')} == true",
    "spec.shutdownAfterJobFinishes",
    "must be true, so that the quota is released when the job finishes",
)

RAY_JOB = replace(
    RAY_CLUSTER,
    served=Kind(GROUP, "v1", "RayJob", "rayjobs", categories=("all",)),
    framework="ray.io/rayjob",
    description="A program that runs on a Ray cluster of its own.",
    roles=roles,
    fields={f"{CLUSTER}.workerGroupSpecs[]": known.RAY_WORKERS},
    runs_itself=True,
    columns=(
        Column("job status", "status.jobStatus"),
        Column("deployment status", "status.jobDeploymentStatus"),
        Column("ray cluster name", "status.rayClusterName"),
        Column("start time", "status.startTime"),
        Column("end time", "status.endTime"),
        AGE._replace(name="age"),
    ),
    sets_in=pod_sets,
    with_templates=with_templates,
    finished=finished,
    is_active=is_active,
    ready_in=is_ready,
    ignored=ignored,
    refusal=refusal,
    on_hold=on_hold,
    held=AdmissionHold(
        unless=_ELSEWHERE,
        sets=_sets(),
        variables=ray_cluster.groups(CLUSTER),
        checks_when_held=(_SHUTDOWN, *ray_cluster.group_checks(CLUSTER)),
        unbounded=all_of(cel.IS_UPDATE, ray_cluster.IS_ELASTIC),
    ),
)
