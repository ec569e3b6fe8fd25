"""The scheduling cycle: `make bench` runs this after the placement figures.

It measures CPU seconds, since the machine is shared; each figure is the best of several rounds. Compare ratios within
one run, and the bounds that are printed next to the figures.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
from time import process_time

from closeknit.decide.decision import Preempt
from closeknit.decide.scheduler import Scheduler
from closeknit.model.workload import Workload

from . import pending, scale
from .shapes import full_cluster, gangs


def cycle_of(built: Scheduler, one: Workload, rounds: int = 8) -> tuple[float, float, int]:
    """Milliseconds of the first cycle with this workload at the head, of the best after it, and the victims."""
    times, victims = [], 0
    for _ in range(rounds):
        built.pending.put(one, 0.0)
        begin = process_time()
        decisions = built.cycle(1e6)
        times.append((process_time() - begin) * 1e3)
        victims = sum(isinstance(decision, Preempt) for decision in decisions)
    return times[0], min(times[1:]), victims


def long_lines() -> dict[str, float]:
    """The cost of a cycle with 100,000 and with 1,000 pending workloads, and of adding and deleting one."""
    figures: dict[str, float] = {}
    for name, size in (("short", pending.QUEUES), ("long", 100 * pending.QUEUES)):
        times = []
        for _ in range(3):
            built = pending.lines(size)
            gc.collect()
            gc.freeze()  # as a host does once it has loaded
            times.append(pending.one_cycle(built))
            gc.unfreeze()
        figures[f"{name} cycle s"] = min(times)
        figures[f"{name} churn us"] = pending.fastest(lambda built=built: pending.churn(built), 5) * 1e6  # type: ignore[misc]
    return figures


def whole_run(share: float) -> dict[str, float]:
    begin = process_time()
    played = scale.play(share)
    return {
        "cpu s": process_time() - begin,
        "memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "workloads": played.finished,
        "cycles": played.cycles,
        "evictions": played.evictions,
        "virtual s": played.ended,
        **{f"mean wait {kind} s": sum(waits) / len(waits) for kind, waits in played.waits.items()},
    }


def measure(share: float = 1.0) -> dict[str, dict[str, float]]:
    figures = {"Kueue's scale shape, 15,000 workloads on 640 nodes": whole_run(share)}
    for name, (built, one) in {
        "a full cluster of 1,000 nodes and 30 resources": full_cluster(),
        "2,000 nodes, 700 gangs": gangs(),
    }.items():
        first, best, victims = cycle_of(built, one)
        figures[f"preemption cycle: {name}"] = {"first ms": first, "best ms": best, "victims": victims}
    figures["1,000 queues, 100,000 against 1,000 pending"] = long_lines()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    parser.add_argument("--share", type=float, default=1.0, help="run only this share of the 15,000 workloads")
    options = parser.parse_args()
    figures = measure(options.share)
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        return
    for title, values in figures.items():
        print(f"\n{title}")
        for name, value in values.items():
            print(f"  {name:<20}{value:>12,.2f}")
    lines = figures["1,000 queues, 100,000 against 1,000 pending"]
    print(f"\nlong queues: a cycle costs {lines['long cycle s'] / lines['short cycle s']:.2f} times the short one,")
    print(f"adding and deleting one workload {lines['long churn us'] / lines['short churn us']:.2f} times")


if __name__ == "__main__":
    main()
