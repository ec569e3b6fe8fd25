"""Places as launchers read them: Open MPI host and rank files, torchrun's node list, and the labels of a pod.

Ranks continue across the pod sets in order, a leader before its workers. Launchers need host names, so the topology
must end at the hostname.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from .assignment import Assignment

RANK = "closeknit.dev/rank"
DOMAIN = "closeknit.dev/domain."

TORN = "# ranks are not contiguous per host; use -o rankfile for the exact order"


def hosts(assignments: Sequence[Assignment]) -> list[str]:
    """The host of every rank, rank 0 first."""
    return [path[-1] for assignment in assignments for path in assignment.slots()]


def hostfile(ranks: Sequence[str]) -> Iterator[str]:
    """Open MPI: `<node> slots=<pods>`, in rank order.

    Open MPI merges the lines of a host, so a host that appears again after another one loses its place in the order.
    """
    runs = [(host, sum(1 for _ in run)) for host, run in groupby(ranks)]
    if len({host for host, _ in runs}) < len(runs):
        yield TORN
    for host, pods in runs:
        yield f"{host} slots={pods}"


def rankfile(ranks: Sequence[str]) -> Iterator[str]:
    """Open MPI: `rank <r>=<node> slot=<k>`; slots are counted per node."""
    used: Counter[str] = Counter()
    for rank, host in enumerate(ranks):
        yield f"rank {rank}={host} slot={used[host]}"
        used[host] += 1


def torchrun(ranks: Sequence[str]) -> Iterator[str]:
    """torchrun: the number of nodes, the host of rank 0, and each node's rank."""
    nodes = list(dict.fromkeys(ranks))
    yield f"NNODES={len(nodes)}"
    if nodes:
        yield f"MASTER_ADDR={nodes[0]}"
    for rank, node in enumerate(nodes):
        yield f"{rank} {node}"


def domain_label(level: str, levels: Sequence[str]) -> str:
    """The label with a pod's domain on a level: closeknit.dev/domain.topology-rack for example.com/topology-rack.

    If two levels end alike, the whole key is used.
    """
    end = level.rpartition("/")[2]
    alike = sum(one.rpartition("/")[2] == end for one in levels) > 1
    return DOMAIN + (level.replace("/", ".") if alike else end)


FORMATS: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "hostfile": hostfile,
    "rankfile": rankfile,
    "torchrun": torchrun,
}
"""By output format; each takes the host of every rank."""
