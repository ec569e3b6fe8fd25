"""Workloads of `scheduling.k8s.io`.

In v1alpha1 a Workload holds its pod groups, and a pod names one by `spec.workloadRef`; pods with different replica keys
are gangs of their own. Since v1alpha2 a Workload holds only templates, which are checked: the PodGroups made from them
are what is scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.gang import Gang
from ...model.nearest import did_you_mean
from ...model.request import Group, Request
from ..field import Field
from ..gang_reading import by, created
from ..group_pods import key_of, pod_sets, read_pods
from ..minimums import missing_pods
from ..strictness import READ, Tree, check_fields
from .policies import CONSTRAINT_FIELDS, GROUP, policy_fields, read_constraint, read_minimum

FIRST = f"{GROUP}/v1alpha1"
FIRST_FIELDS: Tree = {"controllerRef": READ, "podGroups": [{"name": READ, "policy": policy_fields("minCount")}]}
COUNTS = {"podGroupTemplates": "minCount", "compositePodGroupTemplates": "minGroupCount"}


def workload_of(pod: Field) -> str:
    """namespace/name of the Workload that a pod names; empty if it names none."""
    name = pod.at("spec", "workloadRef", "name").text()
    return f"{pod.at('metadata', 'namespace').text() or 'default'}/{name}" if name else ""


def read_workloads(workloads: Sequence[Field], pods: Sequence[Field]) -> Iterator[Gang | None]:
    """The gangs of Workloads of v1alpha1; templates of later versions are checked."""
    by_workload = by(pods, workload_of)
    for one in workloads:
        if one.at("apiVersion").text() == FIRST:
            yield from _gangs(one, by_workload.get(key_of(one), ()))
        else:
            check_templates(one.at("spec"))


def check_templates(holder: Field) -> None:
    """Check the templates of a Workload, or of a composite template, at every depth."""
    for key, count in COUNTS.items():
        for template in holder.at(key).items():
            read_minimum(template.at("schedulingPolicy"), count)
            check_fields(template.at("schedulingPolicy"), policy_fields(count))
            check_fields(template.at("schedulingConstraints"), CONSTRAINT_FIELDS)
            read_constraint(template.at("schedulingConstraints"))
            check_templates(template)


def _gangs(workload: Field, pods: Sequence[Field]) -> Iterator[Gang | None]:
    check_fields(workload.at("spec"), FIRST_FIELDS)
    minimums = {}
    for group in workload.at("spec", "podGroups").items():
        name = group.at("name")
        if name.text() in minimums:
            name.wrong(f"{name.text()} is the name of two pod groups", "rename one of them")
        minimums[name.text()] = read_minimum(group.at("policy"), "minCount")
    for gang, members in by(pods, _gang_name).items():
        yield _gang(workload, gang, minimums, members)


def _gang_name(pod: Field) -> str:
    """WORKLOAD-GROUP, or WORKLOAD-GROUP-KEY where pods have replica keys."""
    reference = pod.at("spec", "workloadRef")
    parts = (reference.at(key).text() for key in ("name", "podGroup", "podGroupReplicaKey"))
    return "-".join(part for part in parts if part)


def _gang(workload: Field, name: str, minimums: dict[str, int], pods: Sequence[Field]) -> Gang | None:
    group = pods[0].at("spec", "workloadRef", "podGroup")
    if group.text() not in minimums:
        text = f"Workload {key_of(workload)} has no pod group {group.text()}"
        group.wrong(text, did_you_mean(group.text(), minimums) + f"its groups are {', '.join(minimums)}")
    tree = Group(pod_sets(name, read_pods(pods)), name, min_pods=minimums.get(group.text(), 1))
    stamp = created(workload)
    if any(one.report for one in (workload, *pods)):
        return None
    namespace = key_of(workload).partition("/")[0]
    return Gang(
        "kubernetes",
        namespace,
        name,
        Request((tree,)),
        created=stamp,
        missing=missing_pods(tree),
        where=workload.report.where,
        owner=workload.report.what,
    )
