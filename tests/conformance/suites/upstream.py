"""Kubernetes' pod groups: objects and pods appear step by step, and each expectation holds when it is stated."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from .case import Case, NotRun, Prepared
from .gangs import GangCluster, Raw


def pod_groups(case: Case) -> Prepared:
    if case.get("preemption"):
        raise NotRun("preemption by groups")
    return Prepared(lambda: _run(deepcopy(case["steps"])), lambda failed: failed, [])


def _run(steps: list[Raw]) -> list[str]:
    """The steps whose expectation does not hold."""
    cluster, failed = GangCluster(), []
    for step in steps:
        match step["op"]:
            case "createNodes":
                cluster.nodes += step["nodes"]
            case "createPodGroup":
                cluster.objects.append(step["podGroup"])
            case "createCompositePodGroup":
                cluster.objects.append(step["compositePodGroup"])
            case "createPods":
                cluster.pods += step["pods"]
                cluster.bind()
                failed += cluster.faults()
            case "deletePods":
                cluster.pods = [pod for pod in cluster.pods if pod["metadata"]["name"] not in step["pods"]]
                cluster.bind()
                failed += cluster.faults()
            case _ if not _holds(step, cluster):
                failed.append(f"{step['op']}: {step['name']}")
    return failed


def _holds(step: Raw, cluster: GangCluster) -> bool:
    homes = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in cluster.pods}
    nodes = [homes.get(name) for name in step["pods"]]
    match step["op"]:
        case "expectScheduled":
            return all(nodes)
        case "expectUnschedulable" | "expectSchedulingError":
            return not any(nodes)
        case "expectNodesWithin":
            return all(name in step["nodes"] for name in nodes)
        case "expectSameDomain":
            labels: dict[Any, Any] = {one["metadata"]["name"]: one["metadata"]["labels"] for one in cluster.nodes}
            values = {labels.get(name, {}).get(step["topologyKey"]) for name in nodes}
            return len(values) == 1 and None not in values
    raise NotRun(step["op"])
