"""The controller as a process of its own, as its Deployment runs it: restarted whenever it exits.

Its output goes to a log, its dumped state to a file: one line per request.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

from servers.process import STOP_PATIENCE, die_with

SOON = 10.0
READY = b" on https://"
"""Part of the first line of its log, after which it handles signals."""


class Replica:
    """`name` is the name that its pod would have. Its folder has NAME.log and NAME.dumps."""

    def __init__(self, name: str, kubeconfig: Path, config: Path, folder: Path, options: Sequence[str] = ()) -> None:
        self.name, self.log, self.dumps = name, folder / f"{name}.log", folder / f"{name}.dumps"
        words = ["--kubeconfig", str(kubeconfig), "--config", str(config), *options]
        self.command = [sys.executable, "-m", "closeknit", "controller", *words]
        self.starts = self._begin = 0
        self._over, self._up = Event(), Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = Thread(target=self._keep, daemon=True)
        self._keeper.start()
        self._up.wait()

    def _keep(self) -> None:
        """Restart the process, from a thread that stays: the kernel ends a process with the thread that started it."""
        while not self._over.is_set():
            self._begin = self.log.stat().st_size if self.log.exists() else 0
            with self.log.open("ab") as said, self.dumps.open("ab") as dumped:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=dumped,
                    stderr=said,
                    env={**os.environ, "POD_NAME": self.name},
                    preexec_fn=die_with(os.getpid()),
                )
            self.starts += 1
            self._up.set()
            self._process.wait()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Kill it with SIGKILL; another is started at once."""
        os.kill(self.pid, signal.SIGKILL)

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        self._over.set()
        if self._process is not None:
            self._process.terminate()
            self._keeper.join(STOP_PATIENCE)
            self._process.kill()
            self._keeper.join()

    def dump(self) -> dict[str, Any] | None:
        """Its cached state now; None if it does not answer soon, because it is starting or ending."""
        if READY not in self.log.read_bytes()[self._begin :]:
            return None
        before, end = self.dumps.stat().st_size, monotonic() + SOON
        os.kill(self.pid, signal.SIGUSR2)
        while monotonic() < end:
            said = self.dumps.read_bytes()[before:]
            if said.endswith(b"\n"):
                found: dict[str, Any] = json.loads(said.splitlines()[-1])
                return found
            sleep(0.02)
        return None
