"""By which rules a host decides, as it tells commands that ask: those must judge as it does."""

from __future__ import annotations

from typing import Protocol

import msgspec

from .. import __version__
from ..model.gates import Gates
from ..model.settings import Settings
from ..observe.live_jobs import Managed

NAME = "config"
"""Under which it is served, beside the decisions."""


class Rules(msgspec.Struct, rename="camel"):
    """`gates` are those that are on; `without_queue`: jobs that name no queue are held, too."""

    version: str
    gates: list[str]
    settings: Settings
    without_queue: bool = False

    @property
    def decided_by(self) -> Gates:
        return Gates(frozenset(self.gates))


class Options(Protocol):
    """Of any host."""

    @property
    def gates(self) -> Gates: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def managed(self) -> Managed: ...


def told(options: Options) -> bytes:
    gates = sorted(options.gates.enabled)
    return msgspec.json.encode(Rules(__version__, gates, options.settings, options.managed.without_queue))


def heard(body: bytes) -> Rules:
    return msgspec.json.decode(body, type=Rules)
