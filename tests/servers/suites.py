"""Runs one suite of tests on several servers: the command line that such suites share.

A suite names its servers; each is a context that starts a server and yields the environment in which the tests find it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

Starter = Callable[[], AbstractContextManager[Mapping[str, str]]]


def main(suite: Path, servers: Mapping[str, Starter], *options: str, at_once: int = 1) -> int:
    """Run the suite on the servers named on the command line, all by default; the exit code of the worst run."""
    names = sys.argv[1:] or list(servers)
    unknown = [name for name in names if name not in servers]
    if unknown:
        print(f"no server {', '.join(unknown)}; use: {', '.join(servers)}", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(suite)]
    code = 0
    with ThreadPoolExecutor(at_once) as pool:
        for name, done in zip(names, pool.map(lambda name: run(command, servers[name]), names), strict=True):
            print(f"== {suite.name}: {name} ==\n{done.stdout}", end="", flush=True)
            code |= done.returncode
    return code


def run(command: list[str], start: Starter) -> subprocess.CompletedProcess[str]:
    with start() as settings:
        environment = {**os.environ, **settings}
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
