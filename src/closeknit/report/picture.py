"""A running cluster at one moment, as values that can be drawn: hosts in their racks, jobs, queues, last decisions.

Whoever watches the cluster makes one; the live view and the status page are functions of it. It says nothing about how
things came about, and holds no more than fits on a screen or two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

HostState = Literal["up", "silent", "lost", "held"]
"""`silent`: the machine is down, and nobody has noticed; `held`: cordoned, or not there yet."""

IDLE, OTHER = -1, -2
"""Colours of a host that has no pods, and of one whose pods belong to no queue; jobs have 0 and up."""


class Host(NamedTuple):
    """`colour` is that of the job with most pods there; `share` is how much of its main resource is asked for."""

    name: str
    state: HostState = "up"
    colour: int = IDLE
    share: float = 0.0


class Rack(NamedTuple):
    name: str
    hosts: tuple[Host, ...]


class Block(NamedTuple):
    """The domain above the racks; without a name if there is none."""

    name: str
    racks: tuple[Rack, ...]


class Job(NamedTuple):
    """`where` names the smallest domain that holds all its pods; a job that waits says why in `waits`."""

    name: str
    queue: str
    pods: int
    colour: int = IDLE
    where: str = ""
    waits: str = ""


class Queue(NamedTuple):
    """Of one ClusterQueue: what it uses of its main resource, all flavors together."""

    name: str
    resource: str
    used: int
    quota: int
    running: int
    waiting: int

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.quota)


class Told(NamedTuple):
    """One decision: `job` is the job's name, `text` says where or why, `cost` is in microseconds."""

    at: float
    outcome: str
    job: str
    text: str
    cost: int


class Access(NamedTuple):
    """How to get at the cluster."""

    address: str
    folder: str
    kubeconfig: str
    options: str = ""
    """What `closeknit` commands need to find it; empty for the usual folder."""


class Picture(NamedTuple):
    """`says` is what a demo says of its last step. `workloads` are counted by state.

    `more_jobs` are there beside `jobs`; `notes` are what whoever started it has to know.
    """

    version: str
    access: Access
    since: float
    now: float
    demo: str = ""
    says: str = ""
    blocks: tuple[Block, ...] = ()
    pods: int = 0
    jobs: tuple[Job, ...] = ()
    queues: tuple[Queue, ...] = ()
    workloads: Mapping[str, int] = {}
    decisions: tuple[Told, ...] = ()
    more_jobs: int = 0
    notes: tuple[str, ...] = ()

    def hosts(self) -> Iterator[Host]:
        return (host for block in self.blocks for rack in block.racks for host in rack.hosts)
