"""What Deployment, StatefulSet and LeaderWorkerSet share: they are never suspended; their pods wait behind gates.

Each pod of a Deployment has its own Workload. The pods of a StatefulSet are one group, and so are those of each replica
of a LeaderWorkerSet; the Workload of such a group is created before its pods. So a descriptor has three parts: what the
templates get at creation, which Workloads there are, and what each pod gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .....model.gates import Gates
from .....model.label_names import is_label_value
from ....field import Field
from ... import keys
from .. import marks
from ..integration import Sets
from ..job_kind import JobKind
from ..raw import Raw, mapping
from ..workload_object import Metadata, WorkloadPriority, copied_notes, owner_reference, standing_of, workload_object


def _nothing(_raw: Raw) -> str:
    return ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Serving(JobKind):
    """`prepared`: the object at creation. `workloads`: its Workloads, with this priority.

    `marked`: a pod with the labels and annotations of its group; the same object if it has them. `on_hold`: why its
    Workloads must not be admitted yet.
    """

    prepared: Callable[[Raw, Gates], Raw]
    workloads: Callable[[Raw, Gates, WorkloadPriority], tuple[Raw, ...]]
    marked: Callable[[Raw, Raw], Raw]
    on_hold: Callable[[Raw], str] = _nothing


def replicas(body: Field) -> int:
    return body.at("spec", "replicas").count(1)


def standing_labels(raw: Raw) -> dict[str, str]:
    """The queue and priority class labels of a set, for its pods."""
    labels = mapping(raw, "metadata", "labels")
    return {key: labels[key] for key in (keys.QUEUE, keys.PRIORITY_CLASS) if labels.get(key)}


def marked(tree: Raw | None, labels: dict[str, str], notes: dict[str, str]) -> Raw:
    """A pod or a template with these labels and annotations; the same object if it has them."""
    tree = tree or {}
    metadata = mapping(tree, "metadata")
    for key, added in (("labels", labels), ("annotations", notes)):
        there = mapping(metadata, key)
        if any(there.get(name) != value for name, value in added.items()):
            metadata = {**metadata, key: {**there, **added}}
    return tree if metadata is tree.get("metadata") else {**tree, "metadata": metadata}


def group_workload(
    raw: Raw, name: str, sets: Sets, notes: dict[str, str], gates: Gates, priority: WorkloadPriority
) -> Raw:
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


def group_marks(workload: str) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations of a group with a prebuilt Workload; a name too long for a label is an annotation."""
    named = {keys.PREBUILT: workload, keys.POD_GROUP: workload}
    ours = {marks.MANAGED: "true"}
    return ({**ours, **named}, {}) if is_label_value(workload) else (ours, named)
