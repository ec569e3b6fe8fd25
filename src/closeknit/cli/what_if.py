"""`closeknit what-if`: what would happen if these jobs were submitted to a cluster that runs, or was written down."""

from __future__ import annotations

from typing import Any

import click

from ..decide.obstacles import Obstacles
from ..decide.what_if import Options, Story, play
from ..dialects import timestamps
from ..model.mistake import refuse
from ..observe.given_jobs import add_jobs
from ..report.what_if import Answer, narrative
from ..report.what_if_data import as_data
from .cluster import KUBECTL, check_stdin, cluster_options, load, tell
from .jobs import read_jobs
from .output import OUTPUT, emit, write
from .progress import Progress

WAITS = 3


@click.command(
    help=f"""Who would be admitted, preempted or kept waiting if these jobs were submitted.

    JOB.yaml holds Jobs, JobSets, groups of Pods or Workloads, each with a queue; without one, the cluster is played as
    it is. They join, behind everybody else, the line of the running cluster, or of the one that --cluster describes,
    and the scheduler runs until nothing changes: a preempted job stops at once and is back in line, nothing that runs
    finishes, admission checks turn ready. Shown are, in order, who is admitted where, who is preempted by whom and
    why, and who waits, for what, and what would help. Nothing is written anywhere.

    Exit code 0 says that every given job is admitted, 3 that one waits.

    \b
      closeknit what-if train.yaml

    One line writes a cluster down; -o json is read faster, and folders of such files work as well. Add jobsets and
    other kinds of jobs that your cluster has.

    \b
      {KUBECTL}
      closeknit what-if --cluster cluster.yaml train.yaml
      closeknit what-if --cluster cluster.yaml train.yaml sweep.yaml --fair-sharing -o json
    """
)
@click.argument("jobs", nargs=-1, type=click.Path(), metavar="[JOB.yaml...]")
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
def command(jobs: tuple[str, ...], output: str | None, checks: str, now: str | None, **cluster: Any) -> int:
    check_stdin(cluster["cluster"], jobs, cluster["config"])
    at = None if now is None else _moment(now)
    loaded, gates = load(**cluster)
    given = read_jobs(jobs, gates) if jobs else []
    state = loaded.state
    if at is None:
        at = loaded.newest or 0.0
    try:
        asked = add_jobs(state, given, at)
    finally:
        tell(state)
    with Progress("cycles") as progress:

        def watch(story: Story) -> None:
            progress.tell(lambda: f"deciding: {story.cycles:,} cycles, {len(story.steps):,} steps")

        options = Options(checks == "ready", state.pods_of, watch)
        story = play(state.scheduler, state.workloads.values(), at, options)
    obstacles = Obstacles(state.scheduler, story, at, state.left_out)
    keys, files = [one.key for one in asked], [one.where for one in asked]
    shown_at = timestamps.show(at) if at else ""
    answer = Answer(state.scheduler.world, story, obstacles, keys, files, state.name_of, shown_at)
    if output in ("json", "yaml"):
        emit(as_data(answer), output)
    else:
        write(narrative(answer, wide=output == "wide"))
    return 0 if answer.all_admitted else WAITS


def _moment(text: str) -> float:
    try:
        return timestamps.parse(text)
    except ValueError:
        raise refuse(f'"{text}" is not a time', "write one such as 2026-01-31T12:00:00Z", what="--now") from None
