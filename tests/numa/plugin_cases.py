"""Random pods and nodes for NodeResourceTopologyMatch, as objects: sound ones, and ones that no agent should write.

The plug-in may meet all of them: an API server accepts these reports and keeps the spelling of their amounts, whereas
it writes those of pods in one form. Objects that are not sound have one to three faults: in the names and ids of zones,
in amounts, distances or settings, or in the pod.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import get_args

from closeknit.model.container import Container
from closeknit.model.numa import NodeZones, Zone, ZoneAmounts
from closeknit.model.numa_arguments import ScoringStrategy
from closeknit.numa.pod_needs import PodNeeds
from engine.numa.problems import node, offered, pod

from .wire import Raw, wire_node, wire_pod, wire_topology

VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "NodeResourceTopologyMatchArgs"
FAULTY = 0.15
QOS = ("Guaranteed", "Guaranteed", "Guaranteed", "Burstable", "BestEffort")
ODD_NAMES = ("Node-1", "node_3", "node 4", "node-5-1", "numa-node-0", "node-", "node--0", "node-+1", "node-01")
ODD_ATTRIBUTES = (
    ("topologyManagerPolicy", "SingleNUMANode"),
    ("topologyManagerPolicy", "none"),
    ("topologyManagerPolicy", "single-numa-node"),
    ("topologyManagerScope", "Pod"),
    ("topologyManagerScope", "pod"),
    ("topologyManagerMaxNUMANodes", "1"),
    ("topologyManagerMaxNUMANodes", "+3"),
    ("topologyManagerMaxNUMANodes", "5000"),
    ("topologyManagerMaxNUMANodes", "8.0"),
)
LEGACY = ("SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel", "RestrictedPodLevel", "SingleNUMANode", "None")


@dataclass(frozen=True)
class Problem:
    """A pod, the nodes to ask about, their reports, and the arguments of the plug-in."""

    pod: Raw
    nodes: list[Raw]
    topologies: list[Raw]
    args: Raw

    def wire(self, rounds: int = 1) -> Raw:
        return {
            "pod": self.pod,
            "nodes": self.nodes,
            "nodeResourceTopologies": self.topologies,
            "args": self.args,
            "rounds": rounds,
        }


def random_problem(seed: int) -> Problem:
    draw = Random(seed)
    scale = draw.choice((1, 1, 3, 50))
    names = [f"n{number}" for number in range(draw.randint(1, 3))]
    zones = [_scaled(draw, _dense(draw, name), scale) for name in names]
    topologies = [wire_topology(one, lambda name, value: _spelled(draw, name, value)) for one in zones]
    nodes = [wire_node(name, offered(draw)) for name in names]
    problem = Problem(_pod(draw, scale), nodes, topologies, _arguments(draw))
    if draw.random() < FAULTY:
        for fault in draw.sample(FAULTS, draw.randint(1, 3)):
            fault(draw, problem)
    return problem


def _dense(draw: Random, name: str) -> NodeZones:
    """A node whose zones have the ids 0, 1, 2 and so on, in any order."""
    found = node(draw, name)
    while any(zone.id >= len(found.zones) for zone in found.zones):
        found = node(draw, name)
    return found


def _scaled(draw: Random, zones: NodeZones, scale: int) -> NodeZones:
    """With amounts that are less round."""

    def more(zone: Zone) -> Zone:
        found = {}
        for name, amounts in zone.resources.items():
            most = amounts.available * scale
            found[name] = ZoneAmounts(most, most, max(0, most - draw.randrange(scale) * amounts.available // 8))
        return replace(zone, resources=found)

    return replace(zones, zones=tuple(map(more, zones.zones)))


def _pod(draw: Random, scale: int) -> Raw:
    needs = pod(draw, "Guaranteed")
    factor, qos = draw.choice((1, scale)), draw.choice(QOS)
    containers = []
    for one in needs.containers:
        requests = {name: value * factor for name, value in one.requests}
        if qos == "Guaranteed" and draw.random() < 0.9:
            requests = {name: value or factor * draw.choice((250, 2**20)) for name, value in requests.items()}
        if qos == "BestEffort":
            requests = {name: value for name, value in requests.items() if name not in ("cpu", "memory")}
        limits = requests if qos == "Guaranteed" else {name: value for name, value in requests.items() if "/" in name}
        containers.append(Container.of(requests, limits, one.kind))
    raw = wire_pod(PodNeeds(tuple(containers), needs.qos, needs.overhead))
    if draw.random() < 0.2:
        raw["status"] = {"qosClass": qos}
    return raw


def _spelled(draw: Random, name: str, value: int) -> str | int:
    """One of the ways to write a quantity without a decimal point."""
    if name == "cpu":
        return draw.choice((f"{value}m", f"{value}000u", *([str(value // 1000)] if value % 1000 == 0 else [])))
    ways: list[str | int] = [value, str(value), f"{value}000m"]
    ways += [f"{value // 2**10}Ki"] if value % 2**10 == 0 else []
    ways += [f"{value // 2**20}Mi"] if value % 2**20 == 0 else []
    return draw.choice(ways)


def _arguments(draw: Random) -> Raw:
    args: Raw = {"apiVersion": VERSION, "kind": KIND}
    if draw.random() < 0.9:
        weights = [
            {"name": name, "weight": draw.choice((0, 1, 2, 5))} for name in ("cpu", "x/gpu") if draw.random() < 0.3
        ]
        args["scoringStrategy"] = {"type": draw.choice(get_args(ScoringStrategy)), "resources": weights}
    return args


Fault = Callable[[Random, Problem], None]


def _zone(draw: Random, problem: Problem) -> Raw:
    """Any zone; an empty one if there is none."""
    return draw.choice([one for topology in problem.topologies for one in topology["zones"]] or [{"resources": []}])


def _resource(draw: Random, problem: Problem) -> Raw:
    return draw.choice(_zone(draw, problem)["resources"] or [{}])


def _container(draw: Random, problem: Problem) -> Raw:
    spec = problem.pod["spec"]
    return draw.choice((spec["initContainers"] + spec["containers"]) or [{"resources": {}}])


def sparse_ids(draw: Random, problem: Problem) -> None:
    topology = draw.choice(problem.topologies)
    names = [zone["name"] for zone in topology["zones"]]
    ids = sorted(draw.sample(range(draw.choice((9, 66))), len(names)))
    new = dict(zip(sorted(names), (f"node-{one}" for one in ids), strict=True))
    for zone in topology["zones"]:
        zone["name"] = new[zone["name"]]
        for cost in zone["costs"]:
            cost["name"] = new.get(cost["name"], cost["name"])


def odd_name(draw: Random, problem: Problem) -> None:
    _zone(draw, problem)["name"] = draw.choice(ODD_NAMES)


def odd_type(draw: Random, problem: Problem) -> None:
    _zone(draw, problem)["type"] = draw.choice(("node", "Socket", "NUMA"))


def zone_twice(draw: Random, problem: Problem) -> None:
    topology = draw.choice(problem.topologies)
    if topology["zones"]:
        again = {**draw.choice(topology["zones"])}
        again["resources"] = draw.choice(topology["zones"])["resources"]
        topology["zones"].insert(draw.randint(0, len(topology["zones"])), again)


def resource_twice(draw: Random, problem: Problem) -> None:
    zone = _zone(draw, problem)
    if zone["resources"]:
        zone["resources"].append({**draw.choice(zone["resources"]), "available": "1"})


def odd_amount(draw: Random, problem: Problem) -> None:
    _resource(draw, problem)["available"] = draw.choice(
        ("-1", "-500m", "9E", "8Ei", "9007199254740993", "1500m", "100u", "4700000u", "1e-7", 0, "2e3")
    )


def decimal_point(draw: Random, problem: Problem) -> None:
    for zone in draw.choice(problem.topologies)["zones"]:
        for resource in zone["resources"]:
            if draw.random() < 0.5:
                size = 2**20 if resource["name"] in ("memory", "hugepages-2Mi") else 1
                resource["available"] = f"{draw.choice((0.25, 0.5, 1.0, 2.5)) * size:.1f}"


def odd_request(draw: Random, problem: Problem) -> None:
    resources = _container(draw, problem)["resources"]
    if resources.get("requests"):
        name = draw.choice(sorted(resources["requests"]))
        resources["requests"][name] = draw.choice(("8Ei", "1500m", "100u", "2e3", "9007199254740993"))
        resources.get("limits", {}).pop(name, None)
    problem.pod["status"] = {"qosClass": draw.choice(QOS)}


def odd_costs(draw: Random, problem: Problem) -> None:
    zone = _zone(draw, problem)
    zone["costs"] = [*zone.get("costs", [])] if draw.random() < 0.8 else []
    for _ in range(draw.randint(0, 3)):
        name = draw.choice(("node-0", "node-1", "node-2", "node_1", "node-99", "node-64"))
        zone["costs"].append({"name": name, "value": draw.choice((-10, 0, 10, 11, 255, 256, 2**31, 2**40))})


def odd_attributes(draw: Random, problem: Problem) -> None:
    topology = draw.choice(problem.topologies)
    for name, value in draw.sample(ODD_ATTRIBUTES, draw.randint(1, 3)):
        topology["attributes"].insert(draw.randint(0, len(topology["attributes"])), {"name": name, "value": value})


def old_policies(draw: Random, problem: Problem) -> None:
    topology = draw.choice(problem.topologies)
    topology["topologyPolicies"] = draw.sample(LEGACY, draw.randint(1, 2))
    topology["attributes"] = draw.sample(topology["attributes"], draw.randint(0, 1))


def no_report(draw: Random, problem: Problem) -> None:
    problem.topologies.pop()
    if not problem.topologies or draw.random() < 0.5:
        problem.topologies.append({**wire_topology(NodeZones("gone")), "zones": []})


def no_amounts(draw: Random, problem: Problem) -> None:
    """A container that requests nothing, as it may with pod-level resources."""
    _container(draw, problem)["resources"] = {}
    total = {"cpu": "1", "memory": "1Mi"}
    problem.pod["spec"]["resources"] = {"requests": total, "limits": total}


def one_amount(draw: Random, problem: Problem) -> None:
    resources = _container(draw, problem)["resources"]
    if resources.get("requests"):
        name = draw.choice(sorted(resources["requests"]))
        resources["requests"], resources["limits"] = {name: resources["requests"][name]}, {}
    problem.pod["status"] = {"qosClass": "Guaranteed"}


def no_containers(draw: Random, problem: Problem) -> None:
    problem.pod["spec"]["containers"] = []
    problem.pod["status"] = {"qosClass": draw.choice(QOS)}


FAULTS: tuple[Fault, ...] = (
    sparse_ids,
    odd_name,
    odd_type,
    zone_twice,
    resource_twice,
    odd_amount,
    odd_amount,
    decimal_point,
    odd_request,
    odd_costs,
    odd_attributes,
    old_policies,
    no_report,
    no_amounts,
    one_amount,
    no_containers,
)
