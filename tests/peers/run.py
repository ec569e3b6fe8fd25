"""Compares Closeknit with Kueue 0.19: runs the same script on both, step by step, and shows every difference.

    PYTHONPATH=tests python -m peers.run [--worlds 6] [--jobs 40] [--seed 1]

A step is over when both sides are quiet. Where they differ then, both are shown, everything is deleted on both, and the
script goes on from there, since what follows would differ too. Ends with 1 if a difference is not explained.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from time import monotonic

from .script import make_script
from .sides import both
from .stage import Difference, Stage
from .worlds import make_world

FAIR_FROM = 2 / 3
"""The last third of the worlds uses fair sharing."""


def main() -> None:
    options = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    begin, seeds = monotonic(), range(options.seed, options.seed + options.worlds)
    border = {"classical": options.worlds, "fair": 0, "both": round(options.worlds * FAIR_FROM)}[options.sharing]
    count, found = Counter[str](), list[Difference]()
    for fair, some in ((False, seeds[:border]), (True, seeds[border:])):
        if some:
            folder = options.logs and options.logs / ("fair" if fair else "classical")
            with both(fair, folder, options.twins) as grounds, ThreadPoolExecutor(options.at_once) as workers:
                stages = [Stage(grounds, make_world(seed, fair)) for seed in some]
                for differences in workers.map(lambda stage: list(play(stage, options)), stages):
                    found += differences
                count.update(chain.from_iterable(stage.count.elements() for stage in stages))
    say(f"\n{summary(count, found)}\n{(monotonic() - begin) / 60:.0f} minutes")
    sys.exit(any(not one.is_explained for one in found))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--worlds", type=int, default=6, help="set-ups of nodes and queues (6)")
    made.add_argument("--at-once", type=int, default=1, help="so many of them; nodes of one wake queues of all (1)")
    made.add_argument("--jobs", type=int, default=40, help="jobs in each (40)")
    made.add_argument("--seed", type=int, default=1, help="that of the first world (1)")
    made.add_argument("--sharing", choices=("classical", "fair", "both"), default="both")
    made.add_argument("--twins", action="store_true", help="Kueue on both sides: how often it differs from itself")
    made.add_argument("--logs", type=Path, metavar="FOLDER", help="keep all logs there; Kueue's are long then")
    made.add_argument("--words", action="store_true", help="also show different messages of pending workloads")
    return made


def play(stage: Stage, options: argparse.Namespace) -> Iterator[Difference]:
    say(f"{stage.world.name} begins: {stage.outline}")
    with stage:
        for number, step in enumerate(make_script(stage.world, options.jobs), 1):
            what = stage.act(step)
            difference = stage.settle()
            say(f"{stage.world.name} {number:3} {what}: {difference.outline if difference else stage.standing()}")
            if options.words:
                tell_words(stage)
            if difference:
                yield difference
            if difference and not difference.is_explained:
                say(shown(difference))
            if difference and not difference.goes_on:
                stage.empty()


def tell_words(stage: Stage) -> None:
    for job, theirs, ours in stage.wordings():
        say(f"    words for {job}\n      {theirs}\n      {ours}")


def shown(difference: Difference) -> str:
    return "\n".join(f"--- {name}\n{json.dumps(body, indent=1)}" for name, body in difference.both.items())


def summary(count: Counter[str], found: list[Difference]) -> str:
    causes = Counter(cause or "NOT EXPLAINED" for one in found for cause in one.causes.values())
    what = ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
    why = "".join(f"\n  {number} × {cause}" for cause, number in causes.items())
    return f"{what}; {len(found)} differences{why}"


def say(text: str) -> None:
    """Print in one piece, while other threads print too."""
    print(f"{text}\n", end="", flush=True)


if __name__ == "__main__":
    main()
