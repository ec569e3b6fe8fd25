"""Runs Kueue's own benchmarks and ours on the same problems: `make bench-peers`.

Kueue comes from the Go module proxy and is built in a cache folder outside the work tree; the first run takes several
minutes, later ones start at once. Its `BenchmarkTASFlavorAssignment` places, with balanced placement enabled, nine pods
of 8 CPU per node of one block (preferred rack) on an empty cluster of racks of 16 and blocks of 256 nodes. Its
`BenchmarkSchedulerTAS` runs one cycle on a full cluster of 1,000 nodes, where a job of 200 pods needs preemption. Our
engine solves the same problems right after, and the ratio of the two is printed last.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.state.snapshot import Snapshot
from servers import build
from servers.versions import KUEUE, Module, Server

from .cluster import BLOCK_SIZE, GIB, RACK, TOPOLOGY, table
from .placement import best
from .scheduling import cycle_of
from .shapes import full_cluster

LINE = re.compile(r"^Benchmark\w+?(?:/(\S+?))?(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", re.MULTILINE)


class Benchmark(NamedTuple):
    """A peer's benchmark: the test binary of its package, and its name."""

    tests: Server
    name: str


def benchmark(module: Module, file: str, package: str, name: str) -> Benchmark:
    return Benchmark(Server(file, module, f"{module.path}/{package}", is_test=True), name)


PLACEMENT = benchmark(KUEUE, "kueue-placement-bench", "pkg/cache/scheduler", "BenchmarkTASFlavorAssignment")
CYCLE = benchmark(KUEUE, "kueue-cycle-bench", "pkg/scheduler", "BenchmarkSchedulerTAS")


def theirs(which: Benchmark, time: str = "2s") -> dict[str, float]:
    """Milliseconds per decision by case, as the peer's benchmark reports them when it runs for that long."""
    binary = build.built(which.tests)
    command = [str(binary), "-test.run", "^$", "-test.bench", f"^{which.name}$", "-test.benchtime", time]
    print(f"  run {which.tests.module.path}'s {which.name} …", flush=True)
    done = subprocess.run(command, cwd=binary.parent, capture_output=True, text=True)
    measured = {name: float(ns) / 1e6 for name, ns in LINE.findall(done.stdout)}
    if done.returncode or not measured:
        sys.exit(f"error: {' '.join(command)} gave no result:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return measured


def ours(nodes: int, leader: bool) -> float:
    """Milliseconds per decision on the same problem, with a new shape."""
    snapshot = Snapshot(TOPOLOGY, table(nodes, {"cpu": 96_000, "memory": 384 * GIB, "pods": 110}))
    constraint = Constraint(preferred=RACK)
    sets = [PodSet("workers", 9 * min(nodes, BLOCK_SIZE), Shape.of({"cpu": 8000}), constraint)]
    if leader:
        sets.insert(0, PodSet("leader", 1, Shape.of({"cpu": 72_000}), constraint))
    request, policy = Request((Group(tuple(sets)),)), Policy(Gates.profile("kueue", {"TASBalancedPlacement": True}))

    def decide() -> Result:
        return place(snapshot, request, policy)

    assert decide().fits
    return best(decide, 15, before=snapshot.memo.clear) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    try:
        measured, cycle = theirs(PLACEMENT), theirs(CYCLE)
    except build.BuildError as error:
        sys.exit(f"error: {error}")
    print(f"\n{'case':<44}{'Kueue ms':>10}{'ours ms':>10}{'ratio':>8}")
    for name, milliseconds in measured.items():
        size = re.search(r"(\d+)", name)
        leader = "leader" in name.lower() and "workers-only" not in name.lower()
        mine = ours(int(size.group(1)) if size else 2500, leader)
        print(f"{name:<44}{milliseconds:>10.2f}{mine:>10.2f}{milliseconds / mine:>7.0f}x")
    first, best_cycle, _ = cycle_of(*full_cluster())
    for name, milliseconds in cycle.items():
        print(f"{'one cycle ' + name:<44}{milliseconds:>10.2f}{best_cycle:>10.2f}{milliseconds / best_cycle:>7.0f}x")
        print(f"{'  our first cycle, with cold caches':<44}{'':>10}{first:>10.2f}{milliseconds / first:>7.0f}x")


if __name__ == "__main__":
    main()
