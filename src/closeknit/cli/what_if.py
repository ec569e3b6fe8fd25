"""`closeknit what-if`: simulate submitting jobs to a running cluster, or to one saved in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ..decide.obstacles import Obstacles
from ..decide.what_if import Story, WhatIfOptions, play
from ..dialects import timestamps
from ..engine.policy import Policy
from ..model.mistake import not_there, refuse
from ..observe.given_jobs import Asked, add_jobs
from ..report.what_if import WhatIfAnswer, narrative
from ..report.what_if_data import as_data
from .cluster import KUBECTL, check_stdin, cluster_options, home_of, load, tell
from .group_inputs import check_any, given_files, has_groups, load_groups, nodes_of_cluster
from .group_subjects import GroupOptions, explained_gang, group_options
from .hints import hint
from .inputs import check_nodes
from .jobs import read_jobs
from .naming import is_manifest, meant
from .options import gates_of
from .output import OUTPUT, emit, write
from .placed_subjects import jobs_beside
from .progress import Progress
from .standings import StandingQuery
from .target import NAMESPACE

WAITS = 3


@click.command(
    help=f"""Show what would be admitted, preempted or kept waiting if jobs were submitted.

    JOB.yaml contains Jobs, JobSets, groups of Pods or Workloads, each with a queue; [KIND/]NAME is a job that the
    cluster already has; without either, the cluster is simulated as it is. The cluster is the running one, or the one
    in --cluster. On a running cluster, the gates and settings of its control plane apply. Nothing is written.

    New jobs join the end of their queues, and the scheduler runs until nothing changes. In the simulation a preempted
    job stops at once and is queued again, no running job finishes, and admission checks become ready.

    The output lists, in order, which jobs are admitted and where, which are preempted, by which job and why, and which
    wait, for what, and what would help. The exit code is 0 if every given job is admitted, and 3 if one waits.

    \b
      closeknit what-if train.yaml
      closeknit what-if job/train -n team-a

    Groups of pods of KAI, Kubernetes, Volcano and Grove are placed on the nodes of --cluster as they are now, without
    queues: would they fit, where, and if not, what would help? Change the files to ask about other nodes and pods.

    To save a cluster to a file, use the command below; add jobsets and the other kinds of jobs that your cluster has,
    and noderesourcetopologies if its nodes report NUMA zones. A file saved with -o json loads faster. --cluster also
    accepts a folder of such files.

    \b
      {KUBECTL}
      closeknit what-if --cluster cluster.yaml train.yaml
      closeknit what-if --cluster cluster.yaml train.yaml sweep.yaml --fair-sharing -o json
    """
)
@click.argument("jobs", nargs=-1, type=click.Path(), metavar="[JOB.yaml | [KIND/]NAME...]")
@NAMESPACE
@cluster_options
@click.option(
    "--checks",
    type=click.Choice(["ready", "pending"]),
    default="ready",
    show_default=True,
    help="The simulated state of admission checks; pending: workloads hold their quota and wait.",
)
@click.option(
    "--now",
    metavar="RFC3339",
    help="The simulated time, such as 2026-01-31T12:00:00Z; default: now, or the newest timestamp in the manifests.",
)
@group_options
@OUTPUT
def command(
    jobs: tuple[str, ...],
    namespace: str | None,
    output: str | None,
    checks: str,
    now: str | None,
    order: str | None,
    steps: int | None,
    **cluster: Any,
) -> int:
    paths = [word for word in jobs if is_manifest(word)]
    check_stdin(cluster["cluster"], paths, cluster["config"])
    of_groups = GroupOptions.of(order, steps, cluster["config"])
    if paths and has_groups(paths):
        return _of_groups(paths, of_groups, output, cluster)
    at = None if now is None else _moment(now)
    loaded, gates = load(**cluster)
    given = read_jobs(paths, gates) if paths else []
    state = loaded.state
    if at is None:
        at = loaded.newest or 0.0
    home = namespace or home_of(cluster)
    named = [_present(StandingQuery(state, at), word, home) for word in jobs if not is_manifest(word)]
    try:
        asked = [*named, *add_jobs(state, given, at)]
    finally:
        tell(state)
    with Progress("cycles") as progress:

        def watch(story: Story) -> None:
            progress.tell(lambda: f"simulating: {story.cycles:,} cycles, {len(story.steps):,} steps")

        options = WhatIfOptions(checks == "ready", state.pods_of, watch)
        story = play(state.scheduler, state.workloads.values(), at, options)
    obstacles = Obstacles(state.scheduler, story, at, state.left_out, hint, is_present=not given)
    keys, files = [one.key for one in asked], [one.where for one in asked]
    shown_at = timestamps.show(at) if at else ""
    answer = WhatIfAnswer(state.scheduler.world, story, obstacles, keys, files, state.name_of, shown_at)
    if output in ("json", "yaml"):
        emit(as_data(answer), output)
    else:
        write(narrative(answer, wide=output == "wide"))
    return 0 if answer.all_admitted else WAITS


def _of_groups(paths: Sequence[str], options: GroupOptions, output: str | None, cluster: dict[str, Any]) -> int:
    """Groups of pods have no queue here: would they fit now, each after those before it?"""
    given, gates = given_files(paths), gates_of(**cluster)
    if jobs_beside(given, gates):
        remedy = "ask about them in two commands; `closeknit place` takes both"
        raise refuse("jobs with a queue and groups of pods are given together", remedy, where=", ".join(paths))
    of_cluster = nodes_of_cluster(cluster)
    check_nodes([*of_cluster["nodes"], *given.files_with("Node")], "--cluster")
    groups = load_groups(given, of_cluster)
    check_any(groups.gangs, given)
    world, policy = groups.world, Policy.of(gates)
    answers = []
    for gang in groups.gangs:
        made = explained_gang(world, gang, policy, options, is_drawn=True, wide=output == "wide")
        answers.append(made)
        if output not in ("json", "yaml"):
            write(made.lines(wide=output == "wide"))
    if output in ("json", "yaml"):
        emit(answers[0].data() if len(answers) == 1 else [one.data() for one in answers], output)
    return 0 if all(one.result.fits for one in answers) else WAITS


def _present(ask: StandingQuery, word: str, home: str) -> Asked:
    """A job that is already in the cluster; nothing is added for it."""
    asked = meant(word, home)
    key = ask.find(asked)
    if key is None:
        text = f"no file, workload or job of this name in namespace {asked.namespace}"
        names = hint("get", "workloads", "-n", asked.namespace)
        remedy = "give a manifest, or " + (f"a name from `{names}`" if names else "the name of a job in those files")
        raise not_there(text, remedy, what=word)
    if key in ask.state.finished:
        remedy = (
            f"`{hint('explain', word, '-n', asked.namespace)}` shows how; give its manifest to simulate another run"
        )
        raise not_there("has already finished", remedy, what=word)
    return Asked(key, ask.state.name_of(key), "")


def _moment(text: str) -> float:
    try:
        return timestamps.parse(text)
    except ValueError:
        raise refuse(f'"{text}" is not a time', "write one such as 2026-01-31T12:00:00Z", what="--now") from None
