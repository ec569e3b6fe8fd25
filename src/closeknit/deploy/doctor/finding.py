"""The finding of a check: one line, and the remedy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import NamedTuple

from ...cluster.kube.client import Client
from ...cluster.kube.discovery import Served
from ..marks import Raw
from ..objects import InstallOptions

ZonesAsker = Callable[[], Awaitable[Raw | None]]


class FindingLevel(IntEnum):
    """`WARNING`: it works, but only in part or not for long. `PROBLEM`: something does not work."""

    OK = 0
    WARNING = 1
    PROBLEM = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class Finding(NamedTuple):
    check: str
    state: FindingLevel
    text: str
    remedy: str = ""


class Patient(NamedTuple):
    """The cluster to check. `wishes` are the options of its installation, as far as they can be read.

    `command` renders a command for the user to run; `now` is in seconds since 1970. `zones` asks the control plane what
    it knows of NUMA zones.
    """

    client: Client
    served: Served
    wishes: InstallOptions
    now: Callable[[], float]
    command: Callable[..., str]
    zones: ZonesAsker | None = None

    @property
    def namespace(self) -> str:
        return self.wishes.namespace

    @property
    def lease(self) -> str:
        return self.wishes.lease


def ok(check: str, text: str) -> Finding:
    return Finding(check, FindingLevel.OK, text)


def warning(check: str, text: str, remedy: str = "") -> Finding:
    return Finding(check, FindingLevel.WARNING, text, remedy)


def problem(check: str, text: str, remedy: str = "") -> Finding:
    return Finding(check, FindingLevel.PROBLEM, text, remedy)


def few(names: list[str], most: int = 5) -> str:
    """a, b, c and 7 more"""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
