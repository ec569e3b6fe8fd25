"""The interface of a host that the live view, metrics and the decision log use, so that they work on every host.

A runtime is whatever runs a control plane: the embedded cluster in real or virtual time, or the controller of a
Kubernetes API server. Most of what they show is read from the control plane itself; `vitals` has what differs between
hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

from ..cluster.kinds import Kind
from ..cluster.port import Change
from ..controller.control_plane import ControlPlane
from .decisions import Decisions
from .rules import HostOptions

Role = Literal["standalone", "leader", "follower"]


class Vitals(NamedTuple):
    """`role` is what Kueue's metrics call `replica_role`. `decides`: whether this process is the one that decides now.

    `watch_restarts`: how often the watch of each resource was restarted after a failure.
    """

    role: Role = "standalone"
    decides: bool = True
    watch_restarts: Mapping[str, int] = {}


class ChangeListener(Protocol):
    """Sees changes and writes nothing. `watches` names the kinds whose changes it wants to see."""

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def see(self, change: Change) -> None: ...


class Runtime(Protocol):
    @property
    def control_plane(self) -> ControlPlane: ...

    @property
    def decisions(self) -> Decisions: ...

    @property
    def options(self) -> HostOptions: ...

    def now(self) -> float: ...

    def vitals(self) -> Vitals: ...

    def watch(self, watcher: ChangeListener) -> None:
        """Show it every change after the control plane has seen it; call this before the host starts."""
