"""`closeknit decisions NAME` for existing jobs, deleted jobs, and unknown names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, admitted, job
from closeknit.cli import decisions
from closeknit.cluster import kinds


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    """A job of 12 pods waits, since a rack is half as large; `gone` ran and was deleted."""
    live.create(*NODES, *QUEUES, job("gone", 2), job("large", 12))
    live.until(admitted("gone"))


def of(ck: Run, *args: str) -> list[tuple[str, str, str]]:
    found = json.loads(ck("decisions", *args, "-o", "json").out)
    return [(one["outcome"], one["job"], one["queue"]) for one in found]


def test_a_deleted_job_is_still_found_by_its_name(live: Live, ck: Run) -> None:
    assert ck("delete", "job", "gone").code == 0
    live.until(lambda store: len(store.objects[kinds.WORKLOAD]) == 1)
    for name in ("gone", "job/gone", "Job/gone", "default/gone", "workload/gone"):
        assert of(ck, name) == [("Admitted", "Job/gone", "research")]
    assert ck("decisions", "jobset/gone").code == 4


def test_a_waiting_workload_is_shown_with_its_queue(ck: Run) -> None:
    assert ("Waits", "Job/large", "research") in of(ck, "large")


def test_an_unknown_name_is_answered_with_the_nearest_and_a_command(ck: Run, live: Live) -> None:
    ran = ck("decisions", "gnoe", "--kubeconfig", live.kubeconfig)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        'error: no workload or job named "gnoe" in namespace default; did you mean gone? '
        f"`closeknit decisions --kubeconfig {live.kubeconfig}` shows all decisions\n"
    )
    assert "use -n for another namespace" in ck("decisions", "gone", "-n", "kube-system").err
    assert ck("decisions", "gnoe", "-w").code == 4


def test_a_pipe_gets_whole_lines(ck: Run) -> None:
    (line,) = [line for line in ck("decisions", "large").out.splitlines() if "Waits" in line][:1]
    assert len(line) > 140
    assert line.endswith('excluded: resource "cpu": 2') or "…" not in line


def test_a_terminal_gets_what_fits_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(decisions, "get_terminal_size", lambda: os.terminal_size((10, 24)))
    assert decisions.fitting("0123456789") == "0123456789"
    assert decisions.fitting("0123456789a") == "012345678…"


def test_the_help_explains_level(ck: Run, tmp_path: Path) -> None:
    assert "LEVEL is the lowest level at which one domain holds all pods" in " ".join(
        ck("decisions", "--help").out.split()
    )
