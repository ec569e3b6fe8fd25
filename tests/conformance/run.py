"""Runs conformance files: problems with their expected answers.

    run.py PATH... [--suite NAME] [--time] [--json]

A path is a file (json, ndjson, ndjson.gz) or a folder of them; a file's suite is the name of its folder. What cannot
be read is a failed case named after its file and line; cases of an unknown suite, and cases about something that has no
counterpart here, are not run. Exit 0: all cases that ran passed; 1: a case failed; 2: nothing ran.

With --time, us_warm and us_cold are the mean microseconds per decision over the suite's cases: cold is the first
decision on a case, warm the best of five that follow it. Without --time they are null.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from conformance.suites import SUITES, Case, NotRun, Prepared, difference

ENDINGS = (".json", ".ndjson", ".ndjson.gz")
WARM_RUNS = 5
UNREADABLE = (OSError, EOFError, zlib.error, ValueError, RecursionError)

_BETWEEN = re.compile(r"[\s,]*")


class Found(NamedTuple):
    """The content of a line of a file: any JSON value, or why there is none."""

    line: int
    value: Any = None
    problem: str = ""


@dataclass
class Score:
    """The results of a suite: failures in order, as names with reasons; times of each decision in microseconds."""

    passed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    not_run: int = 0
    warm: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "failed": [name for name, _ in self.failed],
            "not_run": self.not_run,
            "us_warm": mean(self.warm),
            "us_cold": mean(self.cold),
        }


def mean(times: list[float]) -> float | None:
    return sum(times) / len(times) if times else None


def files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS))
        else:
            yield path


def cases(path: Path) -> Iterator[Found]:
    """Everything in a file, mistakes included."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        found = list(elements(data) if path.name.endswith(".json") else lines(data))
    except UNREADABLE as error:
        yield Found(getattr(error, "lineno", 1), problem=said(error))
        return
    yield from found


def lines(data: bytes) -> Iterator[Found]:
    """One value per line; an invalid line does not hide the others."""
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield Found(number, json.loads(line))
            except UNREADABLE as error:
                yield Found(number, problem=said(error))


def elements(data: bytes) -> Iterator[Found]:
    """The elements of a list, each with the line where it begins; or the single value that is not a list."""
    text = data.decode("utf-8-sig")
    whole = json.loads(text)
    at, line = skip(text, 0), 1 + text.count("\n", 0, skip(text, 0))
    if not isinstance(whole, list):
        yield Found(line, whole)
        return
    end = at + 1
    for element in whole:
        begin = skip(text, end)
        line += text.count("\n", at, begin)
        yield Found(line, element)
        at, (_, end) = begin, json.JSONDecoder().raw_decode(text, begin)


def skip(text: str, at: int) -> int:
    """Past blanks and a comma."""
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def run(paths: list[Path], suite: str | None, timed: bool) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    for path in files(paths):
        name = suite or path.resolve().parent.name
        score = scores.setdefault(name, Score())
        for found in cases(path):
            if name not in SUITES:
                score.not_run += 1
                continue
            try:
                why = found.problem or run_case(name, complete(found.value, path), score if timed else None)
            except NotRun:
                score.not_run += 1
                continue
            if why:
                score.failed.append((case_name(found, path), why))
            else:
                score.passed += 1
    return scores


def complete(case: Any, path: Path) -> Any:
    """The case with the pods of another vector of its folder, if it names one."""
    wanted = case.get("podsFrom") if isinstance(case, dict) else None
    pods = pods_by_name(path.resolve().parent).get(wanted) if isinstance(wanted, str) else None
    return case if pods is None else {**case, "pods": pods}


@cache
def pods_by_name(folder: Path) -> dict[str, Any]:
    values = [found.value for path in files([folder]) for found in cases(path)]
    return {one["name"]: one["pods"] for one in values if isinstance(one, dict) and "name" in one and "pods" in one}


def case_name(found: Found, path: Path) -> str:
    given = found.value.get("name") if isinstance(found.value, dict) else None
    return str(given) if given else f"{path.name}:{found.line}"


def run_case(suite: str, case: Case, timing: Score | None) -> str | None:
    """None if the case passes, else the first difference."""
    if not isinstance(case, dict):
        return f"a case is a JSON object, but this is {json.dumps(case)[:60]}"
    try:
        prepared = SUITES[suite](case)
        begin = perf_counter()
        answer = prepared.decide()
        cold = perf_counter() - begin
        if timing is not None:
            timing.cold.append(cold * 1e6)
            timing.warm.append(best_warm(prepared) * 1e6)
        return difference(prepared.want, prepared.show(answer))
    except NotRun:
        raise
    except Exception as error:  # a crash is a failed case, not the end of the run
        return said(error)


def best_warm(prepared: Prepared) -> float:
    best = float("inf")
    for _ in range(WARM_RUNS):
        begin = perf_counter()
        prepared.decide()
        best = min(best, perf_counter() - begin)
    return best


def report(scores: dict[str, Score]) -> None:
    for name, score in scores.items():
        print(f"{name}: {score.passed} passed, {len(score.failed)} failed, {score.not_run} not run")
        if score.cold:
            print(f"  {mean(score.warm):.1f} us warm, {mean(score.cold):.1f} us cold, mean per decision")
        for case, why in score.failed:
            print(f"  {' '.join(f'{case}: {why}'.split())}")
    print(f"{total_passed(scores)} passed, {total_failed(scores)} failed")


def total_passed(scores: dict[str, Score]) -> int:
    return sum(score.passed for score in scores.values())


def total_failed(scores: dict[str, Score]) -> int:
    return sum(len(score.failed) for score in scores.values())


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--suite", help="treat every path as belonging to this suite")
    parser.add_argument("--time", action="store_true", help="time decisions: mean microseconds, warm and cold")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args(words)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may hold what no encoding has
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
