"""The wake table: cluster events, which queues each reaches, and which parked workloads it can help.

Nothing polls. A parked workload becomes ready only when an event reaches its queue. Kueue wakes every workload that an
event reaches. With the gate WakeByReason, workloads stay parked if the event cannot change their reason: a job that
needs more than the quota of its whole cohort is not helped by another job that ends.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class RequeueReason(Enum):
    """Why a workload was not admitted; decides whether it is requeued at once, parked, or parked with its class."""

    LOST_ITS_PLACE = "FailedAfterNomination"
    PENDING_PREEMPTION = "PendingPreemption"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    GATED = "PreemptionGated"
    NAMESPACE = "NamespaceMismatch"
    OTHER = ""


RETRIES_AT_ONCE = frozenset(
    {RequeueReason.LOST_ITS_PLACE, RequeueReason.PENDING_PREEMPTION, RequeueReason.PREEMPTION_FAILED}
)
"""Requeued at once under either strategy: the next cycle may decide differently."""

PARKS_ITS_CLASS = frozenset({RequeueReason.NO_FIT, RequeueReason.NO_CANDIDATES})
"""Reasons that hold for the whole equivalence class."""


class Reach(Enum):
    """Which queues an event reaches."""

    TREE = auto()
    """All queues under the root cohort of the queue concerned; the queue alone if it has no cohort."""
    QUEUE = auto()
    EVERYWHERE = auto()


class WaitStage(Enum):
    """What a parked workload is waiting for."""

    FLAVOR = "NoMatchingFlavor"
    MAXIMUM = "ExceedsMaxQuota"
    PLACE = "TopologyPlacementFailed"
    """It would not fit even on empty nodes."""
    QUOTA = "WaitingForQuota"
    """It lacks quota and may not preempt for it, regardless of room."""
    ROOM = "WaitingForRoom"
    """Quota may be available or reclaimable; the nodes are full, or may be."""
    NAMESPACE = "NamespaceMismatch"
    FAULT = "InternalError"
    """Deciding about it raised an exception: it is tried again after a backoff, or when a rule has changed."""
    UNKNOWN = ""


ALL = frozenset(WaitStage)
FREED = frozenset({WaitStage.QUOTA, WaitStage.ROOM, WaitStage.UNKNOWN})
CAPACITY = frozenset({WaitStage.ROOM, WaitStage.PLACE, WaitStage.UNKNOWN})


class WakeRule(NamedTuple):
    reach: Reach
    wakes: frozenset[WaitStage]


class WakeEvent(Enum):
    """What happened in the cluster."""

    WORKLOAD_FINISHED = auto()
    WORKLOAD_DELETED = auto()
    WORKLOAD_DEACTIVATED = auto()
    WORKLOAD_EVICTED = auto()
    """It released its quota; an eviction in progress frees nothing yet."""
    WORKLOAD_SHRANK = auto()
    PODS_RECLAIMED = auto()
    PRIORITY_CHANGED = auto()
    QUEUE_CHANGED = auto()
    COHORT_CHANGED = auto()
    CHECK_CHANGED = auto()
    NAMESPACE_CHANGED = auto()
    LIMITS_CHANGED = auto()
    """A LimitRange or a RuntimeClass."""
    FLAVOR_CHANGED = auto()
    TOPOLOGY_CHANGED = auto()
    NODE_CHANGED = auto()
    OTHER_POD_GONE = auto()
    VOLUME_CHANGED = auto()
    """A PersistentVolumeClaim, a PersistentVolume or a StorageClass."""
    ROOM_FREED = auto()
    """A workload of another cohort released its places."""
    QUEUE_BORROWS = auto()
    """An admission made a queue borrow, or borrow more: others may reclaim from it."""
    RESERVATION_ENDED = auto()
    """A workload that had blocked room without holding it no longer does."""


RULES = {
    WakeEvent.WORKLOAD_FINISHED: WakeRule(Reach.TREE, FREED),
    WakeEvent.WORKLOAD_DELETED: WakeRule(Reach.TREE, FREED),
    WakeEvent.WORKLOAD_DEACTIVATED: WakeRule(Reach.TREE, FREED),
    WakeEvent.WORKLOAD_EVICTED: WakeRule(Reach.TREE, FREED),
    WakeEvent.WORKLOAD_SHRANK: WakeRule(Reach.TREE, FREED),
    WakeEvent.PODS_RECLAIMED: WakeRule(Reach.TREE, FREED),
    WakeEvent.PRIORITY_CHANGED: WakeRule(Reach.TREE, FREED),
    WakeEvent.QUEUE_CHANGED: WakeRule(Reach.TREE, ALL),
    WakeEvent.COHORT_CHANGED: WakeRule(Reach.TREE, ALL),
    WakeEvent.CHECK_CHANGED: WakeRule(Reach.QUEUE, ALL),
    WakeEvent.NAMESPACE_CHANGED: WakeRule(Reach.EVERYWHERE, frozenset({WaitStage.NAMESPACE, WaitStage.UNKNOWN})),
    WakeEvent.LIMITS_CHANGED: WakeRule(Reach.EVERYWHERE, ALL),
    WakeEvent.FLAVOR_CHANGED: WakeRule(Reach.EVERYWHERE, ALL),
    WakeEvent.TOPOLOGY_CHANGED: WakeRule(Reach.EVERYWHERE, ALL),
    WakeEvent.NODE_CHANGED: WakeRule(Reach.EVERYWHERE, CAPACITY),
    WakeEvent.OTHER_POD_GONE: WakeRule(Reach.EVERYWHERE, CAPACITY),
    WakeEvent.VOLUME_CHANGED: WakeRule(Reach.EVERYWHERE, CAPACITY),
    WakeEvent.ROOM_FREED: WakeRule(Reach.TREE, frozenset({WaitStage.ROOM, WaitStage.UNKNOWN})),
    WakeEvent.QUEUE_BORROWS: WakeRule(Reach.TREE, FREED),
    WakeEvent.RESERVATION_ENDED: WakeRule(Reach.EVERYWHERE, FREED),
}
"""The wake table: which queues each event reaches, and which stages it can help."""
