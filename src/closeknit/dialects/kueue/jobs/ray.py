"""Ray's kinds: a cluster has one head and groups of workers; a RayJob also has a pod that submits it."""

from __future__ import annotations

from typing import Any

from ...field import Field
from .. import keys
from .roles import Role, check_names, product

SUBMITTER: dict[str, Any] = {
    "name": "ray-job-submitter",
    "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
}
"""What KubeRay runs when no submitter is described."""

AUTOSCALER: dict[str, Any] = {
    "name": "autoscaler",
    "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}},
}
"""What KubeRay runs beside the head of a cluster that scales itself."""

HEAD = "head"
SUBMITTER_ROLE = "submitter"


def ray_cluster(body: Field) -> list[Role]:
    return _cluster(body.at("spec"), _is_elastic(body))


def ray_service(body: Field) -> list[Role]:
    return _cluster(body.at("spec", "rayClusterConfig"), _is_elastic(body))


def ray_job(body: Field) -> list[Role]:
    """No roles for a job that runs in a cluster which exists already."""
    spec = body.at("spec")
    if spec.at("clusterSelector").value:
        return []
    roles = _cluster(spec.at("rayClusterSpec"), _is_elastic(body))
    match spec.at("submissionMode").text("K8sJobMode"):
        case "K8sJobMode":
            template = spec.at("submitterPodTemplate")
            default = Field({"spec": {"containers": [SUBMITTER]}}, template.path, template.report)
            return [*roles, Role(SUBMITTER_ROLE, 1, template if template.given else default, ranked=False)]
        case "SidecarMode":
            return [_with_container(roles[0], SUBMITTER), *roles[1:]]
    return roles


def _is_elastic(body: Field) -> bool:
    return body.at("metadata", "annotations", keys.ELASTIC).text() == "true"


def _cluster(spec: Field, elastic: bool) -> list[Role]:
    """Only a job that may grow and shrink may scale itself; its number of pods is that of the moment."""
    scaling = spec.at("enableInTreeAutoscaling")
    if scaling.value and not elastic:
        scaling.wrong("makes the number of pods unknown", "set it to false to have the cluster placed")
    groups = spec.at("workerGroupSpecs").items()
    workers = [
        Role(
            group.at("groupName").text().lower(),
            product(group.at("replicas"), max(1, group.at("numOfHosts").count(1))),
            group.at("template"),
        )
        for group in groups
    ]
    field = spec.at("headGroupSpec")
    check_names([Field(HEAD, field.path, field.report), *(group.at("groupName") for group in groups)])
    head = Role(HEAD, 1, field.at("template"))
    return [_with_container(head, _autoscaler(spec)) if scaling.value else head, *workers]


def _autoscaler(spec: Field) -> dict[str, Any]:
    resources = spec.at("autoscalerOptions", "resources")
    return {**AUTOSCALER, "resources": resources.mapping()} if resources.given else AUTOSCALER


def _with_container(head: Role, container: dict[str, Any]) -> Role:
    """The head with one more container."""
    template = head.template.mapping()
    spec = head.template.at("spec").mapping()
    containers = [field.value for field in head.template.at("spec", "containers").items()]
    value = {**template, "spec": {**spec, "containers": [*containers, container]}}
    return Role(head.name, head.count, Field(value, head.template.path, head.template.report))
