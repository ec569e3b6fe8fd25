"""NodeResourceTopologyMatch itself and ours on the same nodes: `make bench-peers`.

One Guaranteed pod of three containers on 5,000 nodes with 8 zones and 6 resources each: Filter and Score of all nodes.
The plug-in is a program around scheduler-plugins that comes from the Go module proxy; it calls the two for one node
after another, its NodeResourceTopologies in the cache OverReserve with nothing assumed. Figures are CPU milliseconds,
the median of several rounds: of the process in these loops for the plug-in, collection of garbage included; of this
process for ours. Both must find that the pod fits on as many nodes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, get_args

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from closeknit.engine.numa.topology_match import align
from closeknit.model.numa import NodeZones, TopologyScope
from closeknit.model.numa_arguments import MatchArguments, ScoringStrategy
from numa.wire import wire_node, wire_pod, wire_topology
from servers import build

from .numa import ASKS, NAMES, NODES, ZONES, decided, nodes_in_use, pod, table

ROUNDS = 5
CACHE = {"informerMode": "Shared", "foreignPodsDetect": "None", "resyncScope": "OnlyResources"}


class Theirs(NamedTuple):
    filter: float
    score: float
    fits: int


def theirs(program: Path, reports: list[NodeZones], strategy: ScoringStrategy) -> Theirs:
    problem: dict[str, Any] = {
        "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "NodeResourceTopologyMatchArgs",
            "scoringStrategy": {"type": strategy},
            "cacheResyncPeriodSeconds": 3600,
            "cache": CACHE,
        },
        "pod": wire_pod(pod(*ASKS)),
        "nodes": [wire_node(one.node, NAMES) for one in reports],
        "nodeResourceTopologies": [wire_topology(one) for one in reports],
        "rounds": ROUNDS,
    }
    done = subprocess.run([program, "-bench"], input=json.dumps(problem), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: the plug-in ended with {done.returncode}:\n{done.stderr[-4000:]}")
    answer = json.loads(done.stdout)
    if "error" in answer:
        sys.exit(f"error: the plug-in does not start: {answer['error']}")
    return Theirs(median(answer["filter"]), median(answer["score"]), answer["fits"])


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    try:
        program = build.binary("topology-match")
    except build.BuildError as error:
        sys.exit(f"error: {error}")
    print(f"one pod of {len(ASKS)} containers on {NODES:,} nodes with {ZONES} zones and {len(NAMES)} resources")
    print(f"{'CPU ms':28}{'Filter':>10}{'Score':>10}{'both':>10}{'ours':>9}{'ratio':>8}{'fits':>7}")
    needs = pod(*ASKS)
    for scope in get_args(TopologyScope):
        reports = list(nodes_in_use(scope))
        on = table(reports)
        fits = int(np.count_nonzero(align(on, needs).values == 0))
        for strategy in get_args(ScoringStrategy):
            peer = theirs(program, reports, strategy)
            assert peer.fits == fits, (peer.fits, fits)
            mine, both = decided(on, needs, MatchArguments(strategy)), peer.filter + peer.score
            figures = f"{peer.filter:10.1f}{peer.score:10.1f}{both:10.1f}{mine:9.2f}{both / mine:7.0f}x{fits:7}"
            print(f"{scope:9} {strategy:18}{figures}", flush=True)


if __name__ == "__main__":
    main()
