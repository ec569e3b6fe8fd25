"""Our kubelet against the real one's code: `python -m numa.against_kubelet --sequences 5000`.

Both get the same machines and the same pods, one after another, and must admit or refuse each of them alike. The real
one is a program around the managers of k8s.io/kubernetes, built once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from time import monotonic
from typing import Any

from servers.build import binary

from .sequences import Sequence, random_sequence

SHOWN = 5


def real_outcomes(sequences: list[Sequence]) -> list[Any]:
    """As `_answers`, with all cores."""
    size = -(-len(sequences) // (os.cpu_count() or 1))
    parts = [sequences[at : at + size] for at in range(0, len(sequences), size)]
    with ThreadPoolExecutor(len(parts)) as threads:
        return [answer for answers in threads.map(_answers, parts) for answer in answers]


def _answers(sequences: list[Sequence]) -> list[Any]:
    """What the kubelet's own code says, for each sequence; its checkpoints go to a file system in memory."""
    lines = "\n".join(json.dumps(one.wire()) for one in sequences)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        done = subprocess.run(
            [binary("kubelet-admission")],
            input=lines,
            capture_output=True,
            text=True,
            env={"TMPDIR": folder},
            check=False,
        )
    if done.returncode:
        sys.exit(f"the kubelet's code ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begin = monotonic()
    seeds = range(given.seed, given.seed + given.sequences)
    sequences = [random_sequence(seed) for seed in seeds]
    answers = real_outcomes(sequences)
    told, different = Counter[str](), []
    for seed, sequence, answer in zip(seeds, sequences, answers, strict=True):
        if isinstance(answer, dict):
            sys.exit(f"seed {seed}: the kubelet does not start: {answer['error']}")
        want = [(one.get("reason", ""), one.get("message", "")) for one in answer]
        told.update(reason for reason, _ in want)
        if want != sequence.outcomes():
            different.append(seed)
            if len(different) <= SHOWN:
                show(seed, sequence, answer)
    for reason, count in sorted(told.items()):
        print(f"{count:8} {reason or 'admitted'}")
    print(f"{len(seeds)} sequences, {told.total()} pods, {monotonic() - begin:.0f} s; different: {different or 'none'}")
    sys.exit(bool(different))


def show(seed: int, sequence: Sequence, answer: list[Any]) -> None:
    """The first pod of a sequence about which the two differ."""
    arrived = [step for step in sequence.steps if step[1] is not None]
    for (uid, containers), want, got in zip_longest(arrived, answer, sequence.outcomes()):
        if (want.get("reason", ""), want.get("message", "")) != got:
            print(f"seed {seed}, pod {uid}: {containers}\n  {sequence.settings}, {len(sequence.zones)} zones")
            print(f"  the kubelet: {want.get('reason') or 'admitted'} {want.get('message', '')}")
            print(f"  ours: {' '.join(got) or 'admitted'}")
            return


if __name__ == "__main__":
    main()
