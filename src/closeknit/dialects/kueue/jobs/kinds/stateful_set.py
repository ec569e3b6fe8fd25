"""StatefulSet: its pods are one group, with one Workload."""

from __future__ import annotations

from .....model.gates import Gates
from .....model.request import Ranks
from .... import known_fields as known
from ....field import Field
from ....served import Kind
from ... import keys
from .. import marks
from ..integration import forms
from ..names import workload_name
from ..raw import Raw, at, number, put
from ..roles import MAIN, Role
from ..workload_object import WorkloadPriority
from .serving import Serving, group_marks, group_workload, marked, replicas, standing_labels

FRAMEWORK = "statefulset"
POD_INDEX = "apps.kubernetes.io/pod-index"


def roles(body: Field) -> list[Role]:
    return [Role(MAIN, replicas(body), body.at("spec", "template"), Ranks(POD_INDEX))]


def prepared(raw: Raw, _gates: Gates) -> Raw:
    return put(raw, ("spec", "template"), marked(at(raw, "spec", "template"), {}, {marks.PARENT: FRAMEWORK}))


def workload_of(raw: Raw) -> str:
    return workload_name("StatefulSet", "apps", at(raw, "metadata", "name"), at(raw, "metadata", "uid") or "")


def workloads(raw: Raw, gates: Gates, priority: WorkloadPriority) -> tuple[Raw, ...]:
    return (group_workload(raw, workload_of(raw), forms(raw, roles), {}, gates, priority),)


def marked_pod(raw: Raw, pod: Raw) -> Raw:
    """The pod with the marks of its group; unchanged if the set is scaled to zero, since a group cannot be empty."""
    count = number(raw, "spec", "replicas", default=1)
    if not count:
        return pod
    labels, notes = group_marks(workload_of(raw))
    labels |= standing_labels(raw)
    if index := at(pod, "metadata", "labels", POD_INDEX):
        labels[keys.POD_GROUP_INDEX] = index
    notes |= {
        keys.POD_GROUP_COUNT: str(count),
        keys.FAST_ADMISSION: "true",
        marks.SERVING: "true",
        marks.INDEX_FROM: POD_INDEX,
        keys.ROLE_HASH: MAIN,
    }
    return marked(pod, labels, notes)


def on_hold(raw: Raw) -> str:
    """Hold the Workload of a set that is scaled to zero; it is kept."""
    return "StatefulSet is scaled to zero" if number(raw, "spec", "replicas", default=1) == 0 else ""


STATEFUL_SET = Serving(
    served=Kind("apps", "v1", "StatefulSet", "statefulsets", True, ("sts",), scale=True, categories=("all",)),
    framework=FRAMEWORK,
    description="Keeps numbered pods running, each with a stable name.",
    roles=roles,
    fields={"spec": known.STATEFUL_SET},
    prepared=prepared,
    workloads=workloads,
    marked=marked_pod,
    on_hold=on_hold,
)
