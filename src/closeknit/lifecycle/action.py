"""Actions: what a reconciler wants done, as values. Whoever ran it carries them out, and may fail to.

Ungate      a pod may be scheduled, on the nodes that its selector now names
EndPod      a pod that can never start is over
Change      a workload gets another status
Deactivate  a workload is to stay out until somebody activates it again
Remove      a workload is to be deleted
Finalize    a workload may go: nobody needs it any more
MakeWorkload, Rewrite   the workload of a job is made, or made to say what the job says
Start, Stop             the job runs with what its workload was given, or as it was before
Ask, Withdraw           machines are asked for, or not any more
Later       look again at a time, unless something happens before
GiveUp      there is nothing to be done until an object changes

Events are told once the write that they belong to has worked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model.event import Event
from ..model.pod import Pod
from ..model.provisioning import ProvisioningConfig
from ..model.workload import Workload


@dataclass(frozen=True, slots=True)
class Ungate:
    """Take away the topology gate; `selector` is added to the pod's own."""

    pod: Pod
    selector: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EndPod:
    """Phase Failed, with a condition of this kind that holds."""

    pod: Pod
    kind: str
    reason: str
    message: str
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
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
    """`workload` knows what the pod templates were like before."""

    workload: Workload | None
    message: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of this name, for the pod sets of the workload that a check is about."""

    workload: Workload
    check: str
    name: str
    config: ProvisioningConfig


@dataclass(frozen=True, slots=True)
class Withdraw:
    workload: Workload
    name: str


@dataclass(frozen=True, slots=True)
class Later:
    at: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str


Action = (
    Ungate
    | EndPod
    | Change
    | Deactivate
    | Remove
    | Finalize
    | MakeWorkload
    | Rewrite
    | Start
    | Stop
    | Ask
    | Withdraw
    | Later
    | GiveUp
)
