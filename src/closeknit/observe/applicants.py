"""Pods as an extender of a scheduler knows them, from its requests and from an informer."""

from __future__ import annotations

from ..dialects.scheduler_extender import ScheduledPod
from ..extender.applicant import Applicant
from ..numa.pod_needs import PodNeeds
from ..state.numa.zoned_pod import ZonedPod

NOTHING = PodNeeds((), "BestEffort")


def applicant(wire: ScheduledPod) -> Applicant:
    """Raises WireError for a pod with a quantity that cannot be read."""
    meta = wire.meta
    pod = ZonedPod(
        meta.namespace or "",
        meta.name or "",
        meta.uid or "",
        NOTHING,
        wire.node,
        wire.scheduler,
        wire.phase,
        wire.container_names,
    )
    return Applicant.of(wire.shape, pod, wire.qos, wire.bound_at)


def has_ended(wire: ScheduledPod) -> bool:
    """Whether the pod holds nothing any more."""
    return wire.phase in ("Succeeded", "Failed")
