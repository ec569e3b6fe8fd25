"""Unsubmitted jobs as the workloads that they would be, with queue, priority and quota usage.

A job only names a queue and a priority class. Here the names are looked up in a cluster, and what the cluster adds to
pods, the defaults of a namespace and the overhead of a runtime class, is added to the templates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..dialects.kueue import keys
from ..dialects.kueue.jobs import GivenJob
from ..dialects.kueue.jobs.queueing_options import QueueingOptions
from ..dialects.kueue.jobs.workload_object import WorkloadPriority
from ..dialects.kueue.objects.pod_sets import with_template
from ..dialects.limits import adjusted
from ..model.gates import Gates
from ..model.limit_range import LimitRange
from ..model.mistake import Mistake
from ..model.nearest import did_you_mean
from ..model.resources import Resources
from ..model.workload import Workload
from .nodes import name_some

Raw = dict[str, Any]

DEFAULT = "default"
"""The name of the LocalQueue, and of the WorkloadPriorityClass, of jobs that name none."""

BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes that every cluster has."""


@dataclass(slots=True)
class Surroundings:
    """The objects of a cluster that jobs refer to by name. The classes of Kueue and of Kubernetes map names to values.

    `default_priority` is the value of the default PriorityClass.
    """

    workload_classes: dict[str, int] = field(default_factory=dict)
    pod_classes: dict[str, int] = field(default_factory=lambda: dict(BUILT_IN))
    default_priority: int | None = None
    local_queues: dict[str, list[str]] = field(default_factory=dict)
    limit_ranges: Mapping[str, Sequence[LimitRange]] = field(default_factory=dict)
    runtime_classes: dict[str, Resources] = field(default_factory=dict)

    def template(self, namespace: str, template: Raw) -> Raw:
        """A pod template with the cluster's defaults; the same object if there are none."""
        ranges = self.limit_ranges.get(namespace, ())
        spec = template.get("spec")
        overhead = isinstance(spec, dict) and spec.get("runtimeClassName") in self.runtime_classes
        return adjusted(template, ranges, self.runtime_classes) if ranges or overhead else template


def workload_of(job: GivenJob, around: Surroundings, gates: Gates, created: float) -> Workload | list[Mistake]:
    """The Workload of a job, or why none can be created."""
    queue, priority = _queue(job, around), priority_of(job.standing, around)
    if isinstance(queue, Mistake) or isinstance(priority, Mistake):
        what = f"{job.kind} {job.namespace}/{job.name}"
        return [replace(one, where=job.where, what=what) for one in (queue, priority) if isinstance(one, Mistake)]
    sets, standing = {one.name: one for one in job.request.pod_sets}, job.standing
    least = standing.least if "PartialAdmission" in gates else {}
    made = [
        with_template(sets[name], around.template(job.namespace, job.templates[name]), least.get(name), job.namespace)
        for name in job.order
    ]
    return Workload(
        job.namespace,
        job.workload,
        job.request.changed(pod_set for pod_set, _ in made),
        tuple(part for _, part in made),
        queue,
        priority=priority,
        created=created,
        job_uid=standing.uid,
        gated_by=standing.gated_by,
        owned_by_pod=job.kind == "Pod",
        max_seconds=standing.max_seconds,
    )


def class_of(workload: Raw) -> str:
    """The WorkloadPriorityClass that sets a Workload's priority; "" if there is none."""
    reference = workload["spec"].get("priorityClassRef") or {}
    return str(reference.get("name", "")) if reference.get("kind") == "WorkloadPriorityClass" else ""


def rank_of(workload_class: str, around: Surroundings) -> WorkloadPriority | None:
    """The priority of a WorkloadPriorityClass; None if there is no such class."""
    value = around.workload_classes.get(workload_class)
    return None if value is None else WorkloadPriority(value, "WorkloadPriorityClass", workload_class)


def is_left_behind(workload: Raw) -> bool:
    """Whether its job was deleted without it: the owner reference is gone, the label is not."""
    meta = workload["metadata"]
    labelled = keys.JOB_UID in (meta.get("labels") or {})
    return labelled and not meta.get("ownerReferences") and "deletionTimestamp" not in meta


def _queue(job: GivenJob, around: Surroundings) -> str | Mistake:
    """The queue that a job names, or the default queue of its namespace."""
    known = around.local_queues.get(job.namespace, [])
    if job.standing.queue or DEFAULT in known:
        return job.standing.queue or DEFAULT
    remedy = f"namespace {job.namespace} has no LocalQueue: create one, and name it here"
    if known:
        remedy = f"give one of the LocalQueues of namespace {job.namespace}: {', '.join(known)}"
    place = "spec.queueName" if job.kind == "Workload" else f"metadata.labels[{keys.QUEUE}]"
    text = f"is missing, and namespace {job.namespace} has no LocalQueue called {DEFAULT}"
    return Mistake(text, remedy, field=place)


def priority_of(standing: QueueingOptions, around: Surroundings) -> int | Mistake:
    """The priority by WorkloadPriorityClass, else by the pods' PriorityClass, else the cluster's default."""
    if standing.priority is not None:
        return standing.priority
    if standing.workload_class:
        return _value(standing.workload_class, around.workload_classes, "WorkloadPriorityClass", _LABEL)
    if DEFAULT in around.workload_classes:
        return around.workload_classes[DEFAULT]
    if standing.pod_class:
        return _value(standing.pod_class, around.pod_classes, "PriorityClass", "priorityClassName")
    return around.default_priority or 0


_LABEL = f"metadata.labels[{keys.PRIORITY_CLASS}]"


def _value(name: str, classes: Mapping[str, int], kind: str, place: str) -> int | Mistake:
    if name in classes:
        return classes[name]
    own: Collection[str] = [one for one in classes if one not in BUILT_IN]
    others = f"use one of: {name_some(sorted(own))}" if own else f"the cluster has no {kind}: create it"
    return Mistake(f'is "{name}", but there is no such {kind}', did_you_mean(name, own) + others, field=place)
