"""Reads nodes from files: the output of `kubectl get nodes`, pools in the compact form, or both.

The result is one table for all files, with the usage that the compact form gives. Two nodes with the same name or
hostname are refused, because placement would count one machine twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..cluster.files import check_size, decoded, identity, opened, shown
from ..cluster.mistakes import Mistakes
from ..cluster.typed import Tick, objects
from ..cluster.volumes import VOLUME_KINDS
from ..dialects import core
from ..dialects.field import Field
from ..dialects.kueue.objects.rules import check_maintenance
from ..dialects.maintenance import KIND, maintenance
from ..dialects.nrt import keys as nrt
from ..dialects.nrt.reading import read_topology
from ..model.maintenance import Maintenance
from ..model.mistake import InputError, Mistake, refuse
from ..model.node import Node
from ..model.numa import NodeZones
from ..model.resources import ABSURD, PODS
from ..model.topology import HOSTNAME
from ..state.table import MISSING, IntArray, NodeTable
from .columns import join, join_columns
from .pool_form import MAX_NODES, Pool, is_pool, read_pool
from .pool_nodes import zones_of_pool
from .pools import pool_table, pool_usage
from .quantities import bad_quantities

NAMED = 3
TREES = ("Topology", "HyperNode", "ClusterTopology")
"""Kinds that describe a tree over the nodes."""


@dataclass(frozen=True, slots=True)
class FileNodes:
    """`used` has a column per resource in the table's row order; it is empty if no usage is given."""

    table: NodeTable
    used: dict[str, IntArray] = field(default_factory=dict)
    warnings: list[Mistake] = field(default_factory=list)
    windows: list[Maintenance] = field(default_factory=list)
    trees: list[tuple[str, Any]] = field(default_factory=list)
    """Topologies and HyperNodes beside the nodes, each with its file."""
    volumes: list[tuple[str, Any]] = field(default_factory=list)
    """Claims, volumes and storage classes beside the nodes."""
    zones: dict[str, NodeZones] = field(default_factory=dict)
    """The NUMA zones of nodes, as NodeResourceTopologies beside them or pools tell."""


class FileNode(core.WireNode):
    kind: str | None = None


class _Part(NamedTuple):
    """The nodes of one file, or of one pool in it."""

    where: str
    table: NodeTable
    used: dict[str, IntArray]


def read_nodes(paths: Sequence[str], tick: Tick | None = None) -> FileNodes:
    """The nodes of all paths; all mistakes in them are raised together."""
    mistakes = Mistakes()
    warnings = _Warnings()
    parts: list[_Part] = []
    windows: list[Maintenance] = []
    others: list[tuple[str, Any]] = []
    reports: dict[str, NodeZones] = {}
    for path in paths:
        before = len(reports)
        found = list(_read(path, mistakes, warnings, windows, others, reports, tick))
        if not found and not mistakes and len(reports) == before:
            raise refuse("there is no Node in it", "give what kubectl get nodes -o json prints, or pools", shown(path))
        parts += found
    mistakes.check()
    if not parts:
        where = ", ".join(map(shown, paths))
        raise refuse("there is no Node in it", "give what kubectl get nodes -o json prints, or pools", where)
    table = join([part.table for part in parts])
    _check_unique(parts, table, mistakes)
    mistakes.check()
    used = join_columns([(len(part.table), part.used) for part in parts])
    trees = [one for one in others if one[1]["kind"] in TREES]
    volumes = [one for one in others if one[1]["kind"] not in TREES]
    told = [*warnings.as_list(), *_of_reports(reports, table)]
    return FileNodes(table, used, told, windows, trees, volumes, reports)


def _of_reports(reports: Mapping[str, NodeZones], table: NodeTable) -> Iterator[Mistake]:
    """Mistakes in reports, which concern these nodes only, and reports of nodes that were not given."""
    for one in reports.values():
        yield from one.mistakes
    strange = sorted(reports.keys() - set(table.names))
    if strange:
        text = f"NodeResourceTopologies of nodes that were not given: {len(strange)} ({name_some(strange)})"
        yield Mistake(text, "give their nodes, or remove them")


def holds_pools(path: str) -> bool:
    """Whether a file is in the compact form."""
    try:
        check_size(path)
        with opened(path) as pieces:
            first = next(iter(pieces), None)
            raw = None if first is None else decoded(path, pieces, first)
    except InputError:
        return False
    return is_pool(raw[0] if isinstance(raw, list) and raw else raw)


def name_some(names: Sequence[str], total: int | None = None) -> str:
    """name_some(["a", "b", "c", "d"]) == "a, b, c and 1 more" """
    more = (len(names) if total is None else total) - len(names[:NAMED])
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more else "")


