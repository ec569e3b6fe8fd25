"""`closeknit topology`: propose a topology from node labels, as a table and as manifests."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import gate_options, gates_of
from .output import OUTPUT, emit
from .progress import Progress
from .selector import OPTION as SELECTOR
from .selector import parse_selector, select

if TYPE_CHECKING:
    from ..observe.suggest import SuggestedLevel, Suggestion

REFUSED = 3
WIDTH = 100
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@click.group()
def command() -> None:
    """Propose a topology from node labels.

    A topology is a list of node labels, coarse to fine, such as block, rack, host.

    \b
      closeknit topology suggest --nodes nodes.yaml
    """


def _checked_name(_context: click.Context, _option: click.Parameter, name: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise click.BadParameter(f'"{name}" is not a valid object name: use a-z, 0-9, "-" and "."')
    return name


@command.command()
@click.option(
    "--nodes",
    required=True,
    multiple=True,
    type=click.Path(),
    metavar="FILE|DIR|-",
    help="Nodes as kubectl prints them; - reads stdin.",
)
@click.option(
    "--name", default="default", show_default=True, callback=_checked_name, help="The name of the proposed objects."
)
@click.option("--levels", metavar="KEY,KEY,...", help="Use these labels, coarse to fine, instead of guessing.")
@click.option(
    "--for",
    "scheduler",
    type=click.Choice(["kueue", "kai"]),
    default="kueue",
    show_default=True,
    help="kai: propose a Topology of KAI-Scheduler.",
)
@SELECTOR
@gate_options
@OUTPUT
def suggest(
    nodes: tuple[str, ...],
    name: str,
    levels: str | None,
    scheduler: str,
    selector: tuple[str, ...],
    feature_gates: str,
    profile: str,
    output: str | None,
) -> int:
    """Propose a Topology and a ResourceFlavor from node labels.

    Recognizes the labels of GKE, EKS, OCI, CoreWeave, Topograph and the GPU operator, zones, and labels that end in
    datacenter, block, subblock or rack. If labels contradict each other, nothing is guessed: the exit code is 3 and
    the message names the nodes and labels. If only some nodes have accelerators, their labels decide; --selector
    limits the proposal to the nodes of one pool.

    \b
      kubectl get nodes -o yaml > nodes.yaml
      closeknit topology suggest --nodes nodes.yaml
      closeknit topology suggest --nodes nodes.yaml --selector eks.amazonaws.com/nodegroup=gpu
      closeknit topology suggest --nodes nodes.yaml -o yaml > topology.yaml
      closeknit tree --nodes nodes.yaml --topology topology.yaml

    To apply it to a cluster directly:

    \b
      kubectl get nodes -o yaml | closeknit topology suggest --nodes - -o yaml | kubectl apply -f -
    """
    gates_of(feature_gates, profile)  # gates have no effect here, but an unknown one is an error everywhere
    from ..observe.levels import levels_from_text, missing_levels
    from ..observe.nodes import read_nodes
    from ..observe.suggest import suggest as from_labels
    from ..observe.suggest import suggest_from_keys

    told = None if levels is None else levels_from_text(levels)
    labels = parse_selector(selector)
    with Progress("nodes") as tick:
        read = read_nodes(nodes, tick)
    table = select(read.table, labels)
    if told is None:
        suggestion = from_labels(table, selector=labels)
    else:
        missing_levels(table, told, "--levels")  # raises for a level that no node has; the rest is reported below
        suggestion = suggest_from_keys(table, told.levels, labels)
    for warning in read.warnings:
        click.echo(f"warning: {warning}", err=True)
    manifests = suggestion.manifests(name, scheduler == "kai")
    if scheduler == "kai":
        suggestion = suggestion.without_flavor()
    if output == "json":
        emit(_plain(suggestion, manifests), "json")
    else:
        _tell(suggestion, manifests, output)
    return 0 if suggestion.levels else REFUSED


def _tell(suggestion: Suggestion, manifests: Sequence[dict[str, Any]], output: str | None) -> None:
    """Print the proposal; with `-o yaml`, stdout has only the manifests."""
    aside = output == "yaml" or not suggestion.levels
    for line in _words(suggestion, wide=output == "wide"):
        click.echo(line, err=aside)
    if manifests and output != "yaml":
        click.echo("Manifests (-o yaml prints only these, for `kubectl apply -f -` or --topology FILE):\n")
    for index, manifest in enumerate(manifests):
        if index:
            click.echo("---")
        emit(manifest, "yaml")


def _words(suggestion: Suggestion, wide: bool) -> Iterator[str]:
    yield from _wrapped(suggestion.told)
    yield ""
    yield from _table(suggestion.picture, wide)
    yield from _list("Problems:", suggestion.problems)
    yield from _list("Remarks:", suggestion.remarks)


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A titled list with a blank line after it; nothing if it is empty."""
    items = [row for line in lines for row in _wrapped(line, "  - ", "    ")]
    if items:
        yield from (title, *items, "")


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """The text wrapped for a terminal; label keys are not broken, so that they can be copied."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def _table(levels: Iterable[SuggestedLevel], wide: bool) -> Iterator[str]:
    """The levels as an indented table, each with its number of domains.

    example.com/block              2  b1, b2
    └ example.com/rack             8  r1, r2, r3, …
      └ kubernetes.io/hostname    64  n1, n2, n3, …
    """
    rows = [("LEVEL", "DOMAINS", "NODES EACH", "EXAMPLES")]
    for depth, level in enumerate(levels):
        stair = "  " * (depth - 1) + "└ " if depth else ""
        nodes = str(level.smallest) if level.smallest == level.largest else f"{level.smallest}-{level.largest}"
        more = ", …" if level.values > len(level.examples) else ""
        rows.append((stair + level.key, f"{level.domains:,}", nodes, ", ".join(level.examples) + more))
    if len(rows) == 1:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        middle = f"  {row[2]:>{widths[2]}}" if wide else ""
        yield f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}{middle}  {row[3]}"
    yield ""


def _plain(suggestion: Suggestion, manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "text": suggestion.told,
        "levels": [
            {
                "nodeLabel": level.key,
                "domains": level.domains,
                "nodesPerDomain": {"smallest": level.smallest, "largest": level.largest},
                "examples": list(level.examples),
            }
            for level in suggestion.picture
        ],
        "nodeLabels": suggestion.node_labels,
        "problems": list(suggestion.problems),
        "remarks": list(suggestion.remarks),
        "manifests": list(manifests),
    }
