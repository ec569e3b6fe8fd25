"""The layout of a cluster's hosts for the live view: blocks of racks of hosts, by the levels of its topology.

With several topologies the first by name is drawn. The layout is computed again only when a host is added, removed or
relabelled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ..cluster.port import Change, Raw
from ..dialects import core
from ..dialects.own_marks import is_silent
from ..model.natural import natural
from ..model.resources import PODS
from ..model.topology import HOSTNAME, Path
from ..report.picture import HostState


class HostInfo(NamedTuple):
    """`room` is the host's capacity of its main resource."""

    labels: dict[str, str]
    state: HostState
    resource: str
    room: int


class Row(NamedTuple):
    """A rack: its name within the block, and its hosts."""

    name: str
    hosts: list[str]


class HostLayout:
    def __init__(self) -> None:
        self.machines: dict[str, HostInfo] = {}
        self._levels: dict[str, tuple[str, ...]] = {}
        self._rows: dict[str, list[Row]] | None = None

    def see_topology(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        self._rows = None
        self._levels.pop(name, None)
        if change.type != "DELETED":
            self._levels[name] = tuple(one["nodeLabel"] for one in change.object["spec"]["levels"])

    def see_node(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        before = self.machines.pop(name, None)
        if change.type != "DELETED":
            self.machines[name] = _machine(change.object)
        after = self.machines.get(name)
        if before is None or after is None or before.labels != after.labels:
            self._rows = None

    def place(self, name: str) -> Path:
        """The domains of a host, coarse to fine; none if it lacks the label of one level."""
        known = self.machines.get(name)
        levels = self._levels[min(self._levels)] if self._levels else ()
        path = [known.labels.get(level, "") for level in levels if level != HOSTNAME] if known is not None else []
        return tuple(path) if all(path) else ()

    def rows(self) -> dict[str, list[Row]]:
        """The racks of every block, in natural order."""
        if self._rows is None:
            found: dict[str, dict[str, list[str]]] = {}
            for path, name in sorted(((self.place(name), name) for name in self.machines), key=_in_order):
                block, rack = "/".join(path[:-1]), path[-1] if path else ""
                found.setdefault(block, {}).setdefault(rack, []).append(name)
            self._rows = {
                block: [Row(_short(rack, block), hosts) for rack, hosts in racks.items()]
                for block, racks in found.items()
            }
        return self._rows

    def covering(self, hosts: Iterable[str]) -> str:
        """The smallest domain that holds all these hosts, or the number of coarsest domains that they span."""
        paths = {self.place(host) for host in hosts}
        depth = min(map(len, paths), default=0)
        while depth and len({path[:depth] for path in paths}) > 1:
            depth -= 1
        if depth:
            return next(iter(paths))[depth - 1]
        tops = {path[:1] for path in paths}
        return f"{len(tops)} places" if len(tops) > 1 else ""


def _in_order(host: tuple[Path, str]) -> tuple[Any, ...]:
    path, name = host
    return tuple(map(natural, path)), natural(name)


def main_resource(names: Iterable[str]) -> str:
    """The resource to show: an accelerator if there is one, else cpu."""
    ordered = sorted(names, key=lambda name: ("/" not in name, name != "cpu", name == PODS, name))
    return ordered[0] if ordered else PODS


def _machine(raw: Raw) -> HostInfo:
    node = core.node(msgspec.convert(raw, core.WireNode))
    state: HostState = "up"
    if not node.ready:
        state = "lost" if _has_reported(raw) else "held"
    elif is_silent(raw["metadata"].get("annotations") or {}):
        state = "silent"
    elif node.unschedulable:
        state = "held"
    resource = main_resource(name for name, amount in node.allocatable.items() if amount)
    return HostInfo(dict(node.labels), state, resource, node.allocatable.get(resource, 0))


def _has_reported(raw: Raw) -> bool:
    """Whether the node has ever reported its status; a node that has just joined is not lost."""
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" for one in conditions)


def _short(name: str, above: str) -> str:
    """The name without its parent's name: _short("b1-r2", "b1") == "r2"."""
    return name.removeprefix(f"{above.rpartition('/')[2]}-") if above else name
