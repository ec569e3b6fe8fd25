"""Random pods and random nodes with zones, small enough for their numbers to meet often."""

from __future__ import annotations

from random import Random

from closeknit.model.container import Container, QoS
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.numa.pod_needs import PodNeeds

NAMES = ("cpu", "memory", "hugepages-2Mi", "x/gpu", "y/nic", "ephemeral-storage", "kubernetes.io/batch-cpu", "foo")


def amount(random: Random, name: str, most: int) -> int:
    step = 500 if name == "cpu" else 2**20 if name in ("memory", "hugepages-2Mi") else 1
    return random.randint(0, most) * step


def pod(random: Random, qos: QoS) -> PodNeeds:
    kinds = [random.choice(("init", "sidecar")) for _ in range(random.randint(0, 2))]
    kinds += ["app"] * random.randint(1, 3)
    containers = []
    for kind in kinds:
        names = (
            {"cpu", "memory", *random.sample(NAMES, random.randint(0, 3))}
            if random.random() < 0.9
            else {"cpu", "memory"}
        )
        requests = {name: amount(random, name, 4) for name in sorted(names)}
        containers.append(Container.of(requests, requests, kind))  # type: ignore[arg-type]
    overhead = (("cpu", 250),) if random.random() < 0.2 else ()
    return PodNeeds(tuple(containers), qos, overhead)


def node(random: Random, name: str, most_zones: int = 5) -> NodeZones:
    count = random.randint(0, most_zones)
    ids = random.choice((list(range(count)), random.sample(range(count), count), random.sample(range(9), count)))
    zones = []
    for number in ids:
        names = [one for one in NAMES if random.random() < 0.75]
        held = {one: amount(random, one, 8) for one in names}
        costs = {other: random.choice((10, 12, 20, 20, 300)) for other in ids if random.random() < 0.9}
        zones.append(Zone(number, {key: ZoneAmounts(one, one, one) for key, one in held.items()}, costs))
    policy = random.choice(("single-numa-node", "single-numa-node", "single-numa-node", "restricted"))
    manager = TopologyManager(policy, random.choice(("container", "pod")), random.choice((2, 8, 8, 16, 200)))  # type: ignore[arg-type]
    return NodeZones(name, tuple(zones), manager)


def offered(random: Random) -> set[str]:
    return {name for name in NAMES if random.random() < 0.9}
