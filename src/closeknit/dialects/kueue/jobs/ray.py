"""Ray's kinds: a cluster has one head and groups of workers; a RayJob also has a pod that submits it."""

from __future__ import annotations

from typing import Any

from ...field import Field
from .roles import Role, check_names, product

SUBMITTER: dict[str, Any] = {
    "name": "ray-job-submitter",
    "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
}
"""What KubeRay runs when no submitter is described."""


def ray_cluster(body: Field) -> list[Role]:
    return _cluster(body.at("spec"))


def ray_service(body: Field) -> list[Role]:
    return _cluster(body.at("spec", "rayClusterConfig"))


def ray_job(body: Field) -> list[Role]:
    """No roles for a job that runs in a cluster which exists already."""
    spec = body.at("spec")
    if spec.at("clusterSelector").value:
        return []
    roles = _cluster(spec.at("rayClusterSpec"))
    match spec.at("submissionMode").text("K8sJobMode"):
        case "K8sJobMode":
            template = spec.at("submitterPodTemplate")
            default = Field({"spec": {"containers": [SUBMITTER]}}, template.path, template.report)
            return [*roles, Role("submitter", 1, template if template.given else default, ranked=False)]
        case "SidecarMode":
            return [_with_submitter(roles[0]), *roles[1:]]
    return roles


def _cluster(spec: Field) -> list[Role]:
    scaling = spec.at("enableInTreeAutoscaling")
    if scaling.value:
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
    head = spec.at("headGroupSpec")
    check_names([Field("head", head.path, head.report), *(group.at("groupName") for group in groups)])
    return [Role("head", 1, head.at("template")), *workers]


def _with_submitter(head: Role) -> Role:
    """The head with the submitter as one more container."""
    template = head.template.mapping()
    spec = head.template.at("spec").mapping()
    containers = [field.value for field in head.template.at("spec", "containers").items()]
    value = {**template, "spec": {**spec, "containers": [*containers, SUBMITTER]}}
    return Role(head.name, head.count, Field(value, head.template.path, head.template.report))
