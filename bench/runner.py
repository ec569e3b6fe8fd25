"""Kueue's scale test through a real API server: its scheduler and ours, driven by its own runner. `make bench-peers`.

    python -m bench.runner [--share 0.2] [--full] [--only kueue ours "ours at 50/100" "ours, own kinds"]

The runner creates nodes, queues and workloads, finishes admitted workloads after their run time, and measures the CPU,
memory and wall time of the scheduler that it started: Kueue's, then `closeknit controller` without and with a request
limit, and with our own CRDs of the same kinds, as `closeknit install` creates them. Writes are counted from the
server's audit log; "all CPU" includes the servers and the runner. Ratios are ours over Kueue's: lower is better.
"""

from __future__ import annotations

import argparse
import compileall
import csv
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import yaml

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import closeknit
from closeknit.deploy.crds.definition import definitions as own_definitions
from servers import build
from servers.versions import DEFINITIONS, KUEUE

GENERATOR = "test/performance/scheduler/configs/tas/generator.yaml"
RUNNER_LIMITS = ("--qps", "1000", "--burst", "2000")
ADMITTED, FINISHED = "ms to admitted", "ms to finish"
MOST_LEFT = 0.02
"""The fraction of unfinished workloads that is accepted, since queue status may lag; with more the run is repeated."""
ATTEMPTS = 3
KUEUES = "kueue"
OWN = "ours, own kinds"
LIMITS = {"ours": (0, 0), "ours at 50/100": (50, 100), OWN: (0, 0)}
"""Requests per second, and burst; 0 means no limit. Kueue's minimal scheduler has 50 and 100."""
AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
  - {level: None}
"""


class Row(NamedTuple):
    name: str
    wall: float
    cpu: float
    megabytes: float
    admitted: float
    """Seconds from a workload's creation to its admission, on average."""
    left: int
    """Workloads that the runner did not see finish: it ends when no queue's status has pending or running workloads."""
    writes: float
    """Writes of the scheduler per workload."""
    everything: float
    """CPU seconds of all processes: runner, API server, etcd and scheduler."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.runner", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=0.2, help="fraction of the 15,000 workloads")
    parser.add_argument("--full", action="store_true", help="all of them, which takes Kueue about seven minutes")
    parser.add_argument("--only", nargs="+", choices=[KUEUES, *LIMITS], default=[KUEUES, *LIMITS], metavar="ROW")
    parser.add_argument("--keep", type=Path, help="a folder for the runner's output")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        rows = [run(name, folder / name.replace(" ", "-").replace("/", "-"), 1.0 if given.full else given.share)
                for name in given.only]  # fmt: skip
    show(rows)


class EndedEarlyError(Exception):
    """The runner took all queues to be empty while workloads were unfinished."""


def run(name: str, folder: Path, share: float) -> Row:
    """One complete run; a run that the runner ended early measures nothing and is repeated."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return attempted(name, folder, share)
        except EndedEarlyError as why:
            print(f"  {name}, attempt {attempt} of {ATTEMPTS}: the runner ended early: {why}", file=sys.stderr)
    sys.exit(f"error: {name}: the runner ended early {ATTEMPTS} times; give --keep FOLDER and see its log")


