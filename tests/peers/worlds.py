"""A world: nodes in racks, flavors over them, and queues that are short of something.

Everything follows from a seed. Quota and capacity are of the same size, so that jobs wait now for one and now for the
other. All names begin with the world's name, so that several worlds can share a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from closeknit.observe.pool_form import BLOCK, RACK
from servers.nodes import HOSTNAME, node

Object = dict[str, Any]

VERSION = "kueue.x-k8s.io/v1beta2"
POOL = "peers.closeknit.dev/pool"
LEVELS = ((BLOCK, RACK, HOSTNAME), (RACK, HOSTNAME), (BLOCK, RACK, HOSTNAME), (BLOCK, RACK))
PRIORITIES = (0, 10, 20, 30)


@dataclass(frozen=True, slots=True)
class World:
    """`room` is the CPU of all nodes, `widest` that of the largest one."""

    seed: int
    name: str
    levels: tuple[str, ...]
    pools: list[str]
    nodes: list[Object]
    objects: list[Object]
    queues: list[str]
    room: int
    widest: int


def make_world(seed: int, fair: bool) -> World:
    random = Random(f"world {seed}")
    name = f"w{seed}"
    levels = LEVELS[seed % len(LEVELS)]
    pools = [f"{name}-{letter}" for letter in "ab"[: random.choice((1, 2))]]
    nodes = [one for pool in pools for one in machines(random, pool)]
    sizes = [int(one["status"]["allocatable"]["cpu"]) for one in nodes]
    plain = [f"{name}-plain"] if random.random() < 0.25 else []
    flavors = [*(flavor(pool, f"{name}-topology") for pool in pools), *map(flavor, plain)]
    nodes += [one for pool in plain for one in machines(random, pool)]
    names = [one["metadata"]["name"] for one in flavors]
    cohorts, tree = make_cohorts(random, name)
    queues = [f"{name}-q{number}" for number in range(1, random.choice((2, 3, 3, 4)) + 1)]
    room = sum(sizes)
    share = room / len(pools) / len(queues)
    made = [cluster_queue(random, queue, random.choice(cohorts), names, share, fair) for queue in queues]
    objects = [
        thing("Topology", f"{name}-topology", {"levels": [{"nodeLabel": level} for level in levels]}),
        *flavors,
        *tree,
        *made,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        *(local_queue(queue, name) for queue in queues),
        *(priority_class(name, value) for value in PRIORITIES),
    ]
    return World(seed, name, levels, pools, nodes, objects, queues, room, max(sizes))


def machines(random: Random, pool: str) -> list[Object]:
    """Two blocks of two racks; racks have two or three hosts, not all of one size."""
    found = []
    for block in ("b1", "b2"):
        for rack in ("r1", "r2"):
            for host in range(1, random.choice((2, 3)) + 1):
                where = {POOL: pool, BLOCK: f"{pool}-{block}", RACK: f"{pool}-{block}-{rack}"}
                size = {"cpu": str(random.choice((6, 8, 8, 10))), "memory": "64Gi", "pods": "110"}
                found.append(node(f"{pool}-{block}-{rack}-h{host}", where, size))
    return found


def thing(kind: str, name: str, spec: Object, **metadata: Any) -> Object:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def flavor(name: str, topology: str | None = None) -> Object:
    spec = {"nodeLabels": {POOL: name}}
    return thing("ResourceFlavor", name, {**spec, "topologyName": topology} if topology else spec)


def priority_class(name: str, value: int) -> Object:
    return {
        "apiVersion": VERSION,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": f"{name}-p{value}"},
        "value": value,
    }


def local_queue(queue: str, space: str) -> Object:
    return thing("LocalQueue", queue, {"clusterQueue": queue}, namespace=space)


def make_cohorts(random: Random, name: str) -> tuple[list[str], list[Object]]:
    """One cohort, or two below a third."""
    if random.random() < 0.5:
        return [f"{name}-co"], []
    children = [f"{name}-left", f"{name}-right"]
    return children, [thing("Cohort", child, {"parentName": f"{name}-root"}) for child in children]


def cluster_queue(random: Random, name: str, cohort: str, flavors: list[str], share: float, fair: bool) -> Object:
    reclaim = random.choice(("Never", "LowerPriority", "Any", "Any"))
    borrow = reclaim != "Never" and not fair and random.random() < 0.3
    preemption: Object = {
        "withinClusterQueue": random.choice(("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority")),
        "reclaimWithinCohort": reclaim,
    }
    if borrow:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": 10}
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "queueingStrategy": random.choice(("BestEffortFIFO", "BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        "preemption": preemption,
        "flavorFungibility": {
            "whenCanBorrow": random.choice(("MayStopSearch", "TryNextFlavor")),
            "whenCanPreempt": random.choice(("TryNextFlavor", "MayStopSearch")),
        },
        "resourceGroups": [
            {"coveredResources": ["cpu"], "flavors": [quota(random, flavor, share) for flavor in flavors]}
        ],
    }
    if fair:
        spec["fairSharing"] = {"weight": str(random.choice((1, 1, 2)))}
    return thing("ClusterQueue", name, spec)


def quota(random: Random, flavor: str, share: float) -> Object:
    nominal = round(share * random.choice((0.6, 0.8, 1.0, 1.2)))
    resource: Object = {"name": "cpu", "nominalQuota": str(nominal)}
    if random.random() < 0.4:
        resource["borrowingLimit"] = str(round(share * random.choice((0, 0.5, 1))))
    if random.random() < 0.3:
        resource["lendingLimit"] = str(round(nominal * random.choice((0.25, 0.5, 1))))
    return {"name": flavor, "resources": [resource]}
