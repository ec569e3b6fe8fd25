"""Loads a cluster from files for `place`, `explain` and `tree`: the options, and the snapshot built from them.

    nodes ─▶ selector ─┬─▶ levels ─▶ snapshot ◀─ usage by pods
                       └─▶ levels suggested from labels, if none are given

Notes and warnings go to stderr; stdout belongs to the command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import time
from typing import Any, TypeVar

import click
import numpy as np

from ..cluster.files import STDIN
from ..dialects.cloud_labels import OUR_POOL, is_written_by_cloud
from ..model.gates import PROFILES, Gates
from ..model.maintenance import Maintenance
from ..model.mistake import InputError, Mistake, refuse
from ..model.numa_settings import NumaSettings
from ..model.shape import Toleration
from ..model.topology import Topology
from ..observe.columns import reorder
from ..observe.file_windows import with_windows
from ..observe.file_zones import put_zones
from ..observe.levels import LevelSource, levels_from_text, missing_levels, read_topology
from ..observe.nodes import FileNodes, read_nodes
from ..observe.pods import read_pods
from ..state.columns import NodeColumns
from ..state.node_tree import node_columns
from ..state.snapshot import Laid, Snapshot
from ..state.table import NodeTable
from ..state.tree import sort_rows
from .options import GATES, gates_of
from .progress import Progress
from .selector import OPTION as SELECTOR
from .selector import parse_selector, select

F = TypeVar("F", bound=Callable[..., Any])


def _nodes(required: bool) -> Callable[[Any], Any]:
    return click.option(
        "--nodes",
        required=required,
        multiple=True,
        type=click.Path(),
        metavar="FILE|DIR|-",
        help="Nodes as `kubectl get nodes -o json` prints them, or pools in the compact form (blocks, racksPerBlock, …)"
        "; - reads stdin.",
    )


OPTIONS = (
    click.option(
        "--pods",
        multiple=True,
        type=click.Path(),
        metavar="FILE|DIR|-",
        help="Running pods, as `kubectl get pods -A -o json` prints them.",
    ),
    click.option(
        "--topology",
        type=click.Path(),
        metavar="FILE",
        help="A Topology manifest, optionally with its ResourceFlavor; FILE#name picks one of several.",
    ),
    click.option("--levels", metavar="KEY,KEY,...", help="Node labels, coarse to fine, used instead of a Topology."),
    SELECTOR,
    *GATES,
)


@dataclass(frozen=True, slots=True)
class LoadedNodes:
    """`nodes` are all nodes read, in file order; `snapshot` has the selected ones, in tree order.

    `tolerations` are the flavor's; every job placed through the flavor gets them.
    """

    snapshot: Snapshot
    nodes: FileNodes
    topology: Topology
    gates: Gates
    tolerations: tuple[Toleration, ...] = ()
    windows: tuple[Maintenance, ...] = ()
    """Maintenance windows in the files that are not over."""


def cluster_options(command: F, required: bool = True) -> F:
    """Add the options above; `load` takes them as keyword arguments."""
    for option in reversed((_nodes(required), *OPTIONS)):
        command = option(command)
    return command


def file_options(command: F) -> F:
    """The same options for a command that also works on a running cluster, without files."""
    return cluster_options(command, required=False)


def check_stdin(
    nodes: Sequence[str], pods: Sequence[str] = (), topology: str | None = None, jobs: Sequence[str] = (), **_: Any
) -> None:
    """Raise if more than one argument reads standard input, which can be read only once."""
    asked = [("JOB.yaml", job) for job in jobs]
    asked += [("--nodes", path) for path in nodes] + [("--pods", path) for path in pods]
    asked += [("--topology", (topology or "").partition("#")[0])]
    wanting = [name for name, path in asked if path == STDIN]
    if len(wanting) > 1:
        text = f"standard input can be read only once, but {' and '.join(wanting)} read it"
        raise refuse(text, "put all but one of them into files", what=STDIN)


def load(
    nodes: Sequence[str],
    pods: Sequence[str] = (),
    topology: str | None = None,
    levels: str | None = None,
    selector: Sequence[str] = (),
    feature_gates: str = "",
    profile: str = PROFILES[0],
    wanted: Collection[str] = (),
    read: FileNodes | None = None,
    config: str | None = None,
    over: NodeColumns | None = None,
) -> LoadedNodes:
    """Read everything, print warnings, raise on invalid input.

    `wanted` are the levels that jobs request: suggested levels include them if any node has them all. `read` are the
    nodes, if they were read already; `over` are their columns, if other trees are laid over them.
    """
    gates = gates_of(feature_gates, profile, config)
    check_stdin(nodes, pods, topology)
    if topology is not None and levels is not None:
        raise refuse("cannot be combined with --topology", "give one of the two", what="--levels")
    labels = parse_selector(selector)
    told, flavor = read_topology(topology) if topology is not None else (None, None)
    told = levels_from_text(levels) if levels is not None else told
    if read is None:
        with Progress("nodes") as tick:
            read = read_nodes(nodes, tick)
    if over is None:
        _warn(read.warnings)
    chosen = _of_flavor(read.table, flavor) if flavor and not labels else select(read.table, labels)
    laid = told or suggested(chosen, wanted)
    _warn(missing_levels(chosen, laid, "--levels" if levels is not None else f"Topology {laid.name}"))
    windows = _windows(read, gates)
    snapshot = Snapshot(laid, with_windows(chosen, windows)) if over is None else _laid_over(over, laid, chosen)
    if not len(snapshot.rows):
        by_hand = not any(map(is_written_by_cloud, laid.levels))
        remedy = "label the nodes, or use fewer levels" if by_hand else "use fewer levels"
        raise refuse(f"no node has all of the levels {', '.join(laid.levels)}", remedy)
    if over is None:
        _use(snapshot, read, pods, gates, config)
    return LoadedNodes(snapshot, read, laid, gates, flavor.tolerations if flavor else (), windows)


def _laid_over(columns: NodeColumns, topology: Topology, chosen: NodeTable) -> Snapshot:
    """A topology over these of the nodes of columns, which have their usage already."""
    among = np.isin(columns.table.names, chosen.names)
    return Snapshot(topology, Laid(columns, *sort_rows(topology, columns.table, among)))


def read_columns(
    gates: Gates,
    nodes: Sequence[str],
    pods: Sequence[str] = (),
    selector: Sequence[str] = (),
    config: str | None = None,
    **_: Any,
) -> tuple[Snapshot, FileNodes]:
    """The selected nodes as columns without a topology, with what runs on them, and everything read with them."""
    check_nodes(nodes)
    with Progress("nodes") as tick:
        read = read_nodes(nodes, tick)
    return columns_of(read, gates, pods, selector, config), read


def columns_of(
    read: FileNodes,
    gates: Gates,
    pods: Sequence[str] = (),
    selector: Sequence[str] = (),
    config: str | None = None,
) -> Snapshot:
    """The selected nodes as columns without a topology, with what runs on them."""
    _warn(read.warnings)
    columns = node_columns(with_windows(select(read.table, parse_selector(selector)), _windows(read, gates)))
    _use(columns, read, pods, gates, config)
    return columns


def check_nodes(nodes: Sequence[str], option: str = "--nodes") -> None:
    """Raise if no nodes are given: neither by the option that the command has for them nor among the files."""
    if not nodes:
        raise refuse("no nodes are given", f"add {option} FILE, or Nodes to the files", what=option)


def _windows(read: FileNodes, gates: Gates) -> tuple[Maintenance, ...]:
    return tuple(one for one in read.windows if "MaintenanceWindows" in gates and one.ends > time())


def _of_flavor(table: NodeTable, flavor: LevelSource) -> NodeTable:
    """The nodes that the Topology's flavor selects; all nodes while none has the pool label yet."""
    chosen = ", ".join(f"{key}={value}" for key, value in flavor.labels.items())
    if OUR_POOL in flavor.labels and OUR_POOL not in table.labels:  # `topology suggest` advises adding this label
        text = f"no node has the label {chosen} of ResourceFlavor {flavor.name} yet: using all nodes"
        _warn([Mistake(text, "label the nodes before you use the flavor")])
        return table
    click.echo(f"using the nodes of ResourceFlavor {flavor.name}: {chosen}; --selector selects others", err=True)
    return select(table, flavor.labels, flavor.where, f"ResourceFlavor {flavor.name}: spec.nodeLabels")


