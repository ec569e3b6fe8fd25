"""What pictures, metrics and decisions need of a host, so that they work on every host alike.

A runtime is whatever runs a control plane: the embedded cluster, in real or in virtual time, and the controller on a
Kubernetes API server. What people look at is made from the control plane itself; only what differs from host to host is
asked of the host, in `vitals`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

from ..cluster.kinds import Kind
from ..cluster.port import Change
from ..controller.control_plane import ControlPlane
from .decisions import Decisions
from .rules import Options

Role = Literal["standalone", "leader", "follower"]


class Vitals(NamedTuple):
    """`role` is what Kueue's metrics call `replica_role`. `decides`: whether this process is the one that decides now.

    `watch_restarts`: how often the watch of a resource was begun again after a failure.
    """

    role: Role = "standalone"
    decides: bool = True
    watch_restarts: Mapping[str, int] = {}


class Watcher(Protocol):
    """Looks on without writing. `watches` names the kinds whose changes it wants to see."""

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def see(self, change: Change) -> None: ...


class Runtime(Protocol):
    @property
    def control_plane(self) -> ControlPlane: ...

    @property
    def decisions(self) -> Decisions: ...

    @property
    def options(self) -> Options: ...

    def now(self) -> float: ...

    def vitals(self) -> Vitals: ...

    def watch(self, watcher: Watcher) -> None:
        """Show it every change, after the control plane has seen it; to be called before the host begins."""
