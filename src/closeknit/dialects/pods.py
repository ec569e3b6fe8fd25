"""Pods as reconcilers see them: with Kueue's annotations, labels and scheduling gate, but without resources.

`core.WirePod` is the projection with the resources, which placement reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..model.pod import Owner, Pod
from ..model.workload import LONG_AGO
from . import core
from .kueue import keys
from .timestamps import parse

TOPOLOGY_GATE = keys.PREFIX + "topology"
POD_SET = keys.PREFIX + "podset"
SLICE_NAME = keys.PREFIX + "workload-slice-name"
INDEX_OFFSET = keys.PREFIX + "pod-index-offset"


class OwnerReference(core.Struct):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class LiveMeta(core.Meta):
    creation_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None


class SchedulingGate(core.Struct):
    name: str | None = None


class LiveSpec(core.Struct):
    node_name: str | None = None
    node_selector: core.Labels | None = None
    tolerations: list[core.WireToleration] | None = None
    scheduling_gates: list[SchedulingGate] | None = None


class PodCondition(core.Struct):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None


class LiveStatus(core.Struct):
    phase: str | None = None
    conditions: list[PodCondition] | None = None
    start_time: str | None = None


class LivePod(core.Struct):
    metadata: LiveMeta | None = None
    spec: LiveSpec | None = None
    status: LiveStatus | None = None


def pod(raw: dict[str, Any]) -> Pod:
    """Read a pod from decoded JSON; msgspec.ValidationError if a field has the wrong type."""
    return live_pod(msgspec.convert(raw, LivePod))


def live_pod(wire: LivePod) -> Pod:
    meta, spec, status = wire.metadata or LiveMeta(), wire.spec or LiveSpec(), wire.status or LiveStatus()
    labels, notes = meta.labels or {}, meta.annotations or {}
    gates = tuple(gate.name or "" for gate in spec.scheduling_gates or ())
    workload = notes.get(keys.WORKLOAD, "")
    return Pod(
        namespace=meta.namespace or "",
        name=meta.name or "",
        uid=meta.uid or "",
        labels=labels,
        annotations=notes,
        workload=workload,
        family=notes.get(SLICE_NAME) or workload,
        pod_set=labels.get(POD_SET, ""),
        index_offset=notes.get(INDEX_OFFSET, ""),
        node=spec.node_name or "",
        phase=status.phase or "",
        gates=gates,
        gated=TOPOLOGY_GATE in gates,
        selector=spec.node_selector or {},
        tolerations=core.tolerations(spec.tolerations or ()),
        deleting=meta.deletion_timestamp is not None,
        ready=any(one.type == "Ready" and one.status == "True" for one in status.conditions or ()),
        created=parse(meta.creation_timestamp) if meta.creation_timestamp else LONG_AGO,
        owner=_controller(meta.owner_references or ()),
        unschedulable=_unschedulable(status.conditions or ()),
        accepted=bool(status.start_time) and status.phase != "Failed",
    )


def takes_room(node: str | None, phase: str | None) -> bool:
    """Whether a pod uses capacity: it is bound and has not ended. A terminating pod does until it has stopped."""
    return bool(node) and phase not in ("Succeeded", "Failed")


def daemon_of(owners: Iterable[OwnerReference]) -> str:
    """The uid of the DaemonSet that controls a pod; empty if none does."""
    return next((one.uid or "" for one in owners if one.controller and one.kind == "DaemonSet"), "")


def names_ours(*named: Iterable[str]) -> bool:
    """Whether any of these labels, annotations or finalizers is Kueue's: then the whole pod is needed."""
    for several in named:
        for one in several:
            if one.startswith(keys.PREFIX):
                return True
    return False


def _unschedulable(conditions: Iterable[PodCondition]) -> str:
    """The scheduler's message; "" if it has bound the pod, or has not looked at it because of its gates."""
    for one in conditions:
        if one.type == "PodScheduled" and one.status == "False" and one.reason != "SchedulingGated":
            return one.message or one.reason or ""
    return ""


def _controller(owners: list[OwnerReference] | tuple[()]) -> Owner | None:
    for one in owners:
        if one.controller:
            return Owner(one.kind or "", one.name or "", one.uid or "", one.api_version or "")
    return None
