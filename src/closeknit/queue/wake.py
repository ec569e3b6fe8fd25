"""The wake table: cluster events, which queues each reaches, and which parked workloads it can help.

Nothing polls. A parked workload becomes ready only when an event reaches its queue. Kueue wakes every workload that an
event reaches. With the gate WakeByReason, workloads stay parked if the event cannot change their reason: a job that
needs more than the quota of its whole cohort is not helped by another job that ends.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class Why(Enum):
    """Why a workload was not admitted; decides whether it is requeued at once, parked, or parked with its class."""

    LOST_ITS_PLACE = "FailedAfterNomination"
    PENDING_PREEMPTION = "PendingPreemption"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    GATED = "PreemptionGated"
    NAMESPACE = "NamespaceMismatch"
    OTHER = ""


RETRIES_AT_ONCE = frozenset({Why.LOST_ITS_PLACE, Why.PENDING_PREEMPTION, Why.PREEMPTION_FAILED})
"""Requeued at once under either strategy: the next cycle may decide differently."""

PARKS_ITS_LIKES = frozenset({Why.NO_FIT, Why.NO_CANDIDATES})
"""Reasons that hold for the whole equivalence class."""


class Reach(Enum):
    """Which queues an event reaches."""

    TREE = auto()
    """All queues under the root cohort of the queue concerned; the queue alone if it has no cohort."""
    QUEUE = auto()
    EVERYWHERE = auto()


class Stage(Enum):
    """What a parked workload is waiting for."""

    FLAVOR = "NoMatchingFlavor"
    MAXIMUM = "ExceedsMaxQuota"
    PLACE = "TopologyPlacementFailed"
    """It would not fit even on empty nodes."""
    QUOTA = "WaitingForQuota"
    """It lacks quota and may not preempt for it, whatever room there is."""
    ROOM = "WaitingForRoom"
    """Quota may be available or reclaimable; the nodes are full, or may be."""
    NAMESPACE = "NamespaceMismatch"
    UNKNOWN = ""


ALL = frozenset(Stage)
FREED = frozenset({Stage.QUOTA, Stage.ROOM, Stage.UNKNOWN})
CAPACITY = frozenset({Stage.ROOM, Stage.PLACE, Stage.UNKNOWN})


class Rule(NamedTuple):
    reach: Reach
    wakes: frozenset[Stage]


class Event(Enum):
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
    ROOM_FREED = auto()
    """A workload of another cohort released its places."""
    RESERVATION_ENDED = auto()
    """A workload that had blocked room without holding it no longer does."""


RULES = {
    Event.WORKLOAD_FINISHED: Rule(Reach.TREE, FREED),
    Event.WORKLOAD_DELETED: Rule(Reach.TREE, FREED),
    Event.WORKLOAD_DEACTIVATED: Rule(Reach.TREE, FREED),
    Event.WORKLOAD_EVICTED: Rule(Reach.TREE, FREED),
    Event.WORKLOAD_SHRANK: Rule(Reach.TREE, FREED),
    Event.PODS_RECLAIMED: Rule(Reach.TREE, FREED),
    Event.PRIORITY_CHANGED: Rule(Reach.TREE, FREED),
    Event.QUEUE_CHANGED: Rule(Reach.TREE, ALL),
    Event.COHORT_CHANGED: Rule(Reach.TREE, ALL),
    Event.CHECK_CHANGED: Rule(Reach.QUEUE, ALL),
    Event.NAMESPACE_CHANGED: Rule(Reach.EVERYWHERE, frozenset({Stage.NAMESPACE, Stage.UNKNOWN})),
    Event.LIMITS_CHANGED: Rule(Reach.EVERYWHERE, ALL),
    Event.FLAVOR_CHANGED: Rule(Reach.EVERYWHERE, ALL),
    Event.TOPOLOGY_CHANGED: Rule(Reach.EVERYWHERE, ALL),
    Event.NODE_CHANGED: Rule(Reach.EVERYWHERE, CAPACITY),
    Event.OTHER_POD_GONE: Rule(Reach.EVERYWHERE, CAPACITY),
    Event.ROOM_FREED: Rule(Reach.TREE, frozenset({Stage.ROOM, Stage.UNKNOWN})),
    Event.RESERVATION_ENDED: Rule(Reach.EVERYWHERE, FREED),
}
"""The wake table: which queues each event reaches, and which stages it can help."""
