"""Runs commands on files, as a user does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from closeknit.cli.main import main

from .clusters import Raw, written


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call a command; a list of objects among its words is written to a file and replaced by its name."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | list[Raw]) -> Ran:
        files = [one if isinstance(one, str) else written(Path(f"f{at}.yaml"), *one) for at, one in enumerate(words)]
        with pytest.raises(SystemExit) as ended:
            main(files)
        found = capsys.readouterr()
        return Ran(int(ended.value.code or 0), found.out, found.err)

    return call
