"""`closeknit explain`: why a job waits or does not fit and what would help, or why it is where it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..cluster import kinds
from ..dialects.kueue.jobs import Job
from ..engine.explain import Explanation, explain
from ..engine.place import Result
from ..engine.policy import Policy
from ..model.mistake import refuse
from ..report.diagnosis import diagnosis, diagnosis_json
from ..report.plan import take_all
from .cluster import WHOLE, check_stdin, check_target, load, tell
from .completion import complete_names
from .inputs import file_options
from .jobs import identity_of, load_with_jobs, read_jobs
from .naming import is_manifest
from .output import OUTPUT, emit, write
from .target import NAMESPACE, target_options

if TYPE_CHECKING:
    from ..report.standing import Standing

F = TypeVar("F", bound=Callable[..., Any])

OF_NODES = ("nodes", "pods", "topology", "levels", "selector")
OF_WHOLE = ("cluster", "config", "fair_sharing")
TARGET = ("kubeconfig", "context", "data")


def whole_options(command: F) -> F:
    for option in reversed(WHOLE):
        command = option(command)
    return command


@click.command()
@click.argument(
    "jobs",
    nargs=-1,
    required=True,
    metavar="[KIND/]NAME | JOB.yaml...",
    shell_complete=complete_names(kinds.WORKLOAD, kinds.JOB),
)
@NAMESPACE
@file_options
@whole_options
@target_options
@OUTPUT
def command(jobs: tuple[str, ...], namespace: str | None, output: str | None, **options: Any) -> None:
    """Why a job waits or does not fit and what would help, or why it is where it is.

    Of the running cluster, or of the one that --cluster describes: NAME is a workload or a job of it, JOB.yaml one
    that would be submitted. If it waits: for what, level by level and cause by cause, and changes that would help;
    each was tried. If it is admitted: where its pods are, what each level would offer without it, and whether it would
    be put there again.

    \b
      closeknit explain train
      closeknit explain job/train -n team-a
      closeknit explain train.yaml
      closeknit explain sweep-3 -n team-b --cluster cluster.yaml

    With --nodes the same of a job and nodes in files, without queues. Exit code 0 says that there is an explanation,
    also that the job does fit.

    \b
      closeknit explain train.yaml --nodes nodes.yaml --pods pods.json
    """
    if options["nodes"]:
        check_target(options["nodes"], {name: options[name] or None for name in (*OF_WHOLE, *TARGET)}, "--nodes")
        _of_nodes(jobs, output, {name: value for name, value in options.items() if name not in (*OF_WHOLE, *TARGET)})
        return
    for name in OF_NODES:
        if options.pop(name):
            raise refuse("goes with --nodes", "give the nodes too, or leave it out", what=f"--{name}")
    found = _of_cluster(jobs, namespace, options)
    _show(found, output)


# A cluster with queues


def _of_cluster(words: Sequence[str], namespace: str | None, options: dict[str, Any]) -> list[Standing]:
    from ..observe.given_jobs import add_jobs
    from .standings import Ask, standings

    files = [word for word in words if is_manifest(word)]
    check_stdin(options["cluster"], files, options["config"])
    loaded, gates = load(**options)
    state, now = loaded.state, loaded.newest or 0.0
    home = namespace or _home(options)
    given = read_jobs(files, gates) if files else []
    ask = Ask(state, now)
    named = [ask.named(word, home) for word in words if not is_manifest(word)]
    try:
        asked = [one.key for one in add_jobs(state, given, now)]
    finally:
        tell(state)
    return standings(ask, [*named, *asked])


def _home(options: dict[str, Any]) -> str:
    """The namespace of names that do not say theirs."""
    from .target import target_of

    return "default" if options["cluster"] else target_of(*(options[name] for name in TARGET)).config.namespace


def _show(found: Sequence[Standing], output: str | None) -> None:
    from ..report.standing import as_data, lines

    if output in ("json", "yaml"):
        answers = [as_data(one) for one in found]
        emit(answers[0] if len(answers) == 1 else answers, output)
        return
    for one in found:
        write(lines(one, wide=output == "wide"))


# Nodes alone


def _of_nodes(jobs: tuple[str, ...], output: str | None, cluster: dict[str, Any]) -> None:
    loaded, read = load_with_jobs(jobs, cluster)
    policy = Policy(loaded.gates)
    answers = []
    for job in read:
        found = explain(loaded.snapshot, job.request, policy)
        if isinstance(found, Result):
            take_all(loaded.snapshot, found)
        if output in ("json", "yaml"):
            answers.append(_data(job, found))
            continue
        if isinstance(found, Result):
            click.echo(f"{job.kind} {job.name} fits; `closeknit place` shows where")
            continue
        for line in diagnosis(f"{job.kind} {job.name}", found):
            click.echo(line)
    if answers and output is not None:
        emit(answers[0] if len(answers) == 1 else answers, output)


def _data(job: Job, found: Explanation | Result) -> dict[str, Any]:
    identity = identity_of(job)
    if isinstance(found, Result):
        return {"workload": job.workload, "fits": True, "job": identity}
    return {"workload": job.workload, "fits": False, **diagnosis_json(found), "job": identity}
