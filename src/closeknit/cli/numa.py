"""`closeknit numa`: NUMA zones of nodes, and what their kubelets would admit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..cluster.files import STDIN, documents, stdin_kept
from ..cluster.mistakes import SHOWN
from ..dialects.kueue.jobs import GivenJob
from ..dialects.nrt import keys
from ..dialects.nrt.reading import read_topology
from ..engine.policy import Policy
from ..model.mistake import refuse
from ..model.numa import NodeZones
from ..model.request import PodSet
from ..report.numa_check import NodeAnswer, answer_data, answer_lines, ask, ask_all
from .cluster import CONFIG, check_target
from .exit_codes import NOT_NOW, YES
from .inputs import read_columns
from .jobs import identity_of, jobs_of
from .numa_simulate import simulate
from .options import GATES, gates_of
from .output import OUTPUT, emit, write
from .rules import Given
from .target import OPTIONS as TARGET
from .target import follow, run, target_of

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

Found = tuple[str, dict[str, Any]]
F = TypeVar("F", bound=Callable[..., Any])


class WithDefault(click.Group):
    """A group whose first word may be a node: then its command `show` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=WithDefault)
def command() -> None:
    """NUMA zones of nodes: what is free, who is where, and what kubelets would admit.

    `closeknit numa [NODE]` shows zones; it is short for `closeknit numa show [NODE]`.

    \b
      closeknit numa
      closeknit numa worker-3 -w
      closeknit numa check train.yaml --nrt topologies.yaml
    """


command.add_command(simulate)


def rules_and_target(function: F) -> F:
    """The options for gates and for a running cluster."""
    for option in reversed((*GATES, *TARGET)):
        function = option(function)
    return function


@command.command()
@click.argument("node", required=False)
@click.option(
    "--cluster",
    multiple=True,
    type=click.Path(),
    metavar="FILE|DIR|-",
    help="Manifests with nodes, pods and NodeResourceTopologies, instead of a running cluster.",
)
@CONFIG
@click.option("-w", "--watch", is_flag=True, help="Keep running and redraw after every change; Ctrl-C stops.")
@rules_and_target
@OUTPUT
def show(
    node: str | None,
    cluster: tuple[str, ...],
    config: str | None,
    watch: bool,
    feature_gates: str,
    profile: str,
    output: str | None,
    **target: str | None,
) -> None:
    """Show the NUMA zones of nodes: what is free, who is where, distances and the kubelet's policy.

    What is free is what the scheduler counts with: the last report of a node, what came and went since, and the pods
    that are promised a place there. Where the report says something else, that is shown too, with the reason. Pods are
    in the zones that the node reported, that KAI's agent observed, or that are expected; the kubelet decides.

    -o wide adds options, managers and distances, and shows every node.

    \b
      closeknit numa
      closeknit numa worker-3 -w
      closeknit numa -o json
      closeknit numa --cluster cluster.yaml
    """
    from ..observe.zone_views import ZoneViews, zones_view
    from ..report.zones import zones_data, zones_lines
    from .zone_sources import check_node, cluster_of_files, view_of

    if watch and (cluster or output in ("json", "yaml")):
        raise refuse("draws a running cluster on the terminal", "omit --cluster and -o", what="--watch")
    given = Given.of(config, False, feature_gates, profile)
    check_target(cluster, target)

    def lines(view: ZoneViews) -> list[str]:
        found = list(zones_lines(view, wide=output == "wide" or bool(node)))
        return found or ["there are no nodes"]

    def tell(view: ZoneViews) -> None:
        check_node(view, node or "", [one.name for one in view.nodes])
        if output in ("json", "yaml"):
            emit(zones_data(view), output)
        else:
            write(lines(view))

    if cluster:
        state = cluster_of_files(cluster, given)
        tell(zones_view(state.cache.world, state.cache.now(), (node,) if node else (), is_watching=False))
        return
    chosen = target_of(**target)

    async def once(client: Client) -> None:
        tell(await view_of(client, given, node or ""))

    async def again(client: Client) -> None:
        from .zone_watch import redraw

        await redraw(client, given, node or "", lines)

    if watch:
        follow(chosen, again)
    else:
        run(chosen, once)


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--nodes",
    multiple=True,
    type=click.Path(),
    metavar="FILE|DIR|-",
    help="Nodes as `kubectl get nodes -o yaml` prints them, or pools; NodeResourceTopologies may be among them.",
)
@click.option("--pods", multiple=True, type=click.Path(), metavar="FILE|DIR|-", help="The pods that run on --nodes.")
@click.option(
    "--nrt",
    multiple=True,
    type=click.Path(),
    metavar="FILE|DIR|-",
    help="NodeResourceTopologies, as `kubectl get noderesourcetopologies -o yaml` prints them; - reads stdin.",
)
@CONFIG
@rules_and_target
@OUTPUT
def check(
    files: tuple[str, ...],
    nodes: tuple[str, ...],
    pods: tuple[str, ...],
    nrt: tuple[str, ...],
    output: str | None,
    config: str | None,
    feature_gates: str,
    profile: str,
    **target: str | None,
) -> int:
    """Show whether kubelets would admit the pods of a job, and in which zones.

    FILE contains jobs or pods. Every node is asked by itself how many of the pods it would take one after another. For
    the first that it refuses there are the words of the kubelet, and what each zone has of every resource that the
    container asks for. The exit code is 3 if no node admits a pod.

    On a running cluster, and with --nodes, the node's free resources, taints and selectors count, with what runs there
    and is promised. With --nrt alone, or NodeResourceTopologies among the files, only the reports are looked at.

    \b
      closeknit numa check train.yaml
      closeknit numa check train.yaml --nodes nodes.yaml --nrt topologies.yaml
      kubectl get noderesourcetopologies -o yaml | closeknit numa check train.yaml --nrt -
    """
    check_target([*nodes, *nrt], target, "--nodes" if nodes else "--nrt")
    if pods and not nodes:
        raise refuse("requires --nodes", "add --nodes FILE, or remove it", what="--pods")
    given = Given.of(config, False, feature_gates, profile)
    gates = gates_of(feature_gates, profile, config)
    with stdin_kept() if STDIN in (*files, *nrt, *nodes) else nullcontext():
        objects = [pair for path in files for pair in documents(path)]
        reported = _reports([*objects, *(pair for path in nrt for pair in documents(path))], bool(nrt) and not nodes)
        jobs = jobs_of([one for one in objects if one[1]["kind"] != keys.KIND], files, gates)
        if nodes:
            snapshot, read = read_columns(gates, (*nodes, *nrt), pods, config=config)
            reports, policy = {**read.zones}, Policy.of(gates)
            answers = _asked(jobs, lambda one: ask_all(snapshot, policy, one, reports))
        elif reported:
            answers = _asked(jobs, lambda one: [ask(node, one) for node in reported])
        else:
            answers = run(target_of(**target), lambda client: _on_cluster(client, given, jobs))
    return _tell(answers, output)


