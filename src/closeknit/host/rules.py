"""The configuration that a host decides by, served to commands, which have to reach the same verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import msgspec

from .. import __version__
from ..model.cluster_queue import Selector
from ..model.gates import Gates
from ..model.settings import Settings
from ..observe.live_jobs import Managed

NAME = "config"
"""The path under which it is served, next to the decisions."""


class HostRulesInForce(msgspec.Struct, rename="camel"):
    """`gates` are the enabled ones; `without_queue`: jobs without a queue name are managed too.

    `frameworks` and `namespaces` select the jobs that the host manages; hosts of older versions omit them.
    """

    version: str
    gates: list[str]
    settings: Settings
    without_queue: bool = False
    frameworks: list[str] | None = None
    namespaces: Selector | None = None

    @property
    def decided_by(self) -> Gates:
        return Gates(frozenset(self.gates))

    @property
    def managed(self) -> Managed:
        usual = Managed(self.without_queue)
        frameworks = usual.frameworks if self.frameworks is None else frozenset(self.frameworks)
        return replace(usual, frameworks=frameworks, namespaces=self.namespaces or usual.namespaces)


class HostOptions(Protocol):
    """The options that every host has."""

    @property
    def gates(self) -> Gates: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def managed(self) -> Managed: ...


def encode(options: HostOptions) -> bytes:
    gates, managed = sorted(options.gates.enabled), options.managed
    rules = HostRulesInForce(
        __version__, gates, options.settings, managed.without_queue, sorted(managed.frameworks), managed.namespaces
    )
    return msgspec.json.encode(rules)


def decode(body: bytes) -> HostRulesInForce:
    return msgspec.json.decode(body, type=HostRulesInForce)
