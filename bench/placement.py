"""Microseconds per decision: `make bench`.

Every figure includes building the assignment. Warm: the shape is known and nothing has changed. Repair: what one
changed node adds to the next decision. Cold: the shape is new, so its columns are built. The machine is shared and
noisy, so each figure is the best of several rounds; compare ratios within one run.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint, Group, Layer, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME
from closeknit.state.snapshot import Snapshot

from .cluster import BLOCK, GIB, POD, RACK, TOPOLOGY, busy, running, table

SIZES = (640, 2_500, 10_000, 50_000, 100_000)
POLICY = Policy(Gates.profile("kueue"))

SHAPES: dict[str, tuple[int, Constraint]] = {
    "required rack, 32": (32, Constraint(required=RACK)),
    "preferred rack, 64": (64, Constraint(preferred=RACK)),
    "preferred block, 1024": (1024, Constraint(preferred=BLOCK)),
    "unconstrained, 512": (512, Constraint(unconstrained=True)),
    "preferred block, 512 by 8 per host": (512, Constraint(preferred=BLOCK, slices=(Layer(HOSTNAME, 8),))),
}


def request(count: int, constraint: Constraint, requests: dict[str, int] | None = None) -> Request:
    return Request.of([PodSet("main", count, Shape.of(requests or POD), constraint)])


def best(run: Callable[[], object], rounds: int, before: Callable[[], object] | None = None) -> float:
    """The fastest of several rounds, in microseconds."""
    fastest = float("inf")
    for _ in range(rounds):
        if before is not None:
            before()
        begin = perf_counter()
        run()
        fastest = min(fastest, perf_counter() - begin)
    return fastest * 1e6


@dataclass
class Times:
    warm: float
    repair: float
    cold: float
    answer: str


def measure(snapshot: Snapshot, count: int, constraint: Constraint) -> Times:
    asked = request(count, constraint)

    def decide() -> Result:
        return place(snapshot, asked, POLICY)

    result = decide()
    answer = f"{sum(o.assignment.pods for o in result.outcomes if o.assignment)} pods" if result.fits else "no fit"
    warm = best(decide, 60)
    node = np.array([snapshot.tree.leaves // 2])
    charge = Shape.of(POD).charge
    toggle = [1, -1]

    def change() -> None:
        snapshot.admit(node, np.array([toggle[0]]), charge)
        snapshot.commit()
        toggle.reverse()

    changed = best(decide, 60, before=change)
    if toggle[0] < 0:
        change()
    cold = best(decide, 8, before=snapshot.memo.clear)
    return Times(warm, changed - warm, cold, answer)


def bulk(size: int = 10_000, gangs: int = 1000) -> float:
    """Seconds for gangs of 2 to 16 pods over ten shapes, each committed before the next."""
    snapshot = busy(size)
    rng = np.random.default_rng(7)
    shapes = [Shape.of({**POD, "cpu": 2000 + 500 * i, "memory": (4 + i) * GIB}) for i in range(10)]
    constraints = [Constraint(preferred=RACK), Constraint(required=BLOCK), Constraint(unconstrained=True)]
    asked = [
        Request.of([PodSet("main", int(rng.integers(2, 17)), shapes[i % 10], constraints[i % 3])]) for i in range(gangs)
    ]
    begin = perf_counter()
    placed = 0
    for one in asked:
        result = place(snapshot, one, POLICY)
        if result.fits:
            outcome = result.outcomes[0]
            assert outcome.assignment is not None
            leaf_of = snapshot.tree.leaf_of
            leaves = np.array([leaf_of[name] for name in outcome.assignment.values])
            snapshot.admit(leaves, np.array(outcome.assignment.counts), outcome.pod_set.shape.charge)
            snapshot.commit()
            placed += 1
    seconds = perf_counter() - begin
    assert placed == gangs, f"only {placed} of {gangs} gangs were placed"
    return seconds


def balanced(leader: bool, taken: bool) -> tuple[float, float]:
    """Warm and cold milliseconds for Kueue's own benchmark problem: 2,500 nodes, 2,304 pods of 8 CPU."""
    node = {"cpu": 96_000, "memory": 384 * GIB, "pods": 110}
    snapshot = Snapshot(TOPOLOGY, table(2500, node))
    if taken:
        pods = np.random.default_rng(3).integers(0, 4, size=2500)
        snapshot.admit(np.flatnonzero(pods), pods[pods > 0], Shape.of({"cpu": 8000}).charge)
        snapshot.commit()
    policy = Policy(Gates.profile("kueue", {"TASBalancedPlacement": True}))
    constraint = Constraint(preferred=RACK)
    sets = [PodSet("workers", 2304, Shape.of({"cpu": 8000}), constraint)]
    if leader:
        sets.insert(0, PodSet("leader", 1, Shape.of({"cpu": 72_000}), constraint))
    asked = Request((Group(tuple(sets)),))

    def decide() -> Result:
        return place(snapshot, asked, policy)

    assert decide().fits
    rounds = 3 if taken else 15
    return best(decide, rounds) / 1e3, best(decide, rounds, before=snapshot.memo.clear) / 1e3


def memory(size: int = 100_000, shapes: int = 32) -> float:
    """Megabytes that the engine grows by for this many nodes and cached shapes."""
    columns, pods = table(size), running(size)
    gc.collect()
    before = resident()
    snapshot = Snapshot(TOPOLOGY, columns, shapes=shapes)
    del columns
    snapshot.admit(np.flatnonzero(pods), pods[pods > 0], Shape.of(POD).charge)
    snapshot.commit()
    for i in range(shapes):
        place(snapshot, request(64, Constraint(preferred=RACK), {**POD, "cpu": 1000 + i}), POLICY)
    assert len(snapshot.memo) == shapes
    return (resident() - before) / 1e6


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="cluster sizes, comma-separated")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    results: dict[str, object] = {"memory_mb": memory()}

    def say(text: str) -> None:
        if not options.json:
            print(text, flush=True)

    say(f"{'shape':<34}{'nodes':>8}{'warm µs':>10}{'repair µs':>11}{'cold µs':>10}  answer")
    for size in map(int, options.sizes.split(",")):
        snapshot = busy(size)
        for name, (count, constraint) in SHAPES.items():
            times = measure(snapshot, count, constraint)
            results[f"{name} @ {size}"] = vars(times)
            say(f"{name:<34}{size:>8}{times.warm:>10.0f}{times.repair:>11.0f}{times.cold:>10.0f}  {times.answer}")
    results["bulk_s"] = bulk()
    say(f"\nbulk: 1,000 gangs of 2-16 pods, ten shapes, 10,000 nodes: {results['bulk_s']:.2f} s")
    for leader in (False, True):
        for taken in (False, True):
            warm, cold = balanced(leader, taken)
            name = f"balanced{', leader' if leader else ''}{', 0-3 of 12 places taken' if taken else ''}"
            results[name] = {"warm_ms": warm, "cold_ms": cold}
            say(f"{name}: {warm:.2f} ms warm, {cold:.2f} ms cold")
    say(f"memory: {results['memory_mb']:.0f} MB for 100,000 nodes and 32 shapes")
    if options.json:
        json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
