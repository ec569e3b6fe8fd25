"""Progress messages during long operations."""

from __future__ import annotations

import pytest

from closeknit.cli.progress import PATIENCE, Progress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_is_silent_at_first_and_then_periodic(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("cycles", clock) as progress:
        for second in range(10):
            clock.now = float(second)
            progress.tell(lambda: f"deciding: {clock.now:.0f}")
    assert capsys.readouterr().err.splitlines() == ["deciding: 2", "deciding: 5", "deciding: 8"]
    assert PATIENCE == 2.0


def test_messages_that_are_not_printed_are_not_built() -> None:
    def never() -> str:
        raise AssertionError

    with Progress("cycles", Clock()) as progress:
        progress.tell(never)


def test_reading_a_file_reports_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("objects", clock) as progress:
        clock.now = 3.0
        progress("cluster.json", 12_000, 75_000_000, "JSON")
    assert capsys.readouterr().err == "reading cluster.json: 12,000 objects, 75 MB\n"
