"""A plan as the files that launchers read: Open MPI host and rank files, torchrun's node list.

Ranks continue across the pod sets in order, a leader before its workers. Launchers need host names, so the topology
must end at the hostname.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from ..model.assignment import Assignment

TORN = "# ranks are not contiguous per host; use -o rankfile for the exact order"


def hosts(assignments: Sequence[Assignment]) -> Iterator[str]:
    """The host of every rank, rank 0 first."""
    for assignment in assignments:
        for path in assignment.slots():
            yield path[-1]


def hostfile(assignments: Sequence[Assignment]) -> Iterator[str]:
    """Open MPI: `<node> slots=<pods>`, in rank order.

    Open MPI merges the lines of a host, so a host that appears again after another one loses its place in the order.
    """
    runs = [(host, sum(1 for _ in run)) for host, run in groupby(hosts(assignments))]
    if len({host for host, _ in runs}) < len(runs):
        yield TORN
    for host, pods in runs:
        yield f"{host} slots={pods}"


def rankfile(assignments: Sequence[Assignment]) -> Iterator[str]:
    """Open MPI: `rank <r>=<node> slot=<k>`; slots are counted per node."""
    used: Counter[str] = Counter()
    for rank, host in enumerate(hosts(assignments)):
        yield f"rank {rank}={host} slot={used[host]}"
        used[host] += 1


def torchrun(assignments: Sequence[Assignment]) -> Iterator[str]:
    """torchrun: the number of nodes, the host of rank 0, and each node's rank."""
    nodes = list(dict.fromkeys(hosts(assignments)))
    yield f"NNODES={len(nodes)}"
    if nodes:
        yield f"MASTER_ADDR={nodes[0]}"
    for rank, node in enumerate(nodes):
        yield f"{rank} {node}"


FORMATS: dict[str, Callable[[Sequence[Assignment]], Iterator[str]]] = {
    "hostfile": hostfile,
    "rankfile": rankfile,
    "torchrun": torchrun,
}
