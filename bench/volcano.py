"""Runs Volcano's own benchmark of HyperNodes and ours on the same problem: `make bench-peers`.

Volcano comes from the Go module proxy and is built in a cache folder outside the work tree. Its
`BenchmarkHyperNodeGradientFnPerformance` places a PodGroup of 1,000 pods in 100 sub-groups of 10 on 1,000 empty nodes
that hold one pod each: every sub-group in a HyperNode of tier 1, which has 10 nodes, all of them in one of tier 2. An
operation of it builds the scheduler's cache and a session from objects in memory, and runs the allocate action once.

Ours solves the same problem three times: from objects, as that operation does; from prepared columns with a new shape;
and with a known shape, when nothing has changed since. The first is the same work; the others show what a decision
costs in a running process. All figures are CPU milliseconds: of one operation and the process around it for Volcano,
which uses several threads; of the best of several rounds for ours.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from closeknit.dialects.core import WireNode, node
from closeknit.dialects.gangs import read_gangs
from closeknit.engine.groups.parts import Trees
from closeknit.engine.groups.place import GroupResult, place_groups
from closeknit.engine.policy import Policy
from closeknit.model.node import Node
from closeknit.model.request import Request
from closeknit.state.node_tree import node_columns, tree_over
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable
from servers import build
from servers.versions import VOLCANO

from .groups import fastest
from .peers import benchmark, theirs

Raw = dict[str, Any]
NODES, IN_TIER_1, PODS_EACH = 1_000, 10, 10
LABEL = "volcano.sh/task-spec"
GRADIENT = benchmark(
    VOLCANO, "volcano-allocate-bench", "pkg/scheduler/actions/allocate", "BenchmarkHyperNodeGradientFnPerformance"
)


def nodes() -> list[Node]:
    """Nodes of 4 CPU and 8Gi."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    raw = ({"metadata": {"name": f"n-{at}"}, "spec": {}, "status": status} for at in range(NODES))
    return [node(msgspec.convert(one, WireNode)) for one in raw]


def objects() -> list[Raw]:
    """HyperNodes of two tiers, the PodGroup, and its pods of 4 CPU and 8Gi."""
    lower = [f"hn-tier1-{at}" for at in range(NODES // IN_TIER_1)]
    found = [
        hyper_node(name, 1, "Node", [f"n-{at * IN_TIER_1 + one}" for one in range(IN_TIER_1)])
        for at, name in enumerate(lower)
    ]
    return [*found, hyper_node("hn-tier2-0", 2, "HyperNode", lower), pod_group(), *(pod(at) for at in range(NODES))]


def hyper_node(name: str, tier: int, kind: str, members: list[str]) -> Raw:
    listed = [{"type": kind, "selector": {"exactMatch": {"name": one}}} for one in members]
    spec = {"tier": tier, "members": listed}
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


def pod_group() -> Raw:
    policy = {
        "name": "task1",
        "labelSelector": {},
        "matchLabelKeys": [LABEL],
        "subGroupSize": PODS_EACH,
        "minSubGroups": NODES // PODS_EACH,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    spec = {
        "minMember": NODES,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
        "subGroupPolicy": [policy],
    }
    meta = {"name": "pg1", "namespace": "c1"}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}


def pod(at: int) -> Raw:
    meta = {
        "name": f"p{at}",
        "namespace": "c1",
        "labels": {LABEL: f"subgroup-{at // PODS_EACH}"},
        "annotations": {"scheduling.k8s.io/group-name": "pg1"},
    }
    container = {"name": "main", "resources": {"requests": {"cpu": "4", "memory": "8Gi"}}}
    spec = {"schedulerName": "volcano", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def prepared(listed: list[Node], raw: list[Raw]) -> tuple[Snapshot, Trees, Request]:
    found = read_gangs([("bench", one) for one in raw], {one.name: {} for one in listed})
    columns = node_columns(NodeTable.of(listed))
    trees = {name: tree_over(columns.table, topology) for name, topology in found.topologies.items()}
    (gang,) = found.gangs
    return columns, trees, gang.request


def placed(columns: Snapshot, trees: Trees, request: Request) -> GroupResult:
    result = place_groups(columns, trees, request, Policy())
    assert result.fits, result.reason
    assert sum(int(one.counts.sum()) for one in result.placed.values()) == NODES
    return result


def children_cpu() -> float:
    """CPU milliseconds of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    try:
        build.built(GRADIENT.tests)
    except build.BuildError as error:
        sys.exit(f"error: {error}")
    before = children_cpu()
    (elapsed,) = theirs(GRADIENT, "1x").values()
    milliseconds = children_cpu() - before
    print(f"  it took {elapsed:.0f} ms, and {milliseconds:.0f} ms of CPU with its start")
    listed, raw = nodes(), objects()
    columns, trees, request = prepared(listed, raw)
    ours = {
        "from objects": fastest(lambda: placed(*prepared(listed, raw)), 5),
        "with a new shape": fastest(lambda: placed(columns, trees, request), 15, before=columns.memo.clear),
        "with a known shape": fastest(lambda: placed(columns, trees, request), 15),
    }
    print(f"\n{'1,000 pods in 100 sub-groups, 1,000 nodes':<44}{'Volcano ms':>12}{'ours ms':>10}{'ratio':>8}")
    for name, mine in ours.items():
        print(f"{name:<44}{milliseconds:>12.2f}{mine:>10.2f}{milliseconds / mine:>7.0f}x")


if __name__ == "__main__":
    main()
