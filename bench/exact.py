"""The search for trees of groups against an exact solver (HiGHS): `python -m bench.exact --cases 2000`.

The solver proves for each random case whether a placement of all minimums exists, and how few domains of the preferred
levels it can use. The table shows how often the search agrees, how many steps it took, and how many preferred domains
it used for each that is needed; beside it the same for a greedy order without backtracking, as KAI places groups.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import highspy
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from closeknit.engine.fit import fit_of
from closeknit.engine.groups.agenda import Choose, Include, Item, Put
from closeknit.engine.groups.parts import Batch, GroupPart, RequestReader
from closeknit.engine.groups.place import GroupResult, place_groups
from closeknit.engine.groups.search import OutOfSteps, Search
from closeknit.engine.groups.trial import GroupTrial
from closeknit.engine.policy import Policy
from closeknit.model.pod_rules import SpreadRule
from closeknit.model.reason import Reason
from closeknit.model.shape import Shape
from closeknit.state.node_tree import ROOT, NodeTree
from engine.trees.random_trees import Case, random_case

MOST = 100
"""More pods than any case has."""
LIMIT = 20.0
"""Seconds for the solver and each case."""


@dataclass
class Exact:
    """`exists` is None if the solver did not finish. `domains` is the least number of preferred domains."""

    exists: bool | None
    domains: int = 0


class Program:
    """A case as a mixed-integer program: pods of each batch on each node, and a domain for each bound part."""

    def __init__(self, case: Case, top: GroupPart) -> None:
        self.case, self.solver = case, highspy.Highs()
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("time_limit", LIMIT)
        self.solver.setOptionValue("mip_rel_gap", 0.0)
        self.pods: dict[Batch, list[Any]] = {}
        self.included: dict[int, Any] = {}
        self.used: list[Any] = []
        self.homes: list[tuple[GroupPart, NodeTree, int, list[Any]]] = []
        """For each level of a part, a binary for each domain that its pods may use."""
        self.parts = list(top.walk())
        for part in self.parts:
            self._add(part)
        self._capacity()
        self._rules()

    def _add(self, part: GroupPart) -> None:
        add, columns = self.solver, self.case.columns
        inside = self.included[part.at] = add.addBinary()
        if part.above is None:
            add.addConstr(inside == 1)
        else:
            add.addConstr(inside <= self.included[part.above.at])
        for batch in part.batches:
            able = fit_of(columns, batch.shape, None, Policy()).pods
            self.pods[batch] = [add.addIntegral(0, min(int(one), batch.count)) for one in able.tolist()]
            add.addConstr(sum(self.pods[batch]) <= batch.count)
        if part.batches:
            everything = [one for batch in part.batches for one in self.pods[batch]]
            add.addConstr(sum(everything) >= part.minimum * inside)
            add.addConstr(sum(everything) <= part.minimum * inside)
        if part.bounds is not None and part.bounds.required != ROOT:
            self._domains(part, part.bounds.tree, part.bounds.required, only_one=True)
        if part.bounds is not None and part.bounds.preferred is not None:
            self.used += self._domains(part, part.bounds.tree, part.bounds.preferred, only_one=False)

    def close(self) -> None:
        for part in self.parts:
            if part.parts:
                children = sum(self.included[one.at] for one in part.parts)
                self.solver.addConstr(children >= part.needed_parts * self.included[part.at])
                self.solver.addConstr(children <= part.needed_parts * self.included[part.at])

    def _domains(self, part: GroupPart, tree: NodeTree, level: int, only_one: bool) -> list[Any]:
        chosen = [self.solver.addBinary() for _ in tree.values[level]]
        self.homes.append((part, tree, level, chosen))
        if only_one:
            self.solver.addConstr(sum(chosen) <= 1)
        return chosen

    def _capacity(self) -> None:
        columns = self.case.columns
        for part, tree, level, chosen in self.homes:
            home = np.full(tree.size, -1)
            home[tree.rows] = tree.domain[level]
            for one in part.walk():
                for batch in one.batches:
                    for row, pods in enumerate(self.pods[batch]):
                        if home[row] < 0:
                            self.solver.addConstr(pods == 0)
                        else:
                            self.solver.addConstr(pods <= batch.count * chosen[int(home[row])])
        for row in range(len(columns.table)):
            for at in range(len(columns.resources)):
                asked = [(batch.charge[at], pods[row]) for batch, pods in self.pods.items() if batch.charge[at]]
                if asked:
                    total = sum(int(amount) * variable for amount, variable in asked)
                    self.solver.addConstr(total <= int(columns.remaining[at, row]))

    def _rules(self) -> None:
        """Host ports, which all collide here, anti-affinity and topology spread."""
        by_shape: dict[Shape, list[list[Any]]] = {}
        for batch, pods in self.pods.items():
            by_shape.setdefault(batch.shape, []).append(pods)
        columns = {shape: [sum(pods) for pods in zip(*lists, strict=True)] for shape, lists in by_shape.items()}
        ruled = [(shape, shape.rules) for shape in columns if shape.rules is not None]
        ported = [columns[shape] for shape, rules in ruled if rules.kind.ports]
        for at_row in zip(*ported, strict=True):
            self.solver.addConstr(sum(at_row) <= 1)
        for shape, rules in ruled:
            for term in rules.kind.anti:
                targets = [one for one in columns if one.kind is not None and one.kind.is_in(term, {})]
                for rows in self._rows_by(term.key).values():
                    self._apart(columns, shape, targets, rows)
            for rule in rules.spread:
                self._spread(columns[shape], shape, rule)

    def _rows_by(self, key: str) -> dict[str | None, list[int]]:
        found: dict[str | None, list[int]] = {}
        for row in range(len(self.case.columns.table)):
            found.setdefault(self.case.columns.table.label(row, key), []).append(row)
        return found

    def _apart(self, columns: dict[Shape, list[Any]], shape: Shape, targets: list[Shape], rows: list[int]) -> None:
        """In one domain: one pod of the shape if it keeps its own pods away, and none of the others beside it."""
        present, add = self.solver.addBinary(), self.solver
        own = sum(columns[shape][row] for row in rows)
        add.addConstr(own <= (1 if shape in targets else MOST) * present)
        for other in targets:
            if other is not shape:
                add.addConstr(sum(columns[other][row] for row in rows) <= MOST - MOST * present)

    def _spread(self, pods: list[Any], shape: Shape, rule: SpreadRule) -> None:
        """No domain has more than `max_skew` pods above the emptiest one that the pods' selector admits."""
        least, table = self.solver.addIntegral(0, MOST), self.case.columns.table
        for rows in self._rows_by(rule.key).values():
            here = sum(pods[row] for row in rows)
            self.solver.addConstr(here <= least + rule.max_skew)
            if any(all(table.label(row, key) == value for key, value in shape.selector) for row in rows):
                self.solver.addConstr(least <= here)

    def keep(self, result: GroupResult) -> None:
        """Include the parts that a placement includes: which k of n groups are placed is not compared."""
        for part in self.parts:
            names = [batch.pod_set.name for one in part.walk() for batch in one.batches]
            if not any(len(result.placed[name].rows) for name in names if name in result.placed):
                self.solver.addConstr(self.included[part.at] == 0)

    def solve(self) -> Exact:
        self.close()
        self.solver.minimize(sum(self.used) if self.used else 0 * next(iter(self.included.values())))
        status = self.solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Exact(False)
        if status != highspy.HighsModelStatus.kOptimal:
            return Exact(None)
        return Exact(True, round(self.solver.getInfo().objective_function_value) if self.used else 0)


