"""Long queues: what a cycle over 1,000 queues costs with 100,000 pending workloads, and with only the heads.

No workload fits, because the nodes are too small; every queue parks its head and tries the next class. The same cycle
is timed with long and short queues, and so is adding and deleting one workload.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from closeknit.decide.scheduler import Scheduler
from closeknit.model.node import Node
from closeknit.model.quota import Quota
from closeknit.model.request import Constraint
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload

from .cluster import RACK
from .shapes import queue, scheduler, workload

QUEUES = 1000
SHAPE = Shape.of({"cpu": 1000})


def lines(pending: int) -> Scheduler:
    """Queues with enough quota, on nodes that are too small; workloads differ in priority and age."""
    topology = Topology("default", (RACK, HOSTNAME))
    nodes = [Node(f"n{n}", {RACK: f"r{n // 16}", HOSTNAME: f"n{n}"}, {"cpu": 500, "pods": 110}) for n in range(640)]
    built = scheduler(topology, nodes, [queue(f"cq-{n:04d}", {"cpu": Quota(100_000)}) for n in range(QUEUES)])
    for number in range(pending):
        built.put(waiting(number), 0.0)
    return built


def waiting(number: int) -> Workload:
    name = f"cq-{number % QUEUES:04d}"
    rank = number // QUEUES
    constraint = Constraint(preferred=RACK)
    return workload(f"wl-{number}", name, 1 + rank % 7, SHAPE, constraint, -rank, float(number))


def one_cycle(built: Scheduler) -> float:
    """Seconds of one cycle over all queues."""
    begin = process_time()
    built.cycle(1e6)
    return process_time() - begin


def churn(built: Scheduler, rounds: int = 300) -> float:
    """Seconds to add one workload and to delete it again."""
    extra = [waiting(number + 10_000_000) for number in range(rounds)]
    begin = process_time()
    for one in extra:
        built.put(one, 0.0)
        built.drop(one.key)
    return (process_time() - begin) / rounds


def fastest(measure: Callable[[], float], rounds: int) -> float:
    return min(measure() for _ in range(rounds))
