"""What wakes whom: events in the cluster, how far each reaches, and which reasons for waiting it can end.

Nothing polls. A workload that was set aside comes back only when an event reaches its queue. Kueue wakes everybody
whom an event reaches. With the gate WakeByReason those stay asleep whose reason the event cannot touch: a job that
asks for more than the quota of its whole cohort is not helped by another job that ends.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class Why(Enum):
    """Why a workload was not admitted, as far as its place in line is concerned."""

    LOST_ITS_PLACE = "FailedAfterNomination"
    PENDING_PREEMPTION = "PendingPreemption"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    GATED = "PreemptionGated"
    NAMESPACE = "NamespaceMismatch"
    OTHER = ""


RETRIES_AT_ONCE = frozenset({Why.LOST_ITS_PLACE, Why.PENDING_PREEMPTION, Why.PREEMPTION_FAILED})
"""Back into line at once under either strategy: the next cycle may well decide otherwise."""

PARKS_ITS_LIKES = frozenset({Why.NO_FIT, Why.NO_CANDIDATES})
"""What holds for one holds for all that are like it."""


class Reach(Enum):
    """Which queues an event touches."""

    TREE = auto()
    """All queues under the root cohort of the queue concerned; the queue alone if it has no cohort."""
    QUEUE = auto()
    EVERYWHERE = auto()


class Stage(Enum):
    """What keeps a workload that was set aside."""

    FLAVOR = "NoMatchingFlavor"
    MAXIMUM = "ExceedsMaxQuota"
    PLACE = "TopologyPlacementFailed"
    """Not even empty nodes would do."""
    QUOTA = "WaitingForQuota"
    """Whatever room there is: no other workload may be sent away for its quota."""
    ROOM = "WaitingForRoom"
    """Quota may be there, or be had; nodes are full, or it is not sure that they are not."""
    NAMESPACE = "NamespaceMismatch"
    UNKNOWN = ""


ALL = frozenset(Stage)
FREED = frozenset({Stage.QUOTA, Stage.ROOM, Stage.UNKNOWN})
CAPACITY = frozenset({Stage.ROOM, Stage.PLACE, Stage.UNKNOWN})


class Rule(NamedTuple):
    reach: Reach
    wakes: frozenset[Stage]


class Event(Enum):
    """What happened."""

    WORKLOAD_FINISHED = auto()
    WORKLOAD_DELETED = auto()
    WORKLOAD_DEACTIVATED = auto()
    WORKLOAD_EVICTED = auto()
    """It gave its quota back; an eviction that is under way frees nothing yet."""
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
    """A workload that is not of the same cohort gave its places back."""
    RESERVATION_ENDED = auto()
    """Somebody that no other could pass is out of the way; it had taken nothing yet."""


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
"""Who wakes whom: how far each event reaches, and which stages it can help."""
