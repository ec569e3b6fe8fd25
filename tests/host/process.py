"""The embedded host as a separate process that tests can talk to and kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType

from contract.client import Api

PATIENCE = 120.0
THIS = (sys.executable, "-m", "closeknit")


class HostProcess:
    """`closeknit up` on a folder; it ends with the test, however that ends."""

    def __init__(self, folder: Path, *options: str, program: Sequence[str] = THIS) -> None:
        self.folder = folder
        command = [*program, "up", "--data", str(folder), *options]
        self.output = (folder.parent / f"{folder.name}.log").open("ab")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output)
        self.api = self._reached()

    def _reached(self) -> Api:
        """Wait until the host answers under the address in its kubeconfig."""
        end, path = monotonic() + PATIENCE, self.folder / "kubeconfig"
        while monotonic() < end and self.process.poll() is None:
            with suppress(OSError, ValueError, KeyError, TypeError):
                api = Api.from_kubeconfig(path)
                if api.get("/readyz").status == 200:
                    return api
            sleep(0.02)
        self.stop()
        raise AssertionError(f"the host does not answer:\n{Path(self.output.name).read_text()[-2000:]}")

    def kill(self) -> None:
        """Kill the process with SIGKILL, as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.output.close()

    def stop(self) -> int:
        """Stop the process and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.output.close()
        return self.process.returncode

    def __enter__(self) -> HostProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
