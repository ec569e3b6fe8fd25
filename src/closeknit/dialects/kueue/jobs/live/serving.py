"""Deployment, StatefulSet, LeaderWorkerSet: they are never suspended; their pods wait instead, behind gates.

Pods of a Deployment are on their own, each with its own Workload. Those of a StatefulSet are one group, those of each
replica of a LeaderWorkerSet another, and the Workload of such a group is made before its pods are there. So three
things are to be known of a kind: what its templates get at creation, which Workloads it has, and what each pod gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .....model.gates import Gates
from .....model.label_names import is_label_value
from ... import keys
from .. import marks
from ..integration import Sets, forms
from ..names import workload_name
from ..raw import Raw, at, mapping, number, put
from ..replicas import POD_INDEX, leader_worker_set, stateful_set
from ..roles import MAIN
from ..workload_object import Metadata, Priority, copied_notes, owner_reference, standing_of, workload_object

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
LEADER_NAME = "leaderworkerset.sigs.k8s.io/leader-name"

_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")


def _nothing(_raw: Raw) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Serving:
    """`prepared`: as it is created. `workloads`: those that it has, of this priority.

    `marked`: one of its pods with what makes it one of a group; the very same one if it has it all. `on_hold`: why its
    Workloads shall not be admitted for now.
    """

    group: str
    kind: str
    framework: str
    prepared: Callable[[Raw, Gates], Raw]
    workloads: Callable[[Raw, Gates, Priority], tuple[Raw, ...]]
    marked: Callable[[Raw, Raw], Raw]
    on_hold: Callable[[Raw], str] = _nothing


def prepared_deployment(raw: Raw, _gates: Gates) -> Raw:
    labels = {marks.MANAGED: "true", **_standing(raw)}
    return put(raw, ("spec", "template"), _with(at(raw, "spec", "template"), labels, {marks.PARENT: "deployment"}))


def prepared_stateful_set(raw: Raw, _gates: Gates) -> Raw:
    return put(raw, ("spec", "template"), _with(at(raw, "spec", "template"), {}, {marks.PARENT: "statefulset"}))


def prepared_leader_worker_set(raw: Raw, gates: Gates) -> Raw:
    """Workers count from 1 where the leader is not one of them, unless both are placed as one group."""
    path = ("spec", "leaderWorkerTemplate")
    notes = {marks.PARENT: "leaderworkerset.x-k8s.io/leaderworkerset", marks.SERVING: "true"}
    leader, worker = at(raw, *path, "leaderTemplate"), mapping(raw, *path, "workerTemplate")
    if leader is None:
        return put(raw, (*path, "workerTemplate"), _with(worker, _standing(raw), notes))
    raw = put(raw, (*path, "leaderTemplate"), _with(leader, _standing(raw), notes))
    if "TopologyAwareScheduling" in gates and keys.GROUP not in mapping(worker, "metadata", "annotations"):
        notes = {**notes, marks.INDEX_OFFSET: "1"}
    return put(raw, (*path, "workerTemplate"), _with(worker, _standing(raw), notes))


def _standing(raw: Raw) -> dict[str, str]:
    """The queue and the priority class that a set names, for its pods."""
    labels = mapping(raw, "metadata", "labels")
    return {key: labels[key] for key in (keys.QUEUE, keys.PRIORITY_CLASS) if labels.get(key)}


def _with(tree: Raw | None, labels: dict[str, str], notes: dict[str, str]) -> Raw:
    """A pod or a template with these labels and annotations; the very same one if it has them."""
    tree = tree or {}
    metadata = mapping(tree, "metadata")
    for key, added in (("labels", labels), ("annotations", notes)):
        there = mapping(metadata, key)
        if any(there.get(name) != value for name, value in added.items()):
            metadata = {**metadata, key: {**there, **added}}
    return tree if metadata is tree.get("metadata") else {**tree, "metadata": metadata}


def no_workloads(_raw: Raw, _gates: Gates, _priority: Priority) -> tuple[Raw, ...]:
    return ()


def as_it_is(_raw: Raw, pod: Raw) -> Raw:
    return pod


def stateful_set_name(raw: Raw) -> str:
    return workload_name("StatefulSet", "apps", at(raw, "metadata", "name"), at(raw, "metadata", "uid") or "")


def stateful_set_workloads(raw: Raw, gates: Gates, priority: Priority) -> tuple[Raw, ...]:
    return (_workload(raw, stateful_set_name(raw), forms(raw, stateful_set), {}, gates, priority),)


def replica_name(raw: Raw, index: int | str) -> str:
    """What the Workload of one replica of a LeaderWorkerSet is called."""
    group, kind = _SET
    return workload_name(kind, group, f"{at(raw, 'metadata', 'name')}-{index}", at(raw, "metadata", "uid") or "")


def replica_workload(raw: Raw, index: int, gates: Gates, priority: Priority) -> Raw:
    notes = {marks.COMPONENT: str(index)}
    return _workload(raw, replica_name(raw, index), forms(raw, leader_worker_set), notes, gates, priority)


def leader_worker_set_workloads(raw: Raw, gates: Gates, priority: Priority) -> tuple[Raw, ...]:
    replicas = number(raw, "spec", "replicas", default=1)
    return tuple(replica_workload(raw, index, gates, priority) for index in range(replicas))


def _workload(raw: Raw, name: str, sets: Sets, notes: dict[str, str], gates: Gates, priority: Priority) -> Raw:
    metadata, standing = mapping(raw, "metadata"), standing_of(raw, sets)
    group, _, version = raw["apiVersion"].rpartition("/")
    notes = {
        **copied_notes(metadata),
        keys.IS_GROUP: "true",
        marks.OWNER_KIND: f"{group}/{version}, Kind={raw['kind']}",
        marks.OWNER_NAME: metadata["name"],
        **notes,
    }
    labels = {keys.JOB_UID: metadata["uid"]} if metadata.get("uid") else {}
    owners = [owner_reference(raw, controller=False)]
    made = Metadata(name, metadata.get("namespace") or "", labels, notes, owners)
    return workload_object(made, sets, standing.queue, standing.max_seconds, priority, gates)


def marked_stateful_set_pod(raw: Raw, pod: Raw) -> Raw:
    """As it is, where the set wants no pods: it is on its way out, and no group has none."""
    count = number(raw, "spec", "replicas", default=1)
    if not count:
        return pod
    labels, notes = _group(stateful_set_name(raw))
    labels |= _standing(raw)
    if index := at(pod, "metadata", "labels", POD_INDEX):
        labels[keys.POD_GROUP_INDEX] = index
    notes |= {
        keys.POD_GROUP_COUNT: str(count),
        keys.FAST_ADMISSION: "true",
        marks.SERVING: "true",
        marks.INDEX_FROM: POD_INDEX,
        keys.ROLE_HASH: MAIN,
    }
    return _with(pod, labels, notes)


def marked_leader_worker_set_pod(raw: Raw, pod: Raw) -> Raw:
    """A pod of which the group is not known yet stays as it is."""
    index = at(pod, "metadata", "labels", GROUP_INDEX)
    if index is None:
        return pod
    labels, notes = _group(replica_name(raw, index))
    labels |= {key: name for key, name in _standing(raw).items() if key == keys.QUEUE}
    template = mapping(raw, "spec", "leaderWorkerTemplate")
    role = MAIN
    if template.get("leaderTemplate") is not None:
        role = "worker" if LEADER_NAME in mapping(pod, "metadata", "annotations") else "leader"
    notes |= {keys.POD_GROUP_COUNT: str(number(template, "size", default=1)), keys.ROLE_HASH: role}
    return _with(pod, labels, notes)


def _group(workload: str) -> tuple[dict[str, str], dict[str, str]]:
    """The marks of a group whose Workload is there already; a name too long for a label becomes an annotation."""
    named = {keys.PREBUILT: workload, keys.POD_GROUP: workload}
    ours = {marks.MANAGED: "true"}
    return ({**ours, **named}, {}) if is_label_value(workload) else (ours, named)


def stateful_set_on_hold(raw: Raw) -> str:
    """A set that was scaled to nothing keeps its Workload."""
    return "StatefulSet is scaled to zero" if number(raw, "spec", "replicas", default=1) == 0 else ""


SERVING: dict[tuple[str, str], Serving] = {
    (one.group, one.kind): one
    for one in (
        Serving("apps", "Deployment", "deployment", prepared_deployment, no_workloads, as_it_is),
        Serving(
            "apps",
            "StatefulSet",
            "statefulset",
            prepared_stateful_set,
            stateful_set_workloads,
            marked_stateful_set_pod,
            stateful_set_on_hold,
        ),
        Serving(
            *_SET,
            "leaderworkerset.x-k8s.io/leaderworkerset",
            prepared_leader_worker_set,
            leader_worker_set_workloads,
            marked_leader_worker_set_pod,
        ),
    )
}
"""By API group and kind."""