def attempted(name: str, folder: Path, share: float) -> Row:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generator, count = scaled(share)
    (folder / "generator.yaml").write_text(yaml.safe_dump(generator))
    scheduler = build.binary("kueue-minimalkueue") if name == KUEUES else ours(folder, *LIMITS[name])
    command = [
        str(build.binary("kueue-runner")), "--o", str(folder), "--crds", str(definitions(name, folder)), "--enableTAS",
        "--generatorConfig", str(folder / "generator.yaml"), "--minimalKueue", str(scheduler), *RUNNER_LIMITS,
        "--timeout", "30m",
    ]  # fmt: skip
    print(f"  {name}: {count} workloads …", end=" ", file=sys.stderr, flush=True)
    begin, spent = monotonic(), spent_by_children()
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, "KUBEBUILDER_ASSETS": str(assets(folder)), "PROJECT_DIR": str(folder)}
        code = subprocess.run(command, env=environment, stdout=log, stderr=log, cwd=folder).returncode
    print(f"{monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    if code:
        sys.exit(f"error: the runner failed:\n{(folder / 'log').read_text()[-3000:]}")
    return measured(name, folder, scheduler.name, count, spent_by_children() - spent)


def spent_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def scaled(share: float) -> tuple[dict[str, Any], int]:
    """Kueue's own load with that share of the workloads in every set, and the number of workloads."""
    load = yaml.safe_load((build.module_folder(KUEUE) / GENERATOR).read_text())
    count = 0
    for cohort in load["cohorts"]:
        for queues in cohort["queuesSets"]:
            for workloads in queues["workloadsSets"]:
                workloads["count"] = max(1, round(workloads["count"] * share))
                count += cohort["count"] * queues["count"] * workloads["count"] * len(workloads["workloads"])
    return load, count


def ours(folder: Path, qps: float, burst: int) -> Path:
    """A program that takes Kueue's arguments and runs our controller; it ignores arguments that ours does not have.

    The package is compiled first, as pip does when it installs a wheel.
    """
    compileall.compile_dir(Path(closeknit.__file__).parent, quiet=1)
    config, program = folder / "config.yaml", folder / "closeknit.sh"
    limits = {"qps": qps, **({"burst": burst} if burst else {})}
    kind = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    config.write_text(yaml.safe_dump({**kind, "clientConnection": limits}))
    command = [sys.executable, "-m", "closeknit", "controller", "--config", str(config), "--no-leader-election",
               "--log-level", "warning"]  # fmt: skip
    program.write_text(
        '#!/bin/sh\nwhile [ $# -gt 0 ]; do case "$1" in --kubeconfig) file="$2"; shift ;; --kubeconfig=*) '
        f'file="${{1#*=}}" ;; esac; shift; done\nexec {shlex.join(command)} --kubeconfig "$file"\n'
    )
    program.chmod(0o755)
    return program


def definitions(name: str, folder: Path) -> Path:
    if name == OWN:
        own = folder / "kinds"
        own.mkdir()
        (own / "definitions.yaml").write_text(yaml.safe_dump_all(own_definitions()))
        return own
    kueue = DEFINITIONS["kueue"]
    return (build.module_folder(kueue.module) / kueue.files).parent


def assets(folder: Path) -> Path:
    """The folder with the runner's servers: etcd, and an API server that writes an audit log."""
    there = folder / "assets"
    there.mkdir(exist_ok=True)
    (folder / "audit.yaml").write_text(AUDIT)
    for name in ("etcd", "kubectl"):
        (there / name).unlink(missing_ok=True)
        (there / name).symlink_to(build.binary(name))
    flags = [f"--audit-policy-file={folder}/audit.yaml", f"--audit-log-path={folder}/audit.jsonl"]
    server = there / "kube-apiserver"
    server.write_text(f'#!/bin/sh\nexec {build.binary("kube-apiserver")} "$@" {shlex.join(flags)}\n')
    server.chmod(0o755)
    return there


def measured(name: str, folder: Path, scheduler: str, count: int, everything: float) -> Row:
    stats = yaml.safe_load((folder / f"{scheduler}.stats.yaml").read_text())
    with (folder / "wlStates.csv").open() as lines:
        workloads = list(csv.DictReader(lines))
    left = sum(not int(one[FINISHED]) for one in workloads)
    if len(workloads) != count or left > MOST_LEFT * count:
        raise EndedEarlyError(f"{left} of {len(workloads)} workloads did not finish, and {count} were to be made")
    admitted = sum(int(one[ADMITTED]) for one in workloads) / count / 1000
    cpu = (stats["userMs"] + stats["sysMs"]) / 1000
    wall, megabytes = stats["wallMs"] / 1000, stats["maxrss"] / 1000
    return Row(name, wall, cpu, megabytes, admitted, left, writes(folder) / count, everything)


def writes(folder: Path) -> int:
    """The number of the scheduler's write requests, including refused ones, without the runner's own."""
    agent = re.compile(r"closeknit/|kueue-minimalkueue")
    with (folder / "audit.jsonl").open() as lines:
        events = (json.loads(line) for line in lines)
        return sum(bool(agent.match(event.get("userAgent", ""))) for event in events)


def show(rows: Sequence[Row]) -> None:
    print(
        f"\n{'':<16}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'admitted after s':>18}{'left':>7}{'writes each':>13}"
        f"{'all CPU s':>11}"
    )
    for row in rows:
        name, wall, cpu, megabytes, admitted, left, writes_each, everything = row
        print(
            f"{name:<16}{wall:>9.1f}{cpu:>9.1f}{megabytes:>9.0f}{admitted:>18.1f}{left:>7}{writes_each:>13.2f}"
            f"{everything:>11.0f}"
        )
    theirs = next((row for row in rows if row.name == KUEUES), None)
    for row in rows:
        if theirs is not None and row is not theirs:
            ratios = (row.wall / theirs.wall, row.cpu / theirs.cpu, row.megabytes / theirs.megabytes)
            print("{:<16}{:>9.2f}{:>9.2f}{:>9.2f}   of Kueue's".format(row.name, *ratios))


if __name__ == "__main__":
    main()
