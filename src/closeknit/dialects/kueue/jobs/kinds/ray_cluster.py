"""RayCluster: a head and groups of workers; and what RayJob and RayService, which embed one, share with it.

The head's pod has more containers than its template: KubeRay adds the autoscaler and, if configured, the submitter. A
Workload counts them, but they are never written into the job.
"""

from __future__ import annotations

from typing import Any

from .... import cel
from .... import known_fields as known
from ....cel import ANNOTATIONS, IS_UPDATE, PolicyCheck, all_of, note, when
from ....field import Field
from ....served import Kind
from ... import keys
from ..integration import Counts, Finished, Integration, Templates
from ..job_kind import AGE, ALL_RULES, AdmissionHold, Column
from ..raw import Raw, at, items, mapping, put
from ..roles import MAX_POD_SETS, Role, check_names, product

GROUP = "ray.io"
HEAD = "head"
READY = "ready"
AUTOSCALER: dict[str, Any] = {
    "name": "autoscaler",
    "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}},
}
"""The container that KubeRay adds to the head of a cluster with autoscaling."""


def roles(body: Field) -> list[Role]:
    return cluster_roles(body.at("spec"), is_elastic(body))


def is_elastic(body: Field) -> bool:
    return body.at("metadata", "annotations", keys.ELASTIC).text() == "true"


def cluster_roles(spec: Field, elastic: bool) -> list[Role]:
    """The roles of the cluster. Only an elastic job may use autoscaling; its current number of pods counts."""
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
    return [with_container(head, _autoscaler(spec)) if scaling.value else head, *workers]


def _autoscaler(spec: Field) -> dict[str, Any]:
    resources = spec.at("autoscalerOptions", "resources")
    return {**AUTOSCALER, "resources": resources.mapping()} if resources.given else AUTOSCALER


def with_container(head: Role, container: dict[str, Any]) -> Role:
    """The head's template with an additional container."""
    template = head.template.mapping()
    spec = head.template.at("spec").mapping()
    containers = [field.value for field in head.template.at("spec", "containers").items()]
    value = {**template, "spec": {**spec, "containers": [*containers, container]}}
    return Role(head.name, head.count, Field(value, head.template.path, head.template.report))


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    return put(raw, ("spec",), cluster_with_templates(mapping(raw, "spec"), templates))


def cluster_with_templates(cluster: Raw, templates: Templates) -> Raw:
    head = mapping(cluster, "headGroupSpec")
    containers = at(head, "template", "spec", "containers")
    changed = {**head, "template": put(templates[HEAD], ("spec", "containers"), containers)}
    if "workerGroupSpecs" not in cluster:
        return {**cluster, "headGroupSpec": changed}
    groups = items(cluster, "workerGroupSpecs")
    workers = [{**group, "template": templates[group["groupName"].lower()]} for group in groups]
    return {**cluster, "headGroupSpec": changed, "workerGroupSpecs": workers}


def never(_raw: Raw) -> Finished | None:
    """A cluster never finishes: it exists until it is deleted."""
    return None


def is_ready(raw: Raw) -> bool:
    return bool(at(raw, "status", "state") == READY)


def refusal(raw: Raw) -> str:
    return autoscaling(raw, "spec")


def autoscaling(raw: Raw, cluster: str) -> str:
    elastic = at(raw, "metadata", "annotations", keys.ELASTIC) == "true"
    if elastic or at(raw, *cluster.split("."), "enableInTreeAutoscaling") is not True:
        return ""
    return f"{cluster}.enableInTreeAutoscaling: a kueue managed job should not use autoscaling"


IS_ELASTIC = f'{note(keys.ELASTIC)} == "true"'
_LABEL = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"


def sets(cluster: str) -> str:
    head = f"{cluster}.headGroupSpec.template"
    hosts = cel.at("numOfHosts", "1", "g")
    count = f"{cel.at('replicas', '1', 'g')} * ({hosts} > 1 ? {hosts} : 1)"
    path = f"{cel.text(f'{cluster}.workerGroupSpecs[')} + string(i) + {cel.text('].template' + ANNOTATIONS)}"
    workers = f"variables.groups.transformList(i, g, {cel.one_set('g.?template', path, count)})"
    return f"[{cel.one_set(cel.deep(head), cel.text(head + ANNOTATIONS))}] + {workers}"


def groups(cluster: str) -> dict[str, str]:
    return {"groups": cel.at(f"{cluster}.workerGroupSpecs", "[]")}


def group_checks(cluster: str) -> tuple[PolicyCheck, ...]:
    """The rules for worker groups, which become pod sets: their number is limited, and their names are unique."""
    scales = f"{cel.at(f'{cluster}.enableInTreeAutoscaling', 'false')} == true"
    before = "variables.groups.exists(j, o, j < i && o.groupName.lowerAscii() == g.groupName.lowerAscii())"
    name = "g.groupName.lowerAscii()"
    wrong = f"!{name}.matches({cel.text(_LABEL)}) || {name} == {cel.text(HEAD)} || {before}"
    first = f"variables.groups.transformList(i, g, {wrong}, i)[0]"
    return (
        PolicyCheck(
            when(scales, IS_ELASTIC),
            f"{cluster}.enableInTreeAutoscaling",
            f"makes the number of pods unknown; set it to false, or the annotation {keys.ELASTIC} to true",
        ),
        PolicyCheck(
            f"variables.groups.all(i, g, !({wrong}))",
            f'{cel.text(f"{cluster}.workerGroupSpecs[")} + string({first}) + "].groupName"',
            f"use a unique name for every group, of at most 63 letters, digits and dashes, and not {HEAD}",
            computed=True,
        ),
        PolicyCheck(
            f"variables.groups.size() < {MAX_POD_SETS}",
            f"{cluster}.workerGroupSpecs[{MAX_POD_SETS - 1}].groupName",
            f"is one too many; a Workload allows at most {MAX_POD_SETS} pod sets",
        ),
    )


RAY_CLUSTER = Integration(
    served=Kind(GROUP, "v1", "RayCluster", "rayclusters", categories=("all",)),
    framework="ray.io/raycluster",
    description="A head and groups of workers that run Ray.",
    roles=roles,
    rules=ALL_RULES,
    may_be_elastic=True,
    judges_roles=True,
    fields={"spec.workerGroupSpecs[]": known.RAY_WORKERS},
    columns=(
        Column("desired workers", "status.desiredWorkerReplicas", "integer"),
        Column("available workers", "status.availableWorkerReplicas", "integer"),
        Column("cpus", "status.desiredCPU"),
        Column("memory", "status.desiredMemory"),
        Column("gpus", "status.desiredGPU"),
        Column("tpus", "status.desiredTPU", is_wide=True),
        Column("status", "status.state"),
        AGE._replace(name="age"),
        Column("head pod IP", "status.head.podIP", is_wide=True),
        Column("head service IP", "status.head.serviceIP", is_wide=True),
    ),
    with_templates=with_templates,
    finished=never,
    is_active=is_ready,
    ready_in=is_ready,
    refusal=refusal,
    held=AdmissionHold(
        sets=sets("spec"),
        variables=groups("spec"),
        checks_when_held=group_checks("spec"),
        unbounded=all_of(IS_UPDATE, IS_ELASTIC),
    ),
)
