"""Workloads of `scheduling.k8s.io`.

In v1alpha1 a Workload holds its pod groups, and a pod names one by `spec.workloadRef`; pods with different replica keys
are gangs of their own. Since v1alpha2 a Workload holds only templates, which are checked: the PodGroups made from them
are what is scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.gang import Gang
from ...model.request import Group, Request
from ..field import Field
from ..gang_reading import by, created, near, refuse_lost
from ..group_pods import key_of, pod_sets, read_pods
from ..minimums import missing_pods
from ..strictness import READ, Tree, check_fields
from .family import DEEPEST
from .policies import CONSTRAINT_FIELDS, GROUP, policy_fields, read_constraint, read_minimum

FIRST = f"{GROUP}/v1alpha1"
FIRST_FIELDS: Tree = {"controllerRef": READ, "podGroups": [{"name": READ, "policy": policy_fields("minCount")}]}
MOST_TEMPLATES = 8
_PLAIN = ("name", "resourceClaims", "disruptionMode", "priorityClassName", "priority", "preemptionPolicy")
COUNTS = {"podGroupTemplates": "minCount", "compositePodGroupTemplates": "minGroupCount"}

SPEC_FIELDS: Tree = dict.fromkeys(("controllerRef", *COUNTS), READ)


def workload_of(pod: Field) -> str:
    """namespace/name of the Workload that a pod names; empty if it names none."""
    name = pod.at("spec", "workloadRef", "name").text()
    return f"{pod.at('metadata', 'namespace').text() or 'default'}/{name}" if name else ""


def read_workloads(workloads: Sequence[Field], pods: Sequence[Field]) -> Iterator[Gang | None]:
    """The gangs of Workloads of v1alpha1; templates of later versions are checked."""
    by_workload = by(pods, workload_of)
    refuse_lost(by_workload, {*map(key_of, workloads)}, "Workload", "spec", "workloadRef", "name")
    for one in workloads:
        if one.at("apiVersion").text() == FIRST:
            yield from _gangs(one, by_workload.get(key_of(one), ()))
        else:
            check_fields(one.at("spec"), SPEC_FIELDS)
            if all(one.at("spec", key).given for key in COUNTS):
                one.at("spec").wrong(f"has both {' and '.join(COUNTS)}", "keep one of the two")
            check_templates(one.at("spec"), 0, {})


def check_templates(holder: Field, depth: int, names: dict[str, None]) -> None:
    """Check the templates of a Workload, or of a composite template, at every depth; `names` are those so far."""
    for key, count in COUNTS.items():
        templates = holder.at(key).items()
        if len(templates) > MOST_TEMPLATES:
            holder.at(key).wrong(f"has {len(templates)} templates", f"use at most {MOST_TEMPLATES}")
        if templates and key != "podGroupTemplates" and depth == DEEPEST:
            holder.at(key).wrong(f"is nested deeper than {DEEPEST} levels", f"nest at most {DEEPEST}")
            continue
        for template in templates:
            _check_template(template, count, names)
            check_templates(template, depth + 1, names)


def _check_template(template: Field, count: str, names: dict[str, None]) -> None:
    name = template.at("name")
    if not name.text() or name.text() in names:
        text = f"{name.text()} is the name of two templates" if name.text() else "is missing"
        name.wrong(text, "give each template a name of its own")
    names[name.text()] = None
    check_fields(template, _template_fields(count))
    read_minimum(template.at("schedulingPolicy"), count)
    read_constraint(template.at("schedulingConstraints"))


def _template_fields(count: str) -> Tree:
    below = () if count == COUNTS["podGroupTemplates"] else COUNTS
    return {
        **dict.fromkeys((*_PLAIN, *below), READ),
        "schedulingPolicy": policy_fields(count),
        "schedulingConstraints": CONSTRAINT_FIELDS,
    }


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
        group.wrong(text, near(group.text(), minimums) + f"its groups are {', '.join(minimums)}")
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
