"""One server as a process: started, stopped, killed, and started again with the same command line.

It dies when its parent does, however that ends. The kernel counts the thread that started it as the parent, so a
server is started from a thread that stays. Ctrl-C reaches the parent alone, which stops servers in their order.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

HOST = "127.0.0.1"
PATIENCE = 120.0
STOP_PATIENCE = 15.0
PR_SET_PDEATHSIG = 1
PORTS = range(15000, 32000)
"""Below those that the kernel gives to outgoing connections: a server that is down for a moment finds its port free."""


class StartError(RuntimeError):
    """A server ended or was not ready in time; the text holds the end of its log."""


class Recipe(NamedTuple):
    """What to run, and the address that answers 200 when it is ready, with the certificate it has then."""

    command: list[str]
    ready: str
    certificate: Path | None = None


class Process:
    """A recipe and its running process, if there is one. Its output is appended to `log`."""

    def __init__(self, recipe: Recipe, log: Path) -> None:
        self.recipe, self.log = recipe, log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.log.stem} was never started"
        return self._process.pid

    @property
    def memory(self) -> int:
        """Bytes of resident memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def start(self) -> None:
        """Returns when it is ready."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.recipe.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
                preexec_fn=die_with(os.getpid()),
            )
        self.await_ready()

    def await_ready(self) -> None:
        end = monotonic() + PATIENCE
        while monotonic() < end and self.is_alive:
            if answers(self.recipe.ready, self.recipe.certificate):
                return
            sleep(0.05)
        state = f"did not answer {self.recipe.ready} within {PATIENCE:.0f} s" if self.is_alive else "ended"
        raise StartError(f"{self.log.stem} {state}:\n{tail(self.log)}")

    def stop(self) -> None:
        """Stop the process with SIGTERM, and wait for its end."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=STOP_PATIENCE)
            self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def die_with(parent: int) -> Callable[[], None]:
    """What a child does before it becomes the server: ask the kernel for a signal when its parent ends."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)

    def ask() -> None:
        if prctl is not None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def answers(url: str, certificate: Path | None = None) -> bool:
    try:
        context = ssl.create_default_context(cafile=certificate) if certificate else None
        with urllib.request.urlopen(url, timeout=5, context=context):
            return True
    except (OSError, urllib.error.URLError):
        return False


def tail(log: Path, characters: int = 3000) -> str:
    return log.read_text(errors="replace")[-characters:] if log.exists() else ""


def free_ports(count: int) -> list[int]:
    """Free ports; all are held until the last is known, so they differ."""
    with ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            port = random.SystemRandom().choice(PORTS)
            with suppress(OSError):
                held.enter_context(socket.socket()).bind((HOST, port))
                found.append(port)
        return found
