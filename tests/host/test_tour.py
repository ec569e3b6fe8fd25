"""The part of the README's tour on a running cluster, as printed, with the stock kubectl."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.embedded.rest.conftest import KUBECTL
from host.process import HostProcess

pytestmark = pytest.mark.skipif(not KUBECTL.exists(), reason=f"SKIPPED, LOUDLY: there is no {KUBECTL}")

ROOT = Path(__file__).parents[2]


def printed() -> list[tuple[str, list[str]]]:
    """The kubectl commands of the tour's step, each with its printed output."""
    text = (ROOT / "README.md").read_text()
    [block] = re.findall(r"\*\*8\. A cluster on your laptop.*?```console\n(.*?)```", text, re.DOTALL)
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def test_the_tour_of_the_readme_works_as_printed(tmp_path: Path) -> None:
    home = tmp_path / "tour"
    shutil.copytree(ROOT / "src/closeknit/samples", home)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "kubectl").symlink_to(KUBECTL)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    with HostProcess(home / "mine", "--port", "0"):
        environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "KUBECONFIG": str(home / "mine/kubeconfig")}
        for command, answers in printed()[1:]:
            words = command.replace("/tmp/tour", str(home))
            done = subprocess.run(
                ["bash", "-c", words], cwd=home, env=environment, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            for answer in answers:
                assert answer in done.stdout.splitlines(), f"{command}\n{done.stdout}{done.stderr}"
