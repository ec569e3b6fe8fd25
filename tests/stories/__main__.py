"""Run stories from the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from .tale import read, shortened, story_of, tell, written
from .zoned_life import ZonedLife


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m stories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first story")
    parser.add_argument("--stories", type=int, default=1, help="how many, one seed after the other")
    parser.add_argument("--steps", type=int, help="tell stories until so many steps are done")
    parser.add_argument("--zones", action="store_true", help="on hosts with NUMA zones")
    parser.add_argument("--file", type=Path, help="tell a story that was written down")
    parser.add_argument("--no-shrink", action="store_true", help="leave a broken story as long as it is")
    given = parser.parse_args()
    if given.file:
        story, seed = read(given.file.read_text())
        return report(seed, story, not given.no_shrink)
    begin, done, decisions, seed = monotonic(), 0, 0, given.seed
    while (done < given.steps) if given.steps else (seed < given.seed + given.stories):
        story = story_of(seed, zones=given.zones)
        outcome = tell(story, seed)
        if outcome.at is not None:
            return report(seed, story[: outcome.at + 1], not given.no_shrink)
        done, decisions, seed = done + len(story), decisions + outcome.decisions, seed + 1
        if seed % 20 == 0:
            print(f"  {done} steps, {decisions} decisions, {monotonic() - begin:.0f} s", flush=True)
    count = seed - given.seed
    print(f"{count} stories from seed {given.seed}: {done} steps, {decisions} decisions, {monotonic() - begin:.0f} s")
    if given.zones:
        print(f"  {dict(sorted(ZonedLife.counts.items()))}")
    return 0


def report(seed: int, story: list, shrink: bool) -> int:  # type: ignore[type-arg]
    outcome = tell(story, seed)
    if outcome.at is None:
        print(f"the story of seed {seed} goes well")
        return 0
    print(f"seed {seed}, step {outcome.at}: {outcome.why}")
    if shrink:
        story = shortened(story, outcome.why, seed)
        outcome = tell(story, seed)
        print(f"\nin {len(story)} steps: {outcome.why}")
    for number, step in enumerate(story):
        print(f"  {number:3d} {step}")
    path = Path(f"story-{seed}.json")
    path.write_text(written(story, seed))
    print(f"\ntell it again: python -m stories --file {path}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
