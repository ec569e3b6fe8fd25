"""Runs conformance files: problems with their expected answers.

    run.py PATH... [--suite NAME] [--time] [--json]

A path is a file (json, ndjson, ndjson.gz) or a folder of them; a file's suite is the name of its folder. Exit 0:
all that ran passed; 1: something failed; 2: nothing ran.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from conformance.suites import SUITES, Case, Prepared, difference

ENDINGS = (".json", ".ndjson", ".ndjson.gz")
WARM_RUNS = 5


@dataclass
class Score:
    """How a suite fared. Times are in microseconds, summed over its cases."""

    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    not_run: int = 0
    us_warm: float | None = None
    us_cold: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "failed": list(self.failed),
            "not_run": self.not_run,
            "us_warm": self.us_warm,
            "us_cold": self.us_cold,
        }


def files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS))
        else:
            yield path


def cases(path: Path) -> Iterator[Case]:
    data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    if path.name.endswith(".json"):
        loaded = json.loads(data)
        yield from loaded if isinstance(loaded, list) else [loaded]
    else:
        yield from (json.loads(line) for line in data.splitlines() if line.strip())


def run(paths: list[Path], suite: str | None, timed: bool) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    for path in files(paths):
        name = suite or path.resolve().parent.name
        score = scores.setdefault(name, Score())
        for number, case in enumerate(cases(path)):
            if name not in SUITES:
                score.not_run += 1
                continue
            label = case.get("name") or f"{path.name}:{number + 1}"
            why = run_case(name, case, score if timed else None)
            if why is None:
                score.passed += 1
            else:
                score.failed[label] = why
    return scores


def run_case(suite: str, case: Case, timing: Score | None) -> str | None:
    """None if the case passes, else the first difference."""
    try:
        prepared = SUITES[suite](case)
        begin = perf_counter()
        answer = prepared.decide()
        cold = perf_counter() - begin
        if timing is not None:
            timing.us_cold = (timing.us_cold or 0.0) + cold * 1e6
            timing.us_warm = (timing.us_warm or 0.0) + best_warm(prepared) * 1e6
        return difference(prepared.want, prepared.show(answer))
    except Exception as error:  # a crash is a failed case, not the end of the run
        return f"{type(error).__name__}: {error}"


def best_warm(prepared: Prepared) -> float:
    best = float("inf")
    for _ in range(WARM_RUNS):
        begin = perf_counter()
        prepared.decide()
        best = min(best, perf_counter() - begin)
    return best


def report(scores: dict[str, Score]) -> None:
    for name, score in scores.items():
        times = "" if score.us_warm is None else f" ({score.us_warm:.0f} us warm, {score.us_cold:.0f} us cold)"
        print(f"{name}: {score.passed} passed, {len(score.failed)} failed, {score.not_run} not run{times}")
        for case, why in score.failed.items():
            print(f"  {case}: {why}")
    print(f"{total_passed(scores)} passed, {total_failed(scores)} failed")


def total_passed(scores: dict[str, Score]) -> int:
    return sum(score.passed for score in scores.values())


def total_failed(scores: dict[str, Score]) -> int:
    return sum(len(score.failed) for score in scores.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--suite", help="treat every path as belonging to this suite")
    parser.add_argument("--time", action="store_true", help="time the decisions: best of 5 warm, and the first")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args()
    missing = [str(path) for path in options.paths if not path.exists()]
    if missing:
        parser.error(f"no such file or folder: {', '.join(missing)}")
    scores = run(options.paths, options.suite, options.time)
    if options.json:
        print(json.dumps({"suites": {name: score.as_json() for name, score in scores.items()}}))
    else:
        report(scores)
    if total_failed(scores):
        return 1
    return 0 if total_passed(scores) else 2


if __name__ == "__main__":
    sys.exit(main())
