"""A picture of a running cluster at one moment, as values: hosts in their racks, jobs, queues, last decisions.

The host builds it; the live view and the status page are functions of it. It has no history, and holds no more than
fits on a screen or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from ..model.escaping import in_one_line

HostState = Literal["up", "silent", "lost", "held"]
"""`silent`: the machine is down and this is not detected yet; `held`: cordoned, or not there yet."""

IDLE, OTHER = -1, -2
"""Colours of a host without pods, and of one whose pods belong to no queue; jobs have 0 and up."""


class Host(NamedTuple):
    """`colour` is that of the job with most pods there; `share` is the requested fraction of its main resource."""

    name: str
    state: HostState = "up"
    colour: int = IDLE
    share: float = 0.0


class Rack(NamedTuple):
    name: str
    hosts: tuple[Host, ...]


class Block(NamedTuple):
    """The domain above the racks; the name is empty if there is no such level."""

    name: str
    racks: tuple[Rack, ...]


class PictureJob(NamedTuple):
    """`where` is the smallest domain that contains all its pods; `waits` is why a pending job waits."""

    name: str
    queue: str
    pods: int
    colour: int = IDLE
    where: str = ""
    waits: str = ""


class Queue(NamedTuple):
    """One ClusterQueue: its usage of its main resource, all flavors together.

    `trouble` is why it admits nothing, such as that it is stopped. A LocalQueue that leads nowhere has only that.
    """

    name: str
    resource: str
    used: int
    quota: int
    running: int
    waiting: int
    trouble: str = ""

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.quota)


class DecisionLine(NamedTuple):
    """One decision: `job` is the job's name, `text` where or why, `cost` is in microseconds."""

    at: float
    outcome: str
    job: str
    text: str
    cost: int


COMMAND = re.compile(r"`(closeknit [^`]+)`")
"""A command in a text, to be typed as printed."""


class Access(NamedTuple):
    """How to connect to the cluster."""

    address: str
    folder: str
    kubeconfig: str
    options: str = ""
    """The options that `closeknit` commands need to find it; empty for the default folder."""

    def typed(self, text: str) -> str:
        """The text with these options in every command that it advises."""
        return COMMAND.sub(rf"`\1 {self.options}`", text) if self.options else text


class Picture(NamedTuple):
    """`says` is the demo's commentary on its last step. `workloads` are counted by state.

    `more_jobs` counts jobs that are not in `jobs`; `notes` are for the user who started the host.
    """

    version: str
    access: Access
    since: float
    now: float
    demo: str = ""
    says: str = ""
    blocks: tuple[Block, ...] = ()
    pods: int = 0
    jobs: tuple[PictureJob, ...] = ()
    queues: tuple[Queue, ...] = ()
    workloads: Mapping[str, int] = {}
    decisions: tuple[DecisionLine, ...] = ()
    more_jobs: int = 0
    notes: tuple[str, ...] = ()

    def hosts(self) -> Iterator[Host]:
        return (host for block in self.blocks for rack in block.racks for host in rack.hosts)


def shown(picture: Picture) -> Picture:
    """The picture with control characters from objects as escapes; names of hosts cannot contain any."""
    return picture._replace(
        says=in_one_line(picture.says),
        jobs=tuple(
            one._replace(name=in_one_line(one.name), where=in_one_line(one.where), waits=in_one_line(one.waits))
            for one in picture.jobs
        ),
        queues=tuple(one._replace(trouble=in_one_line(one.trouble)) for one in picture.queues),
        decisions=tuple(
            one._replace(job=in_one_line(one.job), text=in_one_line(one.text)) for one in picture.decisions
        ),
        notes=tuple(map(in_one_line, picture.notes)),
    )
