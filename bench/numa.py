"""Filter and score by NUMA zones, and counts by the kubelet's own rules: `make bench`, or `python -m bench.numa`.

One pod of three containers on 5,000 nodes with 8 zones and 6 resources each, beside one node with 34 zones of which two
have CPUs. Every strategy and both scopes; every figure is CPU time of this process, the median of several rounds. The
counts are also of a pod of one container, and of one that needs two zones; no two nodes are in the same state, and
nothing was counted before.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from time import process_time
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.numa.topology_match import align, score
from closeknit.engine.numa.zone_table import ZoneTable
from closeknit.model.container import Container
from closeknit.model.numa import SINGLE, NodeZones, TopologyManager, TopologyPolicy, TopologyScope, Zone, ZoneAmounts
from closeknit.model.numa_arguments import MatchArguments, ScoringStrategy
from closeknit.numa.admissions import Admissions
from closeknit.numa.demand import PodDemand
from closeknit.numa.pod_needs import PodNeeds
from closeknit.numa.zone_state import state_of_report

GIB = 2**30
NODES = 5_000
ZONES = 8
ROUNDS = 15
NAMES = ("cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu", "rdma/hca", "example.com/fpga")
WHOLE = (32_000, 256 * GIB, 16 * GIB, 4, 4, 2)
ASKS = ((4_000, 16 * GIB, GIB, 1, 1, 1), (8_000, 32 * GIB, 2 * GIB, 1, 1, 0), (2_000, 8 * GIB, GIB, 0, 1, 0))
WIDE = (20_000, 128 * GIB, 8 * GIB, 3, 3, 2)
"""What one container asks for that needs two zones where some of them are in use."""
WIDER = (48_000, 300 * GIB, 8 * GIB, 5, 5, 3)
"""What one container asks for that needs two zones on an empty machine."""
ALIGNING: tuple[TopologyPolicy, ...] = ("single-numa-node", "restricted", "best-effort")
DEMANDS = {"1 container": ASKS[:1], "3 containers": ASKS, "1 that needs 2 zones": (WIDER,)}


def pod(*asks: tuple[int, ...]) -> PodNeeds:
    requests = [dict(zip(NAMES, one, strict=True)) for one in asks]
    return PodNeeds(tuple(Container.of(one, one) for one in requests), "Guaranteed")


def node(name: str, scope: TopologyScope, available: NDArray[np.int64], policy: TopologyPolicy = SINGLE) -> NodeZones:
    zones = []
    for at, row in enumerate(available.tolist()):
        amounts = map(ZoneAmounts, WHOLE, WHOLE, row)
        zones.append(Zone(at, dict(zip(NAMES, amounts, strict=True)), costs(at)))
    return NodeZones(name, tuple(zones), TopologyManager(policy, scope))


def costs(at: int) -> dict[int, int]:
    """Two sockets of four zones."""
    return {other: 10 if other == at else 12 if other // 4 == at // 4 else 20 for other in range(ZONES)}


def large(scope: TopologyScope, policy: TopologyPolicy = SINGLE) -> NodeZones:
    """Two zones with CPUs, and 32 of memory on GPUs."""
    full = {key: ZoneAmounts(one, one, one) for key, one in zip(NAMES, WHOLE, strict=True)}
    memory = {"memory": full["memory"]}
    distances = dict.fromkeys(range(34), 40)
    zones = tuple(Zone(at, full if at < 2 else memory, {**distances, at: 10}) for at in range(34))
    return NodeZones("gb200", zones, TopologyManager(policy, scope, 64))


def left(nodes: int) -> NDArray[np.int64]:
    """What is free on each node, by zone and resource: on average three quarters, seldom nothing."""
    used = np.random.default_rng(1).random((nodes, ZONES, len(NAMES)))
    return (np.array(WHOLE) * (1 - used**3)).astype(np.int64)


def nodes_in_use(scope: TopologyScope, nodes: int = NODES) -> Iterator[NodeZones]:
    """Nodes of one model, with random amounts in use."""
    for number, row in enumerate(left(nodes)):
        yield node(f"n{number}", scope, row)


def table(reports: Iterable[NodeZones]) -> ZoneTable:
    built = ZoneTable()
    for one in reports:
        built.put_node(one.node, NAMES)
        built.put_zones(one)
    return built


def measured(work: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> float:
    """Milliseconds, the median of several rounds, without what prepares each of them."""
    gc.collect()
    gc.disable()
    times = []
    for _ in range(ROUNDS + 1):
        prepare()
        begin = process_time()
        work()
        times.append(process_time() - begin)
    gc.enable()
    return median(times[1:]) * 1000


def decided(on: ZoneTable, needs: PodNeeds, arguments: MatchArguments) -> float:
    """The time of filter and score."""
    return measured(lambda: (align(on, needs), score(on, needs, arguments)))


def change(numbers: NDArray[np.int64], fresh: Iterator[int]) -> None:
    """One node is in a state that was not asked about."""
    numbers[7] = next(fresh)


def counted(policy: TopologyPolicy, scope: TopologyScope) -> None:
    """The column of a demand cold, after one node changed, and on the node with 34 zones."""
    admissions = Admissions()
    states = [state_of_report(node("n", scope, row, policy)) for row in left(NODES)]
    numbers = np.array([admissions.number(state) for state in states])
    alone = np.array([admissions.number(state_of_report(large(scope, policy)))])
    fresh = iter(
        [admissions.number(state_of_report(node("n", scope, row, policy))) for row in left(NODES + 99)[NODES:]]
    )
    for name, asks in DEMANDS.items():
        demand = PodDemand(pod(*asks).containers, qos="Guaranteed")
        cold, one = (
            measured(partial(admissions.counts, on, demand), admissions.forget_answers) for on in (numbers, alone)
        )
        admissions.counts(numbers, demand)
        after = measured(partial(admissions.counts, numbers, demand), partial(change, numbers, fresh))
        print(
            f"{scope:9} {policy:18} {name:20} {cold:6.2f}   one node changed {after:5.2f}   34 zones alone {one:5.2f}"
        )


def main() -> None:
    print(f"one pod on {NODES:,} nodes with {ZONES} zones and {len(NAMES)} resources, and one with 34 zones; CPU ms")
    for scope in get_args(TopologyScope):
        full, alone = table([*nodes_in_use(scope), large(scope)]), table([large(scope)])
        for strategy in get_args(ScoringStrategy):
            arguments = MatchArguments(strategy)
            for name, needs in (("3 containers", pod(*ASKS)), ("1 that needs 2 zones", pod(WIDE))):
                many, one = (decided(on, needs, arguments) for on in (full, alone))
                print(f"{scope:9} {strategy:18} {name:20} {many:6.2f}   34 zones alone {one:6.2f}")
        changed = node("n7", scope, np.tile(np.array(WHOLE), (ZONES, 1)))
        print(f"{scope:9} {'one node changes':39} {measured(partial(full.put_zones, changed)):6.2f}")
    print("how many pods kubelets admit, all nodes in different states; CPU ms, cold")
    for policy in ALIGNING:
        for scope in get_args(TopologyScope):
            counted(policy, scope)


if __name__ == "__main__":
    main()
