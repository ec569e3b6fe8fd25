"""Our filter and score against the plug-in's own: `python -m numa.against_plugin --cases 20000`.

Both get the same pods, nodes, reports and arguments, and must give the same code, reason and score for every node. The
plug-in is a program around NodeResourceTopologyMatch of scheduler-plugins, built once. Where it panics, we must answer;
where our answer differs by design, the plug-in must give it for the report put right (see `put_right`). Both are
counted and printed; any other difference is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from closeknit.dialects.core import WirePod, shape
from closeknit.dialects.field import Field
from closeknit.dialects.nrt.arguments import read_arguments
from closeknit.dialects.nrt.reading import read_topology
from closeknit.engine.numa.topology_match import align, score
from closeknit.engine.numa.zone_table import ZoneTable
from closeknit.model.container import QoS
from closeknit.numa.pod_needs import PodNeeds
from servers.build import binary

from . import put_right as faults
from .plugin_cases import Problem, random_problem
from .put_right import put_right

Raw = dict[str, Any]
SHOWN = 5
BATCH = 2_000
ROUNDS = 100
"""How often a node is scored again whose score differs: the plug-in adds floats in random order."""
CLASSES: dict[str, QoS] = {"Guaranteed": "Guaranteed", "Burstable": "Burstable", "BestEffort": "BestEffort"}
NUMBERS = re.compile(r"\d+")


class Answer(NamedTuple):
    """About one node."""

    code: str
    reason: str
    score: int


def ours(problem: Problem) -> list[Answer]:
    """Our answer for each node."""
    table = ZoneTable()
    for node in problem.nodes:
        table.put_node(node["metadata"]["name"], node["status"]["allocatable"])
    for topology in problem.topologies:
        table.put_zones(read_topology(topology))
    wire = msgspec.convert(problem.pod, WirePod)
    needs = PodNeeds.of(shape(wire.spec), CLASSES.get(problem.pod.get("status", {}).get("qosClass", "")))
    fits, scores = align(table, needs), score(table, needs, read_arguments(Field.root(problem.args)))
    rows = [table.rows[node["metadata"]["name"]] for node in problem.nodes]
    return [Answer(fits.at(row).code, fits.at(row).reason or "", scores.at(row)) for row in rows]


def theirs(problems: Sequence[Problem], rounds: int = 1) -> list[list[Raw]]:
    """What the plug-in says about each node of each problem, with all cores."""
    size = max(1, -(-len(problems) // (os.cpu_count() or 1)))
    parts = [problems[at : at + size] for at in range(0, len(problems), size)]
    with ThreadPoolExecutor(max(1, len(parts))) as threads:
        return [one for answers in threads.map(lambda part: _ask(part, rounds), parts) for one in answers]


def _ask(problems: Sequence[Problem], rounds: int) -> list[list[Raw]]:
    lines = "\n".join(json.dumps(one.wire(rounds)) for one in problems)
    done = subprocess.run([binary("topology-match")], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(answers) != len(problems):
        sys.exit(f"the plug-in ended with {done.returncode}:\n{done.stderr[-4000:]}")
    for problem, answer in zip(problems, answers, strict=True):
        if isinstance(answer, dict):
            sys.exit(f"the plug-in refuses its arguments {problem.args}: {answer['error']}")
    return answers


def agrees(mine: Answer, answer: Raw) -> bool:
    """Whether the plug-in gives this answer, or would give it with panics left out."""
    return (mine.code, mine.reason) == (answer.get("code"), answer.get("reason", "")) and mine.score in answer.get(
        "scores", []
    )


@dataclass
class Tally:
    """What came up, by node."""

    told: Counter[str] = field(default_factory=Counter)
    panics: Counter[str] = field(default_factory=Counter)
    deliberate: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    same: int = 0

    @property
    def nodes(self) -> int:
        return self.told.total()


class Doubt(NamedTuple):
    """A node about which the two differ."""

    seed: int
    node: int
    mine: Answer
    answer: Raw


def compare(seeds: range, tally: Tally) -> None:
    problems = {seed: random_problem(seed) for seed in seeds}
    doubts = []
    for (seed, problem), answers in zip(problems.items(), theirs(list(problems.values())), strict=True):
        for node, (mine, answer) in enumerate(zip(ours(problem), answers, strict=True)):
            tally.told[f"{mine.code} {mine.reason}".strip()] += 1
            tally.panics.update(NUMBERS.sub("N", one) for one in _panics(answer))
            if agrees(mine, answer):
                tally.same += 1
            else:
                doubts.append(Doubt(seed, node, mine, answer))
    _settle(problems, doubts, tally)


def _panics(answer: Raw) -> list[str]:
    return [answer[key] for key in ("filterPanic", "scorePanic") if key in answer]


def _settle(problems: dict[int, Problem], doubts: list[Doubt], tally: Tally) -> None:
    """Ask again about nodes in doubt: often, and with what is wrong put right."""
    again = theirs([problems[one.seed] for one in doubts], ROUNDS)
    mended = [put_right(problems[one.seed]) for one in doubts]
    right = theirs([problem for problem, _ in mended], ROUNDS)
    for doubt, often, better, (_, wrong) in zip(doubts, again, right, mended, strict=True):
        cause = _cause(problems[doubt.seed], doubt, often[doubt.node], better[doubt.node], wrong)
        if cause:
            tally.deliberate[cause] += 1
        else:
            tally.different.append(shown(problems[doubt.seed], doubt))


def _cause(problem: Problem, doubt: Doubt, often: Raw, better: Raw, wrong: dict[str, set[str]]) -> str:
    """The deliberate difference that explains our answer; empty if none does."""
    found = wrong.get(problem.nodes[doubt.node]["metadata"]["name"], set())
    strategy = problem.args.get("scoringStrategy", {}).get("type", "LeastAllocated")
    if agrees(doubt.mine, often):
        return faults.UNSURE if strategy == "BalancedAllocation" else ""
    if found and agrees(doubt.mine, better):
        return " and ".join(sorted(found))
    if (doubt.mine.code, doubt.mine.reason) != (better.get("code"), better.get("reason", "")):
        return ""
    pod = faults.pod_faults(problem, strategy)
    if strategy == "LeastNUMANodes" and faults.SPARSE in found:
        pod.add(faults.POSITION)
    return " and ".join(sorted(pod))


def shown(problem: Problem, doubt: Doubt) -> str:
    name = problem.nodes[doubt.node]["metadata"]["name"]
    topology = [one for one in problem.topologies if one["metadata"]["name"] == name]
    lines = [f"seed {doubt.seed}, node {name}", f"  the plug-in: {doubt.answer}", f"  ours: {doubt.mine}"]
    for what, raw in (("args", problem.args), ("pod", problem.pod), ("report", topology)):
        lines.append(f"  {what}: {json.dumps(raw)}")
    return "\n".join([*lines, f"  allocatable: {sorted(problem.nodes[doubt.node]['status']['allocatable'])}"])


def table(title: str, counts: Counter[str]) -> None:
    print(f"{title}: {counts.total()}")
    for text, count in counts.most_common():
        print(f"{count:8}  {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begin, tally, end = monotonic(), Tally(), given.seed + given.cases
    for first in range(given.seed, end, BATCH):
        compare(range(first, min(first + BATCH, end)), tally)
    table("our answers, by node", tally.told)
    table("panics of the plug-in", tally.panics)
    table("deliberate differences, panics of the score included", tally.deliberate)
    for one in tally.different[:SHOWN]:
        print(one)
    print(
        f"{given.cases} cases, {tally.nodes} nodes, {monotonic() - begin:.0f} s: same {tally.same}, "
        f"deliberately different {tally.deliberate.total()}, different {len(tally.different) or 'none'}"
    )
    sys.exit(bool(tally.different))


if __name__ == "__main__":
    main()
