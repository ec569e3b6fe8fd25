"""A running cluster per test module, and fixtures that run commands on it as a user does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from queue import Empty, Queue
from threading import Thread
from typing import NamedTuple

import pytest

from cli.live import Live
from closeknit.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    host = Live(tmp_path_factory.mktemp("host"))
    yield host
    host.stop()


@pytest.fixture
def ck(live: Live, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call a command on the running cluster."""
    monkeypatch.setenv("CLOSEKNIT_KUBECONFIG", live.kubeconfig)

    def call(*args: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return call


class WatchingCommand:
    """A command that runs until Ctrl-C, in its own process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self._lines = process, Queue[str]()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def until(self, part: str, seconds: float = 60.0) -> str:
        """The next line that contains this text."""
        seen = []
        try:
            while part not in (line := self._lines.get(timeout=seconds)):
                seen.append(line)
        except Empty:
            raise AssertionError(f"{part!r} did not come; there was {seen}") from None
        return line

    def interrupt(self) -> tuple[int, str]:
        """Stop the command; its exit code and stderr."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


@pytest.fixture
def watching(live: Live) -> Iterator[Callable[..., WatchingCommand]]:
    started: list[subprocess.Popen[str]] = []

    def start(*args: str) -> WatchingCommand:
        program = "import sys; from closeknit.cli.main import main; sys.argv[0] = 'closeknit'; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", program, *args],
            env={**os.environ, "CLOSEKNIT_KUBECONFIG": live.kubeconfig, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return WatchingCommand(process)

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()
