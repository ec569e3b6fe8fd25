"""Trees of groups by the engine alone: `make bench`, or `python -m bench.groups`.

Gangs are placed one after the other, each committed before the next: of 4 pods and of 1,000 pods, on 5,000 nodes in 50
racks. Larger trees are placed on 10,000 nodes in racks, blocks and zones; warm means that their shape is known and
nothing has changed since. Random pods run on the nodes. Every figure is CPU time of this process, the best of several
rounds. What a second topology costs is measured beside a cluster with one, in turns.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from time import process_time

import numpy as np

from closeknit.engine.groups.parts import Trees
from closeknit.engine.groups.place import GroupResult, commit, place_groups
from closeknit.engine.groups.trial import GroupTrial
from closeknit.engine.policy import Policy
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import Topology
from closeknit.state.node_tree import node_columns, tree_over
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import LabelColumn

from .cluster import BLOCK, POD, RACK, running, table
from .placement import resident

ZONE = "cloud.provider.com/topology-zone"
NET = "net"
FEED = "feed"
POLICY = Policy()
SHAPE = Shape.of(POD)


class Cluster:
    """Nodes in domains of these sizes, by level; the widest level comes first. Pods run on some of them."""

    def __init__(self, size: int, sizes: dict[str, int]) -> None:
        self.columns: Snapshot = node_columns(table(size, sizes=sizes))
        self.trees: Trees = {NET: tree_over(self.columns.table, Topology(NET, tuple(sizes)))}
        pods = running(size)
        self.columns.admit(np.flatnonzero(pods), pods[pods > 0], SHAPE.charge)
        self.columns.commit()

    def add(self, level: str) -> None:
        """A second topology of one level, with other domains than the racks: every 50th node shares one."""
        size = len(self.columns.table)
        domains = np.arange(size, dtype=np.int32) % 50
        self.columns.table.labels[level] = LabelColumn(domains, [f"f{domain:02}" for domain in range(50)])
        self.trees = {**self.trees, level: tree_over(self.columns.table, Topology(level, (level,)))}

    def commit_gang(self) -> None:
        commit(self.columns, self.place(Request((pods("gang", 4, RACK),))))
        trial = GroupTrial(self.columns, POLICY)
        for tree in self.trees.values():
            trial.free(tree)
            trial.counts(tree, SHAPE)

    def place(self, request: Request) -> GroupResult:
        found = place_groups(self.columns, self.trees, request, POLICY)
        assert found.fits, found.reason
        return found


def pods(name: str, count: int, required: str | None = None, preferred: str | None = None) -> Group:
    return Group((PodSet(name, count, SHAPE),), name, Constraint(required, preferred, topology=NET))


def gangs_per_second(count: int, gangs: int, required: str | None, preferred: str | None) -> float:
    """Gangs of `count` pods on a new cluster, each committed before the next."""
    cluster = Cluster(5_000, {RACK: 100})
    requests = [Request((pods(f"gang-{at}", count, required, preferred),)) for at in range(gangs)]
    begin = process_time()
    for request in requests:
        commit(cluster.columns, cluster.place(request))
    return gangs / (process_time() - begin)


def nested() -> Request:
    """64 groups of 8 pods, each in a rack, eight of them in a block, everything in a zone."""
    leaves = [pods(f"g{at:02}", 8, RACK) for at in range(64)]
    blocks = [Group(tuple(leaves[at : at + 8]), f"b{at}", Constraint(BLOCK, topology=NET)) for at in range(0, 64, 8)]
    return Request((Group(tuple(blocks), "job", Constraint(ZONE, topology=NET)),))


def flat() -> Request:
    """64 groups of 8 pods, each in a rack, everything in a zone, in few blocks."""
    leaves = tuple(pods(f"g{at:02}", 8, RACK) for at in range(64))
    return Request((Group(leaves, "job", Constraint(ZONE, BLOCK, topology=NET)),))


def tree_times(request: Request, rounds: int) -> tuple[float, float]:
    """Milliseconds for a tree: warm, and with a new shape."""
    cluster = Cluster(10_000, {ZONE: 2_500, BLOCK: 250, RACK: 10})
    cluster.place(request)
    warm = fastest(lambda: cluster.place(request), rounds)
    return warm, fastest(lambda: cluster.place(request), rounds, before=cluster.columns.memo.clear)


def second_topology(rounds: int) -> tuple[float, float]:
    """What a second topology over the same nodes adds, as shares: to the time of a gang of 4, and to memory.

    The gang is placed and committed, and the sums of every topology are brought up to date, so that the next one may
    ask for either.
    """
    one, two = (Cluster(5_000, {RACK: 100}) for _ in range(2))
    two.add(FEED)
    times = [[fastest(cluster.commit_gang, 100) for cluster in (one, two)] for _ in range(rounds)]
    before, after = (min(column) for column in zip(*times, strict=True))
    return after / before - 1, memory_of_second()


def memory_of_second(size: int = 100_000) -> float:
    gc.collect()
    empty = resident()
    cluster = Cluster(size, {RACK: 100})
    cluster.place(Request((pods("gang", 4, RACK),)))
    one = resident()
    cluster.add(FEED)
    cluster.place(Request((feed_pods("gang", 4),)))
    return (resident() - one) / (one - empty)


def feed_pods(name: str, count: int) -> Group:
    return Group((PodSet(name, count, SHAPE),), name, Constraint(FEED, topology=FEED))


def fastest(run: Callable[[], object], rounds: int, before: Callable[[], object] | None = None) -> float:
    """CPU milliseconds of the fastest round."""
    found = float("inf")
    for _ in range(rounds):
        if before is not None:
            before()
        begin = process_time()
        run()
        found = min(found, process_time() - begin)
    return found * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = range(parser.parse_args().rounds)
    small = max(gangs_per_second(4, 2_000, RACK, None) for _ in rounds)
    print(f"gangs of 4, required rack, 5,000 nodes in 50 racks:    {small:>10,.0f} gangs/s", flush=True)
    large = max(gangs_per_second(1_000, 20, None, RACK) for _ in rounds)
    print(f"gangs of 1,000, preferred rack, on the same nodes:     {large * 1000:>10,.0f} pods/s", flush=True)
    for text, request in (("nested in blocks", nested()), ("in few blocks", flat())):
        warm, cold = tree_times(request, 4 * len(rounds))
        print(f"64 groups of 8 pods {text + ', 10,000 nodes:':<36}{warm:>9.1f} ms warm, {cold:.1f} ms cold", flush=True)
    time, memory = second_topology(len(rounds))
    print(f"a second topology over the same nodes: {time:+.0%} time of a gang of 4, {memory:+.0%} memory")


if __name__ == "__main__":
    main()