def _use(snapshot: Snapshot, nodes: FileNodes, pods: Sequence[str], gates: Gates, config: str | None) -> None:
    """Charge the usage of running pods, with their kinds and zones where these count, and of `used` in pools."""
    columns, zoned = [nodes.used], {}
    if pods:
        with Progress("pods") as tick:
            read = read_pods(pods, nodes.table, tick, "AllPodFilters" in gates, nodes.zones)
        zoned = read.zoned
        _warn(read.warnings)
        for (node, kind), count in read.kinds.items():
            snapshot.neighbours.use(node, kind, count)
        columns.append(read.used)
        snapshot.pin_columns(reorder(read.pinned, nodes.table.names, snapshot.table.names) if read.pinned else {})
    for used in columns:
        if used:
            snapshot.use_columns(reorder(used, nodes.table.names, snapshot.table.names))
    numa = _numa_settings(config)
    if nodes.zones and "NumaZones" in gates and numa.mode != "off":
        put_zones(snapshot.columns, nodes.zones, zoned, numa)


def _numa_settings(config: str | None) -> NumaSettings:
    from .configuration import configured

    return NumaSettings() if config is None else configured(config).settings.numa


def suggested(table: NodeTable, wanted: Collection[str] = ()) -> Topology:
    """The levels suggested from node labels, used when no option gives them."""
    from ..observe.suggest import suggest

    suggestion = suggest(table, wanted)
    if not suggestion.levels:
        remedy = "give --levels or --topology"
        raise InputError([Mistake(suggestion.text, remedy), *(Mistake(problem) for problem in suggestion.problems)])
    keys = ",".join(suggestion.levels)
    click.echo(f"levels taken from the nodes' labels; to pin them: --levels {keys}", err=True)
    for remark in suggestion.remarks:
        click.echo(f"note: {remark}", err=True)
    return Topology("suggested", tuple(suggestion.levels))


def _warn(warnings: Sequence[Mistake]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
