"""What is said while something takes long."""

from __future__ import annotations

import pytest

from closeknit.cli.progress import PATIENCE, Progress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_said_for_a_while_and_then_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("cycles", clock) as progress:
        for second in range(10):
            clock.now = float(second)
            progress.tell(lambda: f"deciding: {clock.now:.0f}")
    assert capsys.readouterr().err.splitlines() == ["deciding: 2", "deciding: 5", "deciding: 8"]
    assert PATIENCE == 2.0


def test_what_is_not_said_is_not_worked_out() -> None:
    def never() -> str:
        raise AssertionError

    with Progress("cycles", Clock()) as progress:
        progress.tell(never)


def test_files_are_told_with_their_size(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("objects", clock) as progress:
        clock.now = 3.0
        progress("cluster.json", 12_000, 75_000_000, "JSON")
    assert capsys.readouterr().err == "reading cluster.json: 12,000 objects, 75 MB\n"