def preferred_used(result: GroupResult, top: GroupPart) -> int:
    """Domains of preferred levels that a placement uses, over all parts."""
    total = 0
    rows_of = {name: placed.rows[placed.counts > 0] for name, placed in result.placed.items()}
    for part in top.walk():
        if part.bounds is None or part.bounds.preferred is None:
            continue
        names = [batch.pod_set.name for one in part.walk() for batch in one.batches]
        rows = np.concatenate([rows_of[name] for name in names if name in rows_of] or [np.empty(0, dtype=np.int64)])
        places = part.bounds.tree.place[rows]
        total += len(np.unique(part.bounds.tree.domain[part.bounds.preferred][places[places >= 0]]))
    return total


class Greedy(Search):
    """As KAI places groups: the first nodes that work, and after a failure the next domain of a group around it."""

    def _alternatives(self, item: Item) -> Iterator[Any]:
        found = item.alternatives(self)
        return islice(found, 1) if isinstance(item, Put) else found

    def _causes(self, items: Sequence[Item], at: int) -> set[int]:
        lineage = {part.at for part in items[at].part.lineage()}
        chosen = (place for place in range(at) if isinstance(items[place], Choose | Include))
        return {place for place in chosen if items[place].part.at in lineage}


def placed_greedily(case: Case, top: GroupPart, steps: int) -> bool:
    trial = GroupTrial(case.columns, Policy(), any(one.shape.rules is not None for one in case.request.pod_sets))
    start = trial.mark()
    try:
        return Greedy(trial, case.trees, top, "binpack", steps).run()
    except OutOfSteps:
        return False
    finally:
        trial.undo(start)


