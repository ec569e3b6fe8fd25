"""A cluster of files as `place`, `explain` and `tree` read it: its options, and a snapshot made of them.

    nodes ─▶ selector ─┬─▶ levels ─▶ snapshot ◀─ usage by pods
                       └─▶ levels suggested from labels, if none are given

Reading goes to stderr where there is something to say; stdout belongs to the command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from ..cluster.files import STDIN
from ..dialects.cloud_labels import OUR_POOL, is_written_by_cloud
from ..model.gates import PROFILES, Gates
from ..model.mistake import InputError, Mistake, refuse
from ..model.shape import Toleration
from ..model.topology import Topology
from ..observe.columns import reorder
from ..observe.levels import Flavor, levels_from_text, missing_levels, read_topology
from ..observe.nodes import Nodes, read_nodes
from ..observe.pods import read_pods
from ..state.snapshot import Snapshot
from ..state.table import NodeTable
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
        help="Nodes as `kubectl get nodes -o json` prints them, or pools in the compact form; - reads stdin.",
    )


OPTIONS = (
    click.option(
        "--pods",
        multiple=True,
        type=click.Path(),
        metavar="FILE|DIR|-",
        help="Pods that run already, as `kubectl get pods -A -o json` prints them.",
    ),
    click.option(
        "--topology",
        type=click.Path(),
        metavar="FILE",
        help="A Topology manifest, with its ResourceFlavor if that is there too; FILE#name picks one of several.",
    ),
    click.option("--levels", metavar="KEY,KEY,...", help="Node labels, coarse to fine, instead of a Topology."),
    SELECTOR,
    *GATES,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`nodes` are all that were read, in file order; `snapshot` has those that take part, in tree order.

    `tolerations` are those of the flavor, which every job placed through it has too.
    """

    snapshot: Snapshot
    nodes: Nodes
    topology: Topology
    gates: Gates
    tolerations: tuple[Toleration, ...] = ()


def cluster_options(command: F, required: bool = True) -> F:
    """The options above, as keyword arguments that `load` takes."""
    for option in reversed((_nodes(required), *OPTIONS)):
        command = option(command)
    return command


def file_options(command: F) -> F:
    """The same for a command that works without files as well, on a running cluster."""
    return cluster_options(command, required=False)


def check_stdin(
    nodes: Sequence[str], pods: Sequence[str] = (), topology: str | None = None, jobs: Sequence[str] = (), **_: Any
) -> None:
    """Standard input is gone once it was read: only one may ask for it."""
    asked = [("JOB.yaml", job) for job in jobs]
    asked += [("--nodes", path) for path in nodes] + [("--pods", path) for path in pods]
    asked += [("--topology", (topology or "").partition("#")[0])]
    wanting = [name for name, path in asked if path == STDIN]
    if len(wanting) > 1:
        text = f"standard input can be read only once, but {' and '.join(wanting)} ask for it"
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
) -> Loaded:
    """Read everything, warn of what is odd, refuse what is wrong.

    `wanted` are levels that jobs name: where levels are suggested, these are among them if any node has them all.
    """
    gates = gates_of(feature_gates, profile)
    check_stdin(nodes, pods, topology)
    if topology is not None and levels is not None:
        raise refuse("does not go with --topology", "give one of the two", what="--levels")
    labels = parse_selector(selector)
    told, flavor = read_topology(topology) if topology is not None else (None, None)
    told = levels_from_text(levels) if levels is not None else told
    with Progress("nodes") as tick:
        read = read_nodes(nodes, tick)
    _warn(read.warnings)
    chosen = _of_flavor(read.table, flavor) if flavor and not labels else select(read.table, labels)
    laid = told or suggested(chosen, wanted)
    _warn(missing_levels(chosen, laid, "--levels" if levels is not None else f"Topology {laid.name}"))
    snapshot = Snapshot(laid, chosen)
    if not len(snapshot.table):
        by_hand = not any(map(is_written_by_cloud, laid.levels))
        remedy = "label the nodes, or use fewer levels" if by_hand else "use fewer levels"
        raise refuse(f"no node has all of the levels {', '.join(laid.levels)}", remedy)
    _use(snapshot, read, pods)
    return Loaded(snapshot, read, laid, gates, flavor.tolerations if flavor else ())


def _of_flavor(table: NodeTable, flavor: Flavor) -> NodeTable:
    """The nodes that the flavor beside the Topology selects; all while its pool is still to be labelled."""
    chosen = ", ".join(f"{key}={value}" for key, value in flavor.labels.items())
    if OUR_POOL in flavor.labels and OUR_POOL not in table.labels:  # as `topology suggest` advises to label them
        text = f"no node has {chosen} yet, by which ResourceFlavor {flavor.name} selects: all nodes are taken"
        _warn([Mistake(text, "label them before the flavor is used")])
        return table
    click.echo(f"nodes are those of ResourceFlavor {flavor.name}: {chosen}; --selector chooses others", err=True)
    return select(table, flavor.labels, flavor.where, f"ResourceFlavor {flavor.name}: spec.nodeLabels")


def _use(snapshot: Snapshot, nodes: Nodes, pods: Sequence[str]) -> None:
    """Charge what is in use already."""
    columns = [nodes.used]
    if pods:
        with Progress("pods") as tick:
            read = read_pods(pods, nodes.table, tick)
        _warn(read.warnings)
        columns.append(read.used)
        snapshot.pin_columns(reorder(read.pinned, nodes.table.names, snapshot.table.names) if read.pinned else {})
    for used in columns:
        if used:
            snapshot.use_columns(reorder(used, nodes.table.names, snapshot.table.names))


def suggested(table: NodeTable, wanted: Collection[str] = ()) -> Topology:
    """Levels by the labels of nodes, where nobody says which."""
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
