"""`closeknit numa`: NUMA zones of nodes, and what their kubelets would admit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import click

from ..cluster.files import STDIN, documents, stdin_kept
from ..cluster.mistakes import SHOWN
from ..dialects.kueue.jobs import GivenJob
from ..dialects.nrt import keys
from ..dialects.nrt.reading import read_topology
from ..model.mistake import refuse
from ..model.numa import NodeZones
from ..report.numa_check import NodeAnswer, answer_data, answer_lines, ask
from .exit_codes import NOT_NOW, YES
from .jobs import identity_of, jobs_of
from .numa_simulate import simulate
from .options import gates_of
from .output import OUTPUT, emit, write

Found = tuple[str, dict[str, Any]]


@click.group()
def command() -> None:
    """NUMA zones of nodes, and what their kubelets would admit.

    \b
      closeknit numa check train.yaml --nrt topologies.yaml
    """


command.add_command(simulate)


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--nrt",
    multiple=True,
    type=click.Path(),
    metavar="FILE|DIR|-",
    help="NodeResourceTopologies, as `kubectl get noderesourcetopologies -o yaml` prints them; - reads stdin.",
)
@OUTPUT
def check(files: tuple[str, ...], nrt: tuple[str, ...], output: str | None) -> int:
    """Show whether kubelets would admit the pods of a job, and in which zones.

    FILE contains jobs or pods; NodeResourceTopologies may be among them. Every node is asked by itself, as its last
    report describes it: how many of the pods its topology manager would admit one after another, and for the first that
    it refuses, the words of the kubelet and what each zone has for every resource that the container asks for. Room in
    the whole node, taints and selectors are not looked at. The exit code is 3 if no node admits a pod.

    \b
      closeknit numa check train.yaml --nrt topologies.yaml
      kubectl get noderesourcetopologies -o yaml | closeknit numa check train.yaml --nrt -
    """
    with stdin_kept() if STDIN in (*files, *nrt) else nullcontext():
        given = [pair for path in files for pair in documents(path)]
        reports = [pair for path in nrt for pair in documents(path)]
    nodes = _nodes([*given, *reports])
    jobs = jobs_of([one for one in given if one[1]["kind"] != keys.KIND], files, gates_of())
    answers = [(job, pods, [ask(node, pods) for node in nodes]) for job in jobs for pods in job.request.pod_sets]
    if output in ("json", "yaml"):
        emit([_data(job, pods.name, pods.count, some) for job, pods, some in answers], output)
    else:
        for job, pods, some in answers:
            count = f"{pods.count} pod{'s' * (pods.count != 1)}"
            click.echo(f"{job.kind} {job.name}, pod set {pods.name}: {count} of QoS class {pods.shape.qos}")
            write(answer_lines(pods, some))
    return YES if all(any(one.admits for one in some) for _, _, some in answers) else NOT_NOW


def _nodes(objects: Sequence[Found]) -> list[NodeZones]:
    """The zones of all nodes; mistakes in a report are told, and concern that node only."""
    found = [read_topology(raw, where) for where, raw in objects if raw["kind"] == keys.KIND]
    if not found:
        raise refuse(f"there is no {keys.KIND} among the files", "give some with --nrt FILE")
    mistakes = [mistake for node in found for mistake in node.mistakes]
    for mistake in mistakes[:SHOWN]:
        click.echo(f"warning: {mistake}", err=True)
    if len(mistakes) > SHOWN:
        click.echo(f"warning: and {len(mistakes) - SHOWN} more", err=True)
    return found


def _data(job: GivenJob, name: str, count: int, answers: Sequence[NodeAnswer]) -> Mapping[str, Any]:
    return {**identity_of(job), "podSet": name, "pods": count, "nodes": [answer_data(one) for one in answers]}