Answers = list[tuple[GivenJob, PodSet, list[NodeAnswer]]]


def _asked(jobs: Sequence[GivenJob], asker: Callable[[PodSet], list[NodeAnswer]]) -> Answers:
    return [(job, pods, asker(pods)) for job in jobs for pods in job.request.pod_sets]


async def _on_cluster(client: Client, given: Given, jobs: Sequence[GivenJob]) -> Answers:
    from .zone_sources import cluster_of

    world = (await cluster_of(client, given)).cache.world
    if not world.nodes:
        raise refuse("the cluster has no nodes", "apply some, or give --nodes FILE")
    return _asked(jobs, lambda one: ask_all(world.mirror.by_node, world.policy, one, world.zones))


def _tell(answers: Answers, output: str | None) -> int:
    if output in ("json", "yaml"):
        emit([_data(job, pods.name, pods.count, some) for job, pods, some in answers], output)
    else:
        for job, pods, some in answers:
            count = f"{pods.count} pod{'s' * (pods.count != 1)}"
            click.echo(f"{job.kind} {job.name}, pod set {pods.name}: {count} of QoS class {pods.shape.qos}")
            write(answer_lines(pods, some))
    return YES if all(any(one.admits for one in some) for _, _, some in answers) else NOT_NOW


def _reports(objects: Sequence[Found], is_needed: bool) -> list[NodeZones]:
    """The zones of all nodes; mistakes in a report are told, and concern that node only."""
    found = [read_topology(raw, where) for where, raw in objects if raw["kind"] == keys.KIND]
    if not found and is_needed:
        raise refuse(f"there is no {keys.KIND} among the files", "give some with --nrt FILE")
    mistakes = [mistake for node in found for mistake in node.mistakes]
    for mistake in mistakes[:SHOWN]:
        click.echo(f"warning: {mistake}", err=True)
    if len(mistakes) > SHOWN:
        click.echo(f"warning: and {len(mistakes) - SHOWN} more", err=True)
    return found


def _data(job: GivenJob, name: str, count: int, answers: Sequence[NodeAnswer]) -> Mapping[str, Any]:
    return {**identity_of(job), "podSet": name, "pods": count, "nodes": [answer_data(one) for one in answers]}
