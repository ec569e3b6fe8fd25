"""A plain pod. It waits behind a scheduling gate. A removed gate cannot be added again, so it is stopped by deletion.

Everything is set on a pod when it is created, except what its Workload adds at the start. Kubernetes does not allow
adding a gate later, so every managed pod also gets the topology gate, which is removed if the pod is not placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .....model.gates import Gates
from ....core import PodSpec, plain_shape
from ....own_marks import NUMA_POLICY
from ....served import Kind
from ... import keys
from ...objects.wire import convert
from .. import marks
from ..injection import Info, StartConflict, injected
from ..integration import Counts, Finished, Integration, JobWrite, PodSetForm, Sets, Templates
from ..pods import RANKS, role_hash
from ..raw import Raw, at, condition, items, mapping, put, without
from ..roles import MAIN

_GATES = ("spec", "schedulingGates")
_FINALIZERS = ("metadata", "finalizers")


def gates_of(raw: Raw) -> list[str]:
    return [one.get("name") for one in items(raw, *_GATES)]


def is_gated(raw: Raw) -> bool:
    return marks.ADMISSION_GATE in gates_of(raw)


def role(raw: Raw) -> str:
    """The role hash of a pod, which defines its pod set: that of the annotation, or else a hash of its shape."""
    written = at(raw, "metadata", "annotations", keys.ROLE_HASH)
    return written or role_hash(plain_shape(convert(mapping(raw, "spec"), PodSpec)))


def prepared(raw: Raw, gates: Gates) -> Raw:
    """The pod at creation: with the managed label, its gates and its role hash.

    Pods of a Deployment, StatefulSet or LeaderWorkerSet need no finalizer: their controllers replace them.
    """
    metadata, spec = mapping(raw, "metadata"), mapping(raw, "spec")
    labels = {**mapping(metadata, "labels"), marks.MANAGED: "true"}
    notes = {**mapping(metadata, "annotations"), keys.ROLE_HASH: role(raw)}
    wanted = [marks.ADMISSION_GATE]
    if "TopologyAwareScheduling" in gates:
        if marks.INDEX_FROM in notes:
            labels[keys.POD_GROUP_INDEX] = labels.get(notes[marks.INDEX_FROM], "")
        wanted.append(marks.TOPOLOGY_GATE)
    there = gates_of(raw)
    listed = [*items(raw, *_GATES), *({"name": name} for name in wanted if name not in there)]
    metadata = {**metadata, "labels": labels, "annotations": notes}
    if marks.PARENT not in notes and marks.MANAGED not in items(metadata, "finalizers"):
        metadata["finalizers"] = [*items(metadata, "finalizers"), marks.MANAGED]
    return {**raw, "metadata": metadata, "spec": {**spec, "schedulingGates": listed}}


def ungated(raw: Raw, *names: str) -> Raw:
    left = [one for one in items(raw, *_GATES) if one.get("name") not in names]
    return put(raw, _GATES, left) if left else without(raw, _GATES)


def let_go(raw: Raw) -> Raw:
    """The pod without the finalizer: it has been counted, and may be deleted."""
    left = [one for one in items(raw, *_FINALIZERS) if one != marks.MANAGED]
    return put(raw, _FINALIZERS, left) if left else without(raw, _FINALIZERS)


def doomed(raw: Raw, reason: str, message: str, stamp: str) -> Raw:
    """The pod with the condition that reports why it is about to be deleted; `reason` is that of the eviction."""
    target = {"type": "TerminationTarget", "status": "True", "reason": f"WorkloadEvictedDueTo{reason}"}
    target |= {"message": message, "lastTransitionTime": stamp}
    others = [one for one in items(raw, "status", "conditions") if one.get("type") != "TerminationTarget"]
    return put(raw, ("status", "conditions"), [*others, target])


def template_of(raw: Raw) -> Raw:
    """A pod as a template, without the fields that are specific to this pod; its Workload has no other annotations."""
    policy = at(raw, "metadata", "annotations", NUMA_POLICY)
    kept = {} if policy is None else {"metadata": {"annotations": {NUMA_POLICY: policy}}}
    return {**kept, "spec": mapping(raw, "spec")}


def form_of(raw: Raw, name: str = MAIN, count: int = 1) -> PodSetForm:
    return PodSetForm(name, count, template_of(raw), RANKS, notes=mapping(raw, "metadata", "annotations"))


def pod_sets(raw: Raw) -> Sets:
    return (form_of(raw),)


def suspended(raw: Raw, yes: bool) -> Raw:
    return raw if yes else ungated(raw, marks.ADMISSION_GATE)


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    return {**raw, "spec": mapping(templates[MAIN], "spec")}


def start(raw: Raw, _sets: Sets, infos: Sequence[Info]) -> Raw | StartConflict:
    """The pod with what its pod set gets, and without the gates that it no longer needs."""
    info = infos[0]
    changed = injected(raw, replace(info, gates=()))
    if isinstance(changed, StartConflict):
        return changed
    done = {marks.ADMISSION_GATE, marks.TOPOLOGY_GATE} - set(info.gates)
    return ungated(changed, *done)


def finished(raw: Raw) -> Finished | None:
    phase = at(raw, "status", "phase")
    if phase not in ("Succeeded", "Failed"):
        return None
    return Finished(phase == "Succeeded", at(raw, "status", "message") or "")


def is_active(_raw: Raw) -> bool:
    """Always false, as in Kueue: the quota of a single pod is released at once."""
    return False


def pods_ready(raw: Raw) -> bool:
    return condition(raw, "Ready") is not None


def stop(raw: Raw, _restore: Callable[[Raw], Raw]) -> JobWrite | None:
    gone = is_gated(raw) or finished(raw) is not None or at(raw, "metadata", "deletionTimestamp") is not None
    return None if gone else JobWrite(raw, deletes=True)


POD = Integration(
    served=Kind("", "v1", "Pod", "pods", True, ("po",), categories=("all",)),
    framework="pod",
    description="Containers that run together on one node.",
    is_suspended=is_gated,
    suspended=suspended,
    sets_in=pod_sets,
    with_templates=with_templates,
    finished=finished,
    is_active=is_active,
    ready_in=pods_ready,
    start=start,
    stop=stop,
)
