"""`closeknit what-if`: what would happen if these jobs were submitted to a cluster that runs, or was written down."""

from __future__ import annotations

from typing import Any

import click

from ..decide.obstacles import Obstacles
from ..decide.what_if import Options, Story, play
from ..dialects import timestamps
from ..model.mistake import not_there, refuse
from ..observe.given_jobs import Asked, add_jobs
from ..report.what_if import Answer, narrative
from ..report.what_if_data import as_data
from .cluster import KUBECTL, check_stdin, cluster_options, home_of, load, tell
from .hints import hint
from .jobs import read_jobs
from .naming import is_manifest, meant
from .output import OUTPUT, emit, write
from .progress import Progress
from .standings import Ask
from .target import NAMESPACE

WAITS = 3


@click.command(
    help=f"""Who would be admitted, preempted or kept waiting if these jobs were submitted.

    JOB.yaml holds Jobs, JobSets, groups of Pods or Workloads, each with a queue; [KIND/]NAME is a job that is there
    already; without either, the cluster is played as it is. New jobs join, behind everybody else, the line of the
    running cluster, or of the one that --cluster describes, and the scheduler runs until nothing changes: a preempted
    job stops at once and is back in line, nothing that runs finishes, admission checks turn ready. Shown are, in
    order, who is admitted where, who is preempted by whom and why, and who waits, for what, and what would help.
    Nothing is written anywhere. A running cluster is judged by the gates and settings of its host.

    Exit code 0 says that every given job is admitted, 3 that one waits.

    \b
      closeknit what-if train.yaml
      closeknit what-if job/train -n team-a

    One line writes a cluster down; -o json is read faster, and folders of such files work as well. Add jobsets and
    other kinds of jobs that your cluster has.

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
    help="What becomes of admission checks; pending: workloads hold their quota and wait.",
)
@click.option(
    "--now",
    metavar="RFC3339",
    help="The time at which it happens, such as 2026-01-31T12:00:00Z; default: now, or the newest time in manifests.",
)
@OUTPUT
def command(
    jobs: tuple[str, ...], namespace: str | None, output: str | None, checks: str, now: str | None, **cluster: Any
) -> int:
    paths = [word for word in jobs if is_manifest(word)]
    check_stdin(cluster["cluster"], paths, cluster["config"])
    at = None if now is None else _moment(now)
    loaded, gates = load(**cluster)
    given = read_jobs(paths, gates) if paths else []
    state = loaded.state
    if at is None:
        at = loaded.newest or 0.0
    home = namespace or home_of(cluster)
    named = [_present(Ask(state, at), word, home) for word in jobs if not is_manifest(word)]
    try:
        asked = [*named, *add_jobs(state, given, at)]
    finally:
        tell(state)
    with Progress("cycles") as progress:

        def watch(story: Story) -> None:
            progress.tell(lambda: f"deciding: {story.cycles:,} cycles, {len(story.steps):,} steps")

        options = Options(checks == "ready", state.pods_of, watch)
        story = play(state.scheduler, state.workloads.values(), at, options)
    obstacles = Obstacles(state.scheduler, story, at, state.left_out, hint)
    keys, files = [one.key for one in asked], [one.where for one in asked]
    shown_at = timestamps.show(at) if at else ""
    answer = Answer(state.scheduler.world, story, obstacles, keys, files, state.name_of, shown_at)
    if output in ("json", "yaml"):
        emit(as_data(answer), output)
    else:
        write(narrative(answer, wide=output == "wide"))
    return 0 if answer.all_admitted else WAITS


def _present(ask: Ask, word: str, home: str) -> Asked:
    """A job that is in the cluster already: nothing is added for it."""
    asked = meant(word, home)
    key = ask.find(asked)
    if key is None:
        text = f"is no file, and namespace {asked.namespace} has no workload and no job with one of this name"
        remedy = f"give a manifest, or a name that `{hint('get', 'workloads', '-n', asked.namespace)}` shows"
        raise not_there(text, remedy, what=word)
    if key in ask.state.finished:
        remedy = (
            f"`{hint('explain', word, '-n', asked.namespace)}` says how; give its manifest to ask about another run"
        )
        raise not_there("has finished: nothing would happen to it any more", remedy, what=word)
    return Asked(key, ask.state.name_of(key), "")


def _moment(text: str) -> float:
    try:
        return timestamps.parse(text)
    except ValueError:
        raise refuse(f'"{text}" is not a time', "write one such as 2026-01-31T12:00:00Z", what="--now") from None
