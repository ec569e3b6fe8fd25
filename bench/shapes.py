"""Clusters and loads for the benchmarks of the scheduling cycle, each as a scheduler ready to run."""

from __future__ import annotations

from dataclasses import replace

from closeknit.decide.scheduler import Scheduler
from closeknit.model.assignment import Assignment
from closeknit.model.cluster_queue import ClusterQueue, LocalQueue, Preemption, Selector
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint, PodSet, Request
from closeknit.model.settings import Settings
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Admission, Conditions, PodSetAssignment, Status, Workload, WorkloadPodSet
from closeknit.state.mirror import OtherPod

from .cluster import BLOCK, BLOCK_SIZE, GIB, RACK, RACK_SIZE

NAMESPACE = "default"


def queue(
    name: str,
    quotas: dict[str, Quota],
    cohort: str = "",
    preemption: Preemption | None = None,
) -> ClusterQueue:
    group = ResourceGroup(tuple(quotas), (FlavorQuotas("tas", quotas),))
    return ClusterQueue(name, (group,), cohort, selector=Selector(), preemption=preemption or Preemption())


def scheduler(topology: Topology, nodes: list[Node], queues: list[ClusterQueue], profile: str = "kueue") -> Scheduler:
    built = Scheduler(Gates.profile(profile), Settings())
    built.world.namespaces[NAMESPACE] = {}
    for node in nodes:
        built.world.put_node(node)
    built.world.put_topology(topology)
    built.world.put_flavor(Flavor("tas", {}, topology=topology.name))
    for one in queues:
        built.put_cluster_queue(one)
        built.put_local_queue(LocalQueue(NAMESPACE, f"lq-{one.name}", one.name))
    return built


def workload(
    name: str,
    queue: str,
    count: int,
    shape: Shape,
    constraint: Constraint | None,
    priority: int = 0,
    created: float = 0.0,
) -> Workload:
    pod_set = PodSet("main", count, shape, constraint)
    part = WorkloadPodSet("main", dict(shape.requests))
    return Workload(NAMESPACE, name, Request.of([pod_set]), (part,), f"lq-{queue}", name, priority, created)


def admitted(one: Workload, queue: str, places: dict[str, int], usage: dict[str, int], now: float = 0.0) -> Workload:
    """The workload with quota and an assignment, given as pods by host."""
    count = next(one.request.pod_sets).count
    given = Assignment((HOSTNAME,), tuple((host,) for host in places), tuple(places.values()))
    flavors = dict.fromkeys(usage, "tas")
    admission = Admission(queue, (PodSetAssignment("main", flavors, usage, count, given),))
    status = Status(admission=admission).condition("QuotaReserved", True, "QuotaReserved", "", now)
    return replace(one, status=status.condition("Admitted", True, "Admitted", "", now))


# Kueue's BenchmarkSchedulerTAS: 1,000 nodes, 30 resources, full; one pending job needs a group of nodes


def full_cluster(nodes: int = 1000, groups: int = 8) -> tuple[Scheduler, Workload]:
    topology = Topology("default", (BLOCK, HOSTNAME))
    more = {f"example.com/r{number}": 10 for number in range(28)}
    made, free = [], []
    counter, block = 0, 0
    for _ in range(nodes):
        counter += 1
        if counter == 31:
            counter, block = 0, block + 1
        host = f"node-{block}-{counter}"
        labels = {BLOCK: f"block-{block}", HOSTNAME: host, "node-group": f"group-{block % groups + 1}"}
        made.append(Node(host, labels, {"cpu": 10_000, "memory": 100 * GIB, "pods": 110, **more}))
        free.append([host, 10_000, 100 * GIB])
    quotas = {name: Quota(100_000_000 if name == "cpu" else 100_000) for name in ("cpu", *more)}
    quotas["memory"] = Quota(1_000_000 * GIB)
    built = scheduler(topology, made, [queue("cq", quotas, preemption=Preemption(within_queue="LowerPriority"))])
    number, fits = 0, True
    while fits:
        number += 1
        pods, size, memory = 10 * number % 31 + 1, number % 10 + 1, (number % 100 + 1) * GIB
        places = _first_fit(free, pods, size * 1000, memory)
        fits = places is not None
        if places is not None:
            requests = {"cpu": size * 1000, "memory": memory, **dict.fromkeys(more, size)}
            one = workload(f"wl-{number}", "cq", pods, Shape.of(requests), None, number, float(number))
            built.put(admitted(one, "cq", places, requests, float(number)), 0.0)
    built.world.snapshot("tas")  # a mirror is kept up to date, not built for a cycle
    requests = {"cpu": 5000, "memory": 50 * GIB, **dict.fromkeys(more, 5)}
    shape = Shape.of(requests, {"node-group": "group-1"})
    return built, workload("pending", "cq", 200, shape, None, number + 1, float(number))


def _first_fit(free: list[list], pods: int, cpu: int, memory: int) -> dict[str, int] | None:  # type: ignore[type-arg]
    places: dict[str, int] = {}
    left = pods
    for row in free:
        count = min(left, row[1] // cpu, row[2] // memory)
        if count:
            places[row[0]] = count
            left -= count
        if not left:
            break
    if left:
        return None
    for row in free:
        count = places.get(row[0], 0)
        row[1] -= count * cpu
        row[2] -= count * memory
    return places


# 700 gangs on 2,000 nodes that are otherwise full; a job of 200 single-GPU pods has to preempt 150 of them

GPU = "nvidia.com/gpu"


def gangs(nodes: int = 2000, count: int = 700) -> tuple[Scheduler, Workload]:
    """Gangs of 1, 1 and 2 GPUs in turn, spread over the racks: 150 of them hold 200 GPUs."""
    topology = Topology("default", (BLOCK, RACK, HOSTNAME))
    hosts = [f"n{row:05d}" for row in range(nodes)]
    made = [
        Node(
            host,
            {HOSTNAME: host, RACK: f"r{row // RACK_SIZE:04d}", BLOCK: f"b{row // BLOCK_SIZE:03d}"},
            {"cpu": 96_000, GPU: 8, "pods": 110},
        )
        for row, host in enumerate(hosts)
    ]
    quotas = {"cpu": Quota(nodes * 96_000), GPU: Quota(nodes * 8)}
    built = scheduler(topology, made, [queue("cq", quotas, preemption=Preemption(within_queue="LowerPriority"))])
    shape = Shape.of({"cpu": 4000, GPU: 1})
    held = dict.fromkeys(hosts, 0)
    for number in range(count):
        size = (1, 1, 2)[number % 3]
        at = [hosts[(number * 7 + step * RACK_SIZE // 2) % nodes] for step in range(size)]
        one = workload(f"gang-{number:03d}", "cq", size, shape, Constraint(preferred=RACK), number, float(number))
        usage = {name: value * size for name, value in shape.requests}
        built.put(admitted(one, "cq", dict.fromkeys(at, 1), usage, float(number)), 0.0)
        for host in at:
            held[host] += 1
    for host, gpus in held.items():
        built.world.put_pod(host, OtherPod(host, {GPU: 8 - gpus}))
    built.world.snapshot("tas")
    return built, workload("pending", "cq", 200, shape, Constraint(unconstrained=True), 5_000, float(count))


def stopped(one: Workload, now: float) -> Workload:
    """A victim that has stopped and is pending again."""
    changes: Conditions = {
        "QuotaReserved": (False, "PendingEvaluation", ""),
        "Admitted": (False, "NoReservation", ""),
        "Requeued": (True, "Preempted", ""),
    }
    status = one.status.changed(changes, now)
    return replace(one, status=replace(status, admission=None))
