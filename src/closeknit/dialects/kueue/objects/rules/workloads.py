"""The rules for Workloads, except those for pod sets, which `jobs.workload` checks.

The status, which controllers write, is validated too: quota would be wrong if it contradicted the spec.
"""

from __future__ import annotations

from collections.abc import Mapping

from .....model.label_names import is_qualified_name
from .....model.resources import amount
from ....field import Field, shown
from ....node_choice import LABEL_NAME, check_label, check_toleration
from ... import keys
from ...keys import MAIN
from ..versions import PRIORITY_SOURCES
from .limits import OPERATORS, check_limits
from .places import check_places
from .values import INT32_MIN, check_given, check_quantity, check_word

CHECK_STATES = ("Pending", "Ready", "Retry", "Rejected")


def check_workload(workload: Field) -> None:
    spec = workload.at("spec")
    check_limits(workload, "Workload")
    check_given(spec.at("podSets"))
    spec.at("priority").count(least=INT32_MIN)
    if spec.at("active").given and not isinstance(spec.at("active").value, bool):
        spec.at("active").wrong(f"is {shown(spec.at('active').value)}", "use true or false")
    _check_priority_class(spec)
    for gate in spec.at("preemptionGates").items():
        if not gate.at("name").given:
            gate.at("name").wrong("is missing", "set the name of the gate")
    _check_templates(workload)
    _check_status(workload)


def _check_priority_class(spec: Field) -> None:
    """Check the class of either version; it requires a priority, since the class is not looked up again."""
    reference, name = spec.at("priorityClassRef"), spec.at("priorityClassName")
    if reference.given:
        kind = reference.at("group").text(), reference.at("kind").text()
        if kind not in PRIORITY_SOURCES.values():
            allowed = " or ".join(f"{group} {kind}" for group, kind in PRIORITY_SOURCES.values())
            reference.wrong(f"is of {' '.join(kind).strip() or 'no kind'}", f"refer to {allowed}")
        if not reference.at("name").given:
            reference.at("name").wrong("is missing", "set the name of the class")
    elif name.text():
        check_word(spec.at("priorityClassSource"), tuple(PRIORITY_SOURCES), "")
        if not spec.at("priorityClassSource").given:
            spec.at("priorityClassSource").wrong("is missing", f"use one of: {', '.join(PRIORITY_SOURCES)}")
    for field in (reference, name):
        if field.given and not spec.at("priority").given:
            field.wrong("requires a priority", "set that of the class")


def _check_templates(workload: Field) -> None:
    """Check labels and annotations that Kubernetes would refuse in pods; minCount is not allowed in an elastic job."""
    elastic = is_elastic(workload)
    for one in workload.at("spec", "podSets").items():
        meta = one.at("template", "metadata")
        for key, field in meta.at("labels").fields().items():
            check_label(key, field)
        for key, field in meta.at("annotations").fields().items():
            field.text()
            if not is_qualified_name(key.lower()):
                field.wrong(f"{shown(key)} is not the name of an annotation", LABEL_NAME)
        if elastic and one.at("minCount").given:
            one.at("minCount").wrong("is not allowed in an elastic job", f"remove it, or the annotation {keys.ELASTIC}")


def is_elastic(workload: Field) -> bool:
    return workload.at("metadata", "annotations").mapping().get(keys.ELASTIC) == "true"


def _check_status(workload: Field) -> None:
    status = workload.at("status")
    counts = pod_set_counts(workload)
    _check_admission(workload, counts)
    for one in status.at("reclaimablePods").items():
        number, most = one.at("count").count(0), counts.get(one.at("name").text())
        if _is_known(one.at("name"), counts) and most is not None and number > most:
            one.at("count").wrong(f"is {number}", f"the pod set has {most} pods")
    for check in status.at("admissionChecks").items():
        check_word(check.at("state"), CHECK_STATES, "")
        for update in check.at("podSetUpdates").items():
            _is_known(update.at("name"), counts)
            for toleration in update.at("tolerations").items():
                check_toleration(toleration, OPERATORS)
    if status.at("clusterName").given and status.at("nominatedClusterNames").items():
        status.at("clusterName").wrong("cannot be combined with nominatedClusterNames", "clear them")


def _check_admission(workload: Field, counts: Mapping[str, int]) -> None:
    admission = workload.at("status", "admission")
    reserved = holds(workload, "QuotaReserved")
    if reserved and not admission.given:
        admission.wrong("is required while quota is reserved", "set it, or set QuotaReserved to False")
    assignments = admission.at("podSetAssignments")
    wanted = len(workload.at("spec", "podSets").items())
    if reserved and admission.given and len(assignments.items()) != wanted:
        assignments.wrong(f"has {len(assignments.items())} entries", "use one for each pod set")
    for one in assignments.items():
        _is_known(one.at("name"), counts)
        _check_usage(one)
        if one.at("topologyAssignment").given:
            check_places(one.at("topologyAssignment"))


def _check_usage(assignment: Field) -> None:
    """Check that the usage is divisible by the number of pods, since all pods of a pod set use the same."""
    count = assignment.at("count").count(0)
    for resource, field in assignment.at("resourceUsage").fields().items():
        if check_quantity(field) is not None and count and amount(resource, field.value) % count:
            field.wrong(
                f"is {field.value}, which cannot be divided evenly among {count} pods", "use a multiple of the count"
            )


def _is_known(name: Field, counts: Mapping[str, int]) -> bool:
    if (name.text() or MAIN) in counts:
        return True
    name.wrong(f"is {shown(name.text())}, which is not a pod set of the spec", f"use one of: {', '.join(counts)}")
    return False


def pod_set_counts(workload: Field) -> dict[str, int]:
    sets = workload.at("spec", "podSets").items()
    return {one.at("name").text() or MAIN: one.at("count").count(1) for one in sets}


def holds(workload: Field, kind: str) -> bool:
    conditions = workload.at("status", "conditions").items()
    return any(one.at("type").value == kind and one.at("status").value == "True" for one in conditions)
