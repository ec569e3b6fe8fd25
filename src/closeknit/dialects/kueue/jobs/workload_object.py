"""The Workload of a job, as the object that the control plane creates.

It has the job's templates as they are, with one exception: of an environment variable that is set twice only the last
value is kept. The caller resolves priority classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec

from ....model.gates import Gates
from ....model.label_names import is_label_value
from ...field import Field
from ...own_marks import ORDER
from .. import keys
from ..objects.versions import V1BETA2
from ..objects.wire import Unreadable
from ..per_replica import own_mistakes
from ..topology_request import AnnotationError, build
from ..validation import is_elastic
from . import marks
from .integration import Integration, PodSetForm
from .names import workload_name
from .queueing_options import QueueingOptions, of_job
from .raw import Raw, at, items, mapping


class WorkloadPriority(NamedTuple):
    """A priority, and the class that it comes from: `kind` is WorkloadPriorityClass, PriorityClass or ""."""

    value: int = 0
    kind: str = ""
    name: str = ""


NO_PRIORITY = WorkloadPriority()
_GROUPS = {"WorkloadPriorityClass": "kueue.x-k8s.io", "PriorityClass": "scheduling.k8s.io"}


def standing_of(raw: Raw, sets: Iterable[PodSetForm]) -> QueueingOptions:
    """The queueing options of the job; raises Unreadable if they are invalid."""
    body = Field.root(raw)
    standing = of_job(body, body, [Field(one.template, _path(raw), body.report) for one in sets])
    for mistake in body.report.mistakes:
        raise Unreadable(f"{mistake.field} {mistake.text}")
    return standing


def _path(raw: Raw) -> str:
    """The path of the priority class for all pods, which training jobs have, recognised by their templates' path."""
    return "ReplicaSpecs" if any(key.endswith("ReplicaSpecs") for key in mapping(raw, "spec")) else ""


def name_for(raw: Raw, integration: Integration, gates: Gates) -> str:
    """The name of the job's Workload; that of an elastic job depends on its generation."""
    metadata = mapping(raw, "metadata")
    extra = str(metadata.get("generation") or 1) if elastic(raw, integration, gates) else ""
    return workload_name(integration.kind, integration.group, metadata["name"], metadata.get("uid") or "", extra)


def elastic(raw: Raw, integration: Integration, gates: Gates) -> bool:
    return integration.may_be_elastic and is_elastic(mapping(raw, "metadata", "annotations"), gates)


def workload_for(
    raw: Raw,
    integration: Integration,
    gates: Gates,
    priority: WorkloadPriority = NO_PRIORITY,
    source: Raw | None = None,
    queue: str = "",
    copied_labels: Collection[str] = (),
) -> Raw:
    """The Workload to create; raises Unreadable if the job is invalid.

    `queue` is used if the job sets none. `copied_labels` are the keys of labels to copy from the job.
    """
    metadata = mapping(raw, "metadata")
    sets = integration.pod_sets(raw, source)
    standing = standing_of(raw, sets)
    notes = copied_notes(metadata)
    if elastic(raw, integration, gates):
        notes[keys.ELASTIC] = "true"
    owner = owner_reference(raw, controller=True)
    labels = job_labels(metadata, copied_labels)
    made = Metadata(name_for(raw, integration, gates), metadata.get("namespace") or "", labels, notes, [owner])
    return workload_object(made, sets, standing.queue or queue, standing.max_seconds, priority, gates)


class Metadata(NamedTuple):
    """The metadata of a new Workload: name, labels, annotations and owners."""

    name: str
    namespace: str
    labels: dict[str, str]
    notes: dict[str, str]
    owners: list[Raw]


def workload_object(
    made: Metadata,
    sets: Iterable[PodSetForm],
    queue: str,
    max_seconds: int | None,
    priority: WorkloadPriority,
    gates: Gates,
) -> Raw:
    """Build the Workload from its parts."""
    spec: Raw = {"podSets": [pod_set(one, gates) for one in sets]}
    if queue:
        spec["queueName"] = queue
    spec |= {**ranked(priority), "active": True}
    if max_seconds is not None:
        spec["maximumExecutionTimeSeconds"] = max_seconds
    metadata: Raw = {"name": made.name, "namespace": made.namespace}
    if made.labels:
        metadata["labels"] = made.labels
    if made.notes:
        metadata["annotations"] = made.notes
    metadata |= {"finalizers": [marks.IN_USE], "ownerReferences": made.owners}
    return {"apiVersion": V1BETA2, "kind": "Workload", "metadata": metadata, "spec": spec}


def ranked(priority: WorkloadPriority) -> Raw:
    """The priority fields of a Workload's spec."""
    if not priority.kind:
        return {"priority": priority.value}
    reference = {"group": _GROUPS[priority.kind], "kind": priority.kind, "name": priority.name}
    return {"priorityClassRef": reference, "priority": priority.value}


def pod_set(one: PodSetForm, gates: Gates) -> Raw:
    """An entry of `spec.podSets`."""
    wire: Raw = {"name": one.name, "count": one.count, "template": with_last_values(one.template)}
    if one.least is not None and "PartialAdmission" in gates:
        wire["minCount"] = one.least
    if "TopologyAwareScheduling" in gates:
        try:
            request = build(one.notes, gates, one.ranks)
        except AnnotationError as error:
            raise Unreadable(f"pod set {one.name}: {error}") from error
        for mistake in own_mistakes(one.notes, one.count, one.ranks, gates):
            raise Unreadable(f"pod set {one.name}: {mistake.field} {mistake.text}; {mistake.remedy}")
        if request is not None:
            wire["topologyRequest"] = msgspec.to_builtins(request)
    return wire


def owner_reference(raw: Raw, controller: bool) -> Raw:
    """An owner reference to this object; `controller` marks it as the managing controller."""
    reference = {"apiVersion": raw["apiVersion"], "kind": raw["kind"]}
    reference |= {"name": at(raw, "metadata", "name"), "uid": at(raw, "metadata", "uid") or ""}
    return {**reference, "controller": True, "blockOwnerDeletion": True} if controller else reference


def copied_notes(metadata: Raw) -> dict[str, str]:
    """The annotations that a Workload copies from its job: provisioning parameters, gates and how to place it."""
    notes, copied = mapping(metadata, "annotations"), (keys.GATED_BY, ORDER)
    return {key: value for key, value in notes.items() if key.startswith(marks.PROVISIONING) or key in copied}


def job_labels(metadata: Raw, copied: Collection[str] = ()) -> dict[str, str]:
    """The labels of a job's Workload: the job's uid, and those copied from the job."""
    labels, uid = mapping(metadata, "labels"), metadata.get("uid") or ""
    found = {key: labels[key] for key in copied if key in labels}
    return {**found, keys.JOB_UID: uid} if uid and is_label_value(uid) else found


def with_last_values(template: Raw) -> Raw:
    """The template with each environment variable once: its last value, at its first position."""
    spec = mapping(template, "spec")
    changed: dict[str, Any] = {}
    for key in ("initContainers", "containers"):
        listed = items(spec, key)
        if any(_repeats(one.get("env")) for one in listed):
            changed[key] = [_with_last_values(one) for one in listed]
    return {**template, "spec": {**spec, **changed}} if changed else template


def _repeats(env: list[Raw] | None) -> bool:
    return bool(env) and len({one.get("name") for one in env or ()}) < len(env or ())


def _with_last_values(container: Raw) -> Raw:
    env = container.get("env")
    return {**container, "env": list({one.get("name"): one for one in env}.values())} if env else container