@dataclass
class Score:
    found: int = 0
    missed: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)


def compare(seeds: Iterable[int], steps: int, filters: bool) -> tuple[Score, dict[str, int]]:
    names = ("feasible", "infeasible", "unsolved", "proved", "invalid", "greedy")
    ours, counts = Score(), dict.fromkeys(names, 0)
    for seed in seeds:
        case = random_case(seed, filters=filters)
        top = RequestReader(case.columns, case.trees).read(case.request)
        if isinstance(top, Reason):
            counts["invalid"] += 1
            continue
        result = place_groups(case.columns, case.trees, case.request, Policy(), steps=steps, surplus=False)
        ours.steps.append(result.steps)
        program = Program(case, top)
        if result.fits:
            program.keep(result)
        exact = program.solve()
        if exact.exists is None:
            counts["unsolved"] += 1
        elif not exact.exists:
            counts["infeasible"] += 1
            counts["proved"] += result.is_proof
            if result.fits:
                ours.wrong.append(seed)
        else:
            counts["feasible"] += 1
            counts["greedy"] += placed_greedily(case, top, steps)
            if result.fits:
                ours.found += 1
                if exact.domains:
                    ours.ratios.append(preferred_used(result, top) / exact.domains)
            elif result.is_proof:
                ours.wrong.append(seed)
            else:
                ours.missed.append(seed)
    return ours, counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--no-filters", action="store_true", help="without taints, ports, anti-affinity and spread")
    options = parser.parse_args()
    start = time.perf_counter()
    ours, counts = compare(range(options.first, options.first + options.cases), options.steps, not options.no_filters)
    feasible, infeasible = max(counts["feasible"], 1), max(counts["infeasible"], 1)
    print(f"{options.cases} cases in {time.perf_counter() - start:.0f} s: {counts['unsolved']} not solved exactly\n")
    print(f"{'':42}{'closeknit':>12}{'greedy':>12}")
    print(f"{'a placement exists':32}{counts['feasible']:10}{ours.found:12}{counts['greedy']:12}  found")
    print(f"{'':42}{ours.found / feasible:12.2%}{counts['greedy'] / feasible:12.2%}")
    print(f"{'none exists':32}{counts['infeasible']:10}{counts['proved']:12}{'':12}  proved")
    print(f"{'':42}{counts['proved'] / infeasible:12.2%}")
    print(f"preferred domains / optimal: mean {np.mean(ours.ratios):.3f}, worst {np.max(ours.ratios):.2f}")
    median, high = np.median(ours.steps), np.percentile(ours.steps, 99)
    print(f"steps: median {median:.0f}, 99th percentile {high:.0f}, most {max(ours.steps)}")
    print(f"not found: {ours.missed or 'none'}; wrong: {ours.wrong or 'none'}")


if __name__ == "__main__":
    main()
