"""Actions: what a reconciler wants to be done, as values. The caller writes them, and a write may fail.

Ungate      remove a pod's topology gate and add the node selector of its place
EndPod      fail a pod that can never start
Change      change the status of a workload
Deactivate  set spec.active of a workload to false
Remove      delete a workload
Finalize    remove our finalizer from a workload
MakeWorkload, Rewrite   create the workload of a job, or update it to match the job
Start, Stop             unsuspend a job with what its workload was assigned, or suspend and restore it
Ask, Withdraw           create a ProvisioningRequest, or delete it
Later       reconcile again at a given time
GiveUp      nothing can be done until an object changes

Events are recorded once the write that they belong to has succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.event import Event
from ..model.numa import AmountsByZone
from ..model.pod import Pod
from ..model.provisioning import ProvisioningConfig
from ..model.workload import Workload


@dataclass(frozen=True, slots=True)
class Ungate:
    """Remove the topology gate; `selector` is added to the pod's node selector. `rank` is the pod's, if it has one.

    `zones` are the NUMA zones that its kubelet is expected to give it.
    """

    pod: Pod
    selector: Mapping[str, str]
    rank: int | None = None
    zones: AmountsByZone = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EndPod:
    """Set phase Failed, with a condition of this type set to True."""

    pod: Pod
    kind: str
    reason: str
    message: str
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusChange:
    before: Workload
    after: Workload
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Deactivate:
    workload: Workload


@dataclass(frozen=True, slots=True)
class Remove:
    workload: Workload


@dataclass(frozen=True, slots=True)
class Finalize:
    workload: Workload


@dataclass(frozen=True, slots=True)
class MakeWorkload:
    pass


@dataclass(frozen=True, slots=True)
class Rewrite:
    workload: Workload


@dataclass(frozen=True, slots=True)
class Start:
    workload: Workload


@dataclass(frozen=True, slots=True)
class Stop:
    """`workload` holds the original pod templates."""

    workload: Workload | None
    message: str


@dataclass(frozen=True, slots=True)
class RequestProvisioning:
    """A request of this name for the pod sets of the workload that the check applies to."""

    workload: Workload
    check: str
    name: str
    config: ProvisioningConfig


@dataclass(frozen=True, slots=True)
class Withdraw:
    workload: Workload
    name: str


@dataclass(frozen=True, slots=True)
class Requeue:
    at: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str


Action = (
    Ungate
    | EndPod
    | StatusChange
    | Deactivate
    | Remove
    | Finalize
    | MakeWorkload
    | Rewrite
    | Start
    | Stop
    | RequestProvisioning
    | Withdraw
    | Requeue
    | GiveUp
)
