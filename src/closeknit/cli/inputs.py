"""The cluster as every command reads it: its options, and a snapshot made of them.

    nodes ─┬─▶ selector ─▶ levels ─▶ snapshot ◀─ usage by pods
           └─▶ levels suggested from labels, if none are given

Reading goes to stderr where there is something to say; stdout belongs to the command.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from ..cluster.files import STDIN
from ..model.gates import PROFILES, Gates, parse_changes
from ..model.label_names import is_label_value, is_qualified_name
from ..model.mistake import InputError, Mistake, refuse
from ..model.topology import Topology
from ..observe.columns import reorder
from ..observe.levels import levels_from_text, missing_levels, read_topology
from ..observe.nodes import Nodes, read_nodes
from ..observe.pods import read_pods
from ..state.snapshot import Snapshot, with_labels
from ..state.table import NodeTable
from .progress import Progress

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--nodes",
        required=True,
        multiple=True,
        metavar="FILE|DIR|-",
        help="Nodes as `kubectl get nodes -o json` prints them, or pools in the compact form; - reads stdin.",
    ),
    click.option(
        "--pods",
        multiple=True,
        metavar="FILE|DIR|-",
        help="Pods that run already, as `kubectl get pods -A -o json` prints them.",
    ),
    click.option("--topology", metavar="FILE", help="A Topology manifest; FILE#name picks one of several."),
    click.option("--levels", metavar="KEY,KEY,...", help="Node labels, coarse to fine, instead of a Topology."),
    click.option(
        "--selector",
        multiple=True,
        metavar="KEY=VALUE",
        help="Only nodes with this label, as a flavor's nodeLabels; may be repeated.",
    ),
    click.option("--feature-gates", metavar="NAME=BOOL,...", default="", help="Switch gates; see `closeknit gates`."),
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        default=PROFILES[0],
        show_default=True,
        help="kueue: exactly what Kueue does, without our gates.",
    ),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`nodes` are all that were read, in file order; `snapshot` has those that take part, in tree order."""

    snapshot: Snapshot
    nodes: Nodes
    topology: Topology
    gates: Gates


def cluster_options(command: F) -> F:
    """The options above, as keyword arguments that `load` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def load(
    nodes: Sequence[str],
    pods: Sequence[str] = (),
    topology: str | None = None,
    levels: str | None = None,
    selector: Sequence[str] = (),
    feature_gates: str = "",
    profile: str = PROFILES[0],
) -> Loaded:
    """Read everything, warn of what is odd, refuse what is wrong."""
    gates = Gates.profile(profile, parse_changes(feature_gates))
    if [*nodes, *pods, topology].count(STDIN) > 1:
        raise refuse("standard input can be read only once", "use - for one of --nodes, --pods, --topology", what=STDIN)
    if topology is not None and levels is not None:
        raise refuse("does not go with --topology", "give one of the two", what="--levels")
    labels = _parse_selector(selector)
    told = read_topology(topology) if topology is not None else None
    told = levels_from_text(levels) if levels is not None else told
    with Progress("nodes") as tick:
        read = read_nodes(nodes, tick)
    _warn(read.warnings)
    chosen = with_labels(read.table, labels)
    if not len(chosen):
        raise _nothing_selected(read.table, labels)
    laid = told or _suggested(chosen)
    _warn(missing_levels(chosen, laid))
    snapshot = Snapshot(laid, chosen)
    if not len(snapshot.table):
        raise refuse(f"no node has all of the levels {', '.join(laid.levels)}", "label the nodes, or use fewer levels")
    _use(snapshot, read, pods)
    return Loaded(snapshot, read, laid, gates)


def _use(snapshot: Snapshot, nodes: Nodes, pods: Sequence[str]) -> None:
    """Charge what is in use already."""
    columns = [nodes.used]
    if pods:
        with Progress("pods") as tick:
            read = read_pods(pods, nodes.table, tick)
        _warn(read.warnings)
        columns.append(read.used)
    for used in columns:
        if used:
            snapshot.use_columns(reorder(used, nodes.table.names, snapshot.table.names))


def _suggested(table: NodeTable) -> Topology:
    from ..observe.suggest import suggest

    suggestion = suggest(table)
    if not suggestion.levels:
        remedy = "give --levels or --topology"
        raise InputError([Mistake(suggestion.text, remedy), *(Mistake(problem) for problem in suggestion.problems)])
    keys = ",".join(suggestion.levels)
    click.echo(f"levels taken from the nodes' labels; to pin them: --levels {keys}", err=True)
    for remark in suggestion.remarks:
        click.echo(f"note: {remark}", err=True)
    return Topology("suggested", tuple(suggestion.levels))


def _parse_selector(parts: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for part in (piece.strip() for text in parts for piece in text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not is_qualified_name(key) or not is_label_value(value):
            raise refuse(f'"{part}" is not a label', "write KEY=VALUE", what="--selector")
        if labels.setdefault(key, value) != value:
            raise refuse(f"wants two values of {key}, and a node has one", "drop one of them", what="--selector")
    return labels


def _nothing_selected(table: NodeTable, labels: Mapping[str, str]) -> InputError:
    """Which part of the selector is to blame, if one alone is."""
    for key, value in labels.items():
        column = table.labels.get(key)
        if column is None:
            return _no_such("label", key, list(table.labels))
        if value not in column.index:
            return _no_such(f"value of {key}", value, column.values)
    wanted = ", ".join(f"{key}={value}" for key, value in labels.items())
    return refuse(f"no node has all of {wanted}", "ask for fewer labels", what="--selector")


def _no_such(kind: str, given: str, known: Sequence[str]) -> InputError:
    near = difflib.get_close_matches(given, known, n=1, cutoff=0.0)
    remedy = f"did you mean {near[0]}?" if near else "the nodes have no labels at all"
    return refuse(f'no node has the {kind} "{given}"', remedy, what="--selector")


def _warn(warnings: Sequence[Mistake]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
