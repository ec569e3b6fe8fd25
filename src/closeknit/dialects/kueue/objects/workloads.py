"""Workload: what a job requests, its queue and priority, and its state."""

from __future__ import annotations

from ....model.request import Request
from ....model.shape import whole_number
from ....model.workload import Status, Workload, WorkloadPodSet
from ...own_marks import ORDER
from .. import keys
from .pod_sets import WirePodSet, asked
from .status import WorkloadStatus, status
from .status_form import workload_status
from .tree import merged
from .versions import to_v1beta2
from .wire import Raw, Wire, WireMeta, convert, moment, reader

JOB_UID = keys.PREFIX + "job-uid"
BOOST = keys.PREFIX + "priority-boost"
GATED_BY = keys.PREFIX + "admission-gated-by"
REPLACES = keys.PREFIX + "workload-slice-replacement-for"


class PriorityClassRef(Wire, frozen=True):
    group: str = ""
    kind: str = ""
    name: str = ""


class WireGate(Wire, frozen=True):
    name: str = ""


class WorkloadSpec(Wire, frozen=True):
    pod_sets: tuple[WirePodSet, ...] = ()
    queue_name: str | None = None
    priority_class_ref: PriorityClassRef | None = None
    priority: int | None = None
    active: bool | None = None
    maximum_execution_time_seconds: int | None = None
    preemption_gates: tuple[WireGate, ...] = ()


class WireWorkload(Wire, frozen=True):
    api_version: str = ""
    metadata: WireMeta = WireMeta()
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class KnownSpec(Wire, frozen=True):
    """A spec whose pod sets have already been decoded."""

    queue_name: str | None = None
    priority: int | None = None
    active: bool | None = None
    maximum_execution_time_seconds: int | None = None
    preemption_gates: tuple[WireGate, ...] = ()


class KnownWorkload(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: KnownSpec = KnownSpec()
    status: WorkloadStatus = WorkloadStatus()


@reader
def workload(raw: Raw) -> Workload:
    wire = convert(raw, WireWorkload)
    meta = wire.metadata
    is_old, order = wire.api_version.endswith("/v1beta1"), meta.annotations.get(ORDER, "")
    return _workload(wire, *asked(wire.spec.pod_sets, is_old, meta.namespace, order))


def workload_with(raw: Raw, before: Workload) -> Workload:
    """Like `workload`, for a v1beta2 object with unchanged pod sets: most changes affect only the status."""
    return _workload(convert(raw, KnownWorkload), before.request, before.parts)


def _workload(wire: WireWorkload | KnownWorkload, request: Request, parts: tuple[WorkloadPodSet, ...]) -> Workload:
    meta, spec = wire.metadata, wire.spec
    notes = meta.annotations
    return Workload(
        meta.namespace,
        meta.name,
        request,
        parts,
        spec.queue_name or "",
        meta.uid,
        spec.priority or 0,
        moment(meta.creation_timestamp),
        spec.active is not False,
        meta.labels.get(JOB_UID, ""),
        whole_number(notes.get(BOOST, "")) or 0,
        notes.get(GATED_BY, ""),
        tuple(gate.name for gate in spec.preemption_gates),
        notes.get(REPLACES, ""),
        _owned_by_pod(meta),
        spec.maximum_execution_time_seconds,
        meta.generation,
        status(wire.status),
    )


def with_status(raw: Raw, wanted: Status, known: Status | None = None) -> Raw:
    """The object, in v1beta2, with this status. Status fields that the model does not have stay as they are.

    `known` is the decoded status of the object, if the caller has it.
    """
    raw = to_v1beta2(raw)
    before = workload_status(workload(raw).status if known is None else known)
    return {**raw, "status": merged(raw.get("status") or {}, before, workload_status(wanted))}


def _owned_by_pod(meta: WireMeta) -> bool:
    """Whether the workload belongs to a single plain pod; a pod group of one is still a group."""
    if len(meta.owner_references) != 1 or meta.annotations.get(keys.IS_GROUP) == "true":
        return False
    owner = meta.owner_references[0]
    return (owner.api_version, owner.kind) == ("v1", "Pod")