def _read(
    path: str,
    mistakes: Mistakes,
    warnings: _Warnings,
    windows: list[Maintenance],
    others: list[tuple[str, Any]],
    reports: dict[str, NodeZones],
    tick: Tick | None,
) -> Iterator[_Part]:
    raw_pools: list[tuple[str, dict[str, Any]]] = []
    nodes: dict[str, list[Node]] = {}

    def stray(where: str, raw: Any) -> bool:
        if is_pool(raw):
            raw_pools.append((where, raw))
        return is_pool(raw)

    def window(where: str, raw: Any) -> None:
        checked = Field.root(raw, where, identity(raw))
        check_maintenance(checked)
        for mistake in checked.report.mistakes:
            mistakes.add(mistake)
        if not checked.report:
            windows.append(maintenance(raw))

    def report(where: str, raw: Any) -> None:
        zones = read_topology(raw, where)
        reports.setdefault(zones.node, zones)

    kept = (*TREES, *(kind.kind for kind in VOLUME_KINDS))
    beside = {KIND: window, nrt.KIND: report, **dict.fromkeys(kept, lambda where, raw: others.append((where, raw)))}
    for where, _, wire in objects(path, FileNode, "Node", mistakes, tick, stray, beside):
        node = _node(wire, where, mistakes)
        if node is not None:
            nodes.setdefault(where, []).append(node)
            warnings.check(node, wire)
    for where, of_file in nodes.items():
        yield _Part(where, NodeTable.of(of_file), {})
    yield from _pools(raw_pools, mistakes, reports)


def _node(wire: FileNode, where: str, mistakes: Mistakes) -> Node | None:
    if not wire.metadata.name:
        mistakes.add(Mistake("is missing", "give every Node a name", where, "Node", "metadata.name"))
        return None
    try:
        node = core.node(wire)
    except ValueError:
        node = None
    if node is None or not all(0 <= value <= ABSURD for value in node.allocatable.values()):
        what = f"Node {wire.metadata.name}"
        for mistake in bad_quantities(wire.status.allocatable, "status.allocatable", what, where):
            mistakes.add(mistake)
    return node


def _pools(
    raw_pools: Sequence[tuple[str, dict[str, Any]]], mistakes: Mistakes, reports: dict[str, NodeZones]
) -> Iterator[_Part]:
    pools: list[tuple[str, Pool]] = []
    for where, raw in raw_pools:
        if len(raw_pools) > 1 and not raw.get("name"):
            mistakes.add(Mistake("is missing", "give each of several pools a name", where, "pool", "name"))
        pool = read_pool(raw, where, mistakes)
        if pool is None:
            continue
        if pool.name and any(pool.name == other.name for _, other in pools):
            mistakes.add(Mistake("is used twice", "give each pool its own", where, f"pool {pool.name}", "name"))
        pools.append((where, pool))
    total = sum(pool.size for _, pool in pools)
    if total > MAX_NODES:
        text = f"{total:,} nodes are too many"
        mistakes.add(Mistake(text, f"make at most {MAX_NODES:,} nodes in all", pools[0][0], "pools"))
    if not mistakes:
        for place, (where, pool) in enumerate(pools):
            reports |= {one.node: one for one in zones_of_pool(pool)}
            yield _Part(where, pool_table(pool), pool_usage(pool, place))


def _check_unique(parts: Sequence[_Part], table: NodeTable, mistakes: Mistakes) -> None:
    """Report nodes that share a name or a hostname."""
    wheres = np.repeat(np.arange(len(parts)), [len(part.table) for part in parts])
    first: dict[str, int] = {}
    for row, name in enumerate(table.names):
        other = first.setdefault(name, row)
        if other != row:
            before, where = parts[wheres[other]].where, parts[wheres[row]].where
            text = "is used twice" if before == where else f"is in {before} already"
            mistakes.add(Mistake(text, "remove one of the two", where, f"Node {name}", "metadata.name"))
    column = table.labels.get(HOSTNAME)
    if column is None or mistakes:
        return
    shared = np.bincount(column.codes[column.codes != MISSING], minlength=len(column.values) + 1) > 1
    holder: dict[int, int] = {}
    for row in np.flatnonzero(shared[column.codes]).tolist():  # MISSING, which is -1, indexes the last entry: False
        code = int(column.codes[row])
        other = holder.setdefault(code, row)
        if other != row:
            before, where = parts[wheres[other]].where, parts[wheres[row]].where
            of_file = "" if before == where else f" of {before}"
            what = f"Node {table.names[other]}{of_file} and Node {table.names[row]}"
            text = f'have the same value "{column.values[code]}"'
            remedy = "give every node its own hostname"
            mistakes.add(Mistake(text, remedy, where, what, f"metadata.labels[{HOSTNAME}]"))


class _Warnings:
    """Nodes that cannot take pods: one warning per cause."""

    def __init__(self) -> None:
        self._without_ready: list[str] = []
        self._without_pods: list[str] = []

    def check(self, node: Node, wire: FileNode) -> None:
        if not any(condition.type == "Ready" for condition in wire.status.conditions or ()):
            self._without_ready.append(node.name)
        if not node.allocatable.get(PODS):
            self._without_pods.append(node.name)

    def as_list(self) -> list[Mistake]:
        return [
            Mistake(f"nodes without {what}, which take no pods: {len(names)} ({name_some(names)})", remedy)
            for names, what, remedy in (
                (
                    self._without_ready,
                    "a Ready condition",
                    "add status.conditions: [{type: Ready, status: 'True'}]",
                ),
                (self._without_pods, "pods in status.allocatable", "add pods: 110 there"),
            )
            if names
        ]
