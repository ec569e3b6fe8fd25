"""`closeknit controller` as a separate process that a test can observe and kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from servers.failure_logs import ALSO

PATIENCE = 120.0


class ControllerProcess:
    """Logs to the file `log`; a failing test shows its end."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str, **environ: str) -> None:
        self.log = log
        ALSO.add(log)
        command = [sys.executable, "-m", "closeknit", "controller", "--kubeconfig", str(kubeconfig), *options]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **environ}
            )

    def until_said(self, text: str, within: float = PATIENCE) -> None:
        end = monotonic() + within
        while text not in self.said:
            if monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f'"{text}" was not said:\n{self.said}')
            sleep(0.05)

    @property
    def said(self) -> str:
        return self.log.read_text()

    def ended(self, within: float = PATIENCE) -> int:
        """Wait until it exits by itself; its exit code."""
        return self.process.wait(within)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        """Kill it without any cleanup, as a crash would."""
        self.process.kill()
        self.process.wait()
        ALSO.discard(self.log)
