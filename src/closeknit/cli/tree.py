"""`closeknit tree`: show the data centre with free and used capacity per domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..model.mistake import refuse
from ..model.nearest import did_you_mean
from ..report.census import Census
from ..report.outline import default_level, outline, outline_json
from ..report.svg import draw
from ..report.zone_outline import LEVEL as ZONES
from ..report.zone_outline import ZonesOfLeaves
from .cluster import check_target
from .group_inputs import GivenFiles, given_files
from .inputs import file_options, load
from .output import OUTPUT, emit, write
from .rules import Given
from .target import follow, run, target_of, target_options
from .trees import nodes_of, read_trees, tell_distance

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..observe.cluster_cache import ClusterCache
    from .flavor_rooms import FlavorRoom, Wanted


@click.command()
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE...]")
@file_options
@click.option(
    "--distance",
    nargs=2,
    metavar="A B",
    help="Print the number of edges between two nodes or domains, in each topology, instead of the tree.",
)
@click.option("--level", help="The lowest level to show; numa: NUMA zones below hosts; default: what fits.")
@click.option("--resource", help="The resource that the bars count; default: the scarcest one; -o wide shows all.")
@click.option("--flavor", help="On a running cluster: show only this ResourceFlavor.")
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw the tree into this SVG file.")
@click.option("-w", "--watch", is_flag=True, help="Keep running and redraw after every change; Ctrl-C stops.")
@target_options
@OUTPUT
def command(
    files: tuple[str, ...],
    distance: tuple[str, str] | None,
    level: str | None,
    resource: str | None,
    flavor: str | None,
    svg: str | None,
    watch: bool,
    kubeconfig: str | None,
    context: str | None,
    data: str | None,
    output: str | None,
    **cluster: Any,
) -> int | None:
    """Show the data centre with free and used capacity per domain.

    On a running cluster, shows one tree per ResourceFlavor with a topology; admitted workloads count as used capacity
    even before their pods run. With --levels or --selector, shows the cluster's nodes in a tree of your choice. With
    --nodes, reads nodes from files.

    FILE holds Topologies of KAI or Kueue, HyperNodes of Volcano, ClusterTopologies of Grove, and Nodes and Pods; they
    may also be among the --nodes. One tree is shown for each topology, or for --topology NAME alone. A tree of
    HyperNodes with a mistake is not shown: the mistakes are, and the exit code is 2.

    --distance counts the edges of the tree between two nodes or domains; zone-a/rack-1 is rack-1 of zone-a.

    \b
      closeknit tree
      closeknit tree -w --level rack
      closeknit tree --nodes nodes.yaml
      closeknit tree --nodes nodes.yaml --level cloud.provider.com/topology-rack --resource cpu
      closeknit tree --nodes nodes.json --pods pods.json --svg cluster.svg
      closeknit tree hypernodes.yaml --nodes nodes.yaml
      closeknit tree topology.yaml --nodes nodes.yaml --distance node-1 rack-7
    """
    target = {"kubeconfig": kubeconfig, "context": context, "data": data}
    view = View(level, resource, output)
    if watch and (svg or output in ("json", "yaml") or cluster["nodes"]):
        raise refuse("draws a running cluster on the terminal", "omit --nodes, --svg and -o", what="--watch")
    if cluster["nodes"] or files or distance:
        check_target(cluster["nodes"], {**target, "flavor": flavor}, "--nodes")
        return _of_files(view, given_files(files), distance, svg, cluster)
    chosen = target_of(**target)
    wanted = _wanted(flavor, cluster)
    given = Given.of(None, False, cluster["feature_gates"], cluster["profile"])

    async def once(client: Client) -> None:
        from .flavor_rooms import READ, FlavorRooms, titles
        from .live import known

        rules = await given.on(client)
        found = FlavorRooms(wanted).of(await known(client, READ, rules.gates, rules.settings))
        view.show(_censuses(found), titles(found), svg)

    async def again(client: Client) -> None:
        from time import time

        from ..observe.cluster_cache import ClusterCache
        from .flavor_rooms import READ, FlavorRooms, titles
        from .live import Watching

        rooms = FlavorRooms(wanted)

        def picture(knows: ClusterCache) -> list[str]:
            found = rooms.of(knows)
            return [line for line, _ in view.pictures(_censuses(found), titles(found))]

        rules = await given.on(client)
        known = ClusterCache(rules.gates, rules.settings, time, all_pods=True)
        await Watching(client, READ, known, picture).run()

    if watch:
        follow(chosen, again)
    else:
        run(chosen, once)
    return None


def _of_files(
    view: View, given: GivenFiles, distance: tuple[str, str] | None, svg: str | None, cluster: dict[str, Any]
) -> int:
    """Show every topology of the files, or else one tree of the levels that options or labels give."""
    nodes = nodes_of(given, cluster)
    if given.objects or nodes.trees or distance:
        trees = read_trees(given, nodes, cluster)
        if distance:
            return tell_distance(trees, distance, view.output)
        censuses = trees.censuses()
        titles = [name if len(censuses) > 1 else "" for name, _ in censuses]
        if censuses:
            view.show([("", census) for _, census in censuses], titles, svg)
        return trees.code
    loaded = load(**cluster, read=nodes)
    view.show([("", Census.of(loaded.snapshot))], [""], svg)
    return 0


def _wanted(flavor: str | None, cluster: dict[str, Any]) -> Wanted:
    from ..observe.levels import levels_from_text, read_topology
    from .flavor_rooms import Wanted
    from .selector import parse_selector

    if cluster["pods"]:
        raise refuse("requires --nodes", "add --nodes FILE, or remove it", what="--pods")
    if cluster["topology"] and cluster["levels"]:
        raise refuse("cannot be combined with --topology", "give one of the two", what="--levels")
    labels = parse_selector(cluster["selector"])
    told = levels_from_text(cluster["levels"]) if cluster["levels"] else None
    if cluster["topology"]:
        told = read_topology(cluster["topology"])[0]
    if flavor and (told or labels):
        raise refuse("has its own levels and nodes", "omit --levels, --topology and --selector", what="--flavor")
    return Wanted(flavor or "", told, labels)


def _censuses(found: Sequence[FlavorRoom]) -> list[tuple[str, Census]]:
    return [(room.flavor, Census.of(room.snapshot)) for room in found]


Named = Sequence[tuple[str, Census]]


class View:
    """How to show trees: down to which level, and counting which resource."""

    def __init__(self, level: str | None, resource: str | None, output: str | None) -> None:
        self.level, self.resource, self.output = level, resource, output

    def show(self, censuses: Named, titles: Sequence[str], svg: str | None) -> None:
        self._check_level(censuses)
        if svg:
            self._draw(censuses, svg)
        if self.output in ("json", "yaml"):
            trees = [self._data(flavor, census) for flavor, census in censuses]
            emit(trees[0] if len(trees) == 1 else trees, self.output)
            return
        pictures = list(self.pictures(censuses, titles))
        write(line for line, is_hint in pictures if not is_hint)
        for line, is_hint in pictures:
            if is_hint:
                click.echo(line, err=True)

    def pictures(self, censuses: Named, titles: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """The lines, each with whether it is a hint."""
        self._check_level(censuses)
        for number, ((_, census), title) in enumerate(zip(censuses, titles, strict=True)):
            if title:
                yield from [("", False)] if number else []
                yield title, False
            levels, deepest = census.tree.topology.levels, self._deepest(census)
            shown = default_level(census) if deepest is None else deepest
            lines = outline(census, shown, self._resource(census), self.output == "wide", self._zones(census))
            yield from ((line, False) for line in lines)
            if deepest is None and shown < len(levels) - 1:
                yield f"--level {levels[shown + 1]} shows {len(census.nodes[shown + 1])} more domains", True

    def _draw(self, censuses: Named, svg: str) -> None:
        if len(censuses) > 1:
            raise refuse("draws only one tree", "choose one with --flavor or --topology NAME", what="--svg")
        (_, census), *_ = censuses
        picture = draw(census, self._resource(census), self._deepest(census))
        Path(svg).write_text(picture, encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)

    def _data(self, flavor: str, census: Census) -> dict[str, Any]:
        deepest = self._deepest(census)
        self._resource(census)
        lowest = census.tree.topology.lowest if deepest is None else deepest
        tree = outline_json(census, lowest, self._zones(census))
        return {"flavor": flavor, **tree} if flavor else tree

    def _resource(self, census: Census) -> str:
        chosen = self.resource or census.scarcest()
        if chosen not in census.resources:
            raise _unknown("--resource", "resource", chosen, census.resources)
        return chosen

    def _check_level(self, censuses: Named) -> None:
        """Raise if no tree has the level; the trees that lack it are shown as without --level."""
        if self.level is not None and all(self._deepest(census) is None for _, census in censuses):
            if self.level == ZONES:
                remedy = "give NodeResourceTopologies with the nodes, and levels that end with kubernetes.io/hostname"
                raise refuse("no NUMA zones of nodes are known", remedy, what="--level")
            known = dict.fromkeys(level for _, census in censuses for level in census.tree.topology.levels)
            raise _unknown("--level", "level", self.level, list(known))

    def _zones(self, census: Census) -> ZonesOfLeaves | None:
        return census.zones if self.level == ZONES else None

    def _deepest(self, census: Census) -> int | None:
        if self.level == ZONES:
            return census.tree.topology.lowest if census.zones is not None else None
        return None if self.level is None else _level(self.level, census.tree.topology.levels)


def _level(key: str, levels: tuple[str, ...]) -> int | None:
    """A level by its key or the end of its key: `rack` for example.com/topology-rack; None if not exactly one fits."""
    exact = [number for number, level in enumerate(levels) if level == key]
    ending = [number for number, level in enumerate(levels) if level.endswith(("/" + key, "-" + key))]
    found = exact or ending
    return found[0] if len(found) == 1 else None


def _unknown(option: str, kind: str, given: str, known: list[str]) -> Exception:
    remedy = f"{did_you_mean(given, known)}known: {', '.join(known)}"
    return refuse(f'unknown {kind} "{given}"', remedy, what=option)
