"""`closeknit explain`: explain why a job waits and what would help, or why it runs where it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..cluster import kinds
from ..dialects.kueue.jobs import GivenJob, read
from ..engine.explain import Explanation, explain
from ..engine.place import Result
from ..engine.policy import Policy
from ..model.gang import Gang
from ..model.gates import Gates
from ..model.mistake import InputError, refuse
from ..model.name import Name
from ..model.number import number_of
from ..report.diagnosis import diagnosis, diagnosis_json
from ..report.plan import take_all
from .cluster import WHOLE, GivenCluster, check_stdin, check_target, home_of, load, tell
from .completion import complete_names
from .group_inputs import has_groups, nodes_of_cluster
from .group_subjects import GroupOptions, explained_gang, group_options, shows_where
from .hints import hint
from .inputs import file_options
from .jobs import identity_of, read_jobs
from .naming import Meant, is_manifest, meant
from .output import OUTPUT, emit, write
from .placed_subjects import load_placeables
from .target import NAMESPACE, target_options

if TYPE_CHECKING:
    from ..report.standing import Standing
    from .standings import StandingQuery
    from .subjects import Subject

F = TypeVar("F", bound=Callable[..., Any])

OF_NODES = ("nodes", "pods", "topology", "levels", "selector")
OF_WHOLE = ("cluster", "fair_sharing")
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
@group_options
@OUTPUT
def command(jobs: tuple[str, ...], namespace: str | None, output: str | None, **options: Any) -> None:
    """Explain why a job waits and what would help, or why it runs where it does.

    NAME is a workload or job of the running cluster, or of the one in --cluster; JOB.yaml is explained as if it were
    submitted there. NAME may also be a Deployment, another set of pods, or a pod: then its pods and their workloads
    are explained. On a running cluster, the gates and settings of its control plane apply.

    A waiting job: what it waits for, level by level and cause by cause, and changes that would help. Each change was
    tried against quota and free capacity together.

    An admitted job: where its pods are, what each level would offer without it, whether the scheduler would choose the
    same place again, and what happens to pods on failing nodes.

    A finished job: when and how it finished.

    \b
      closeknit explain train
      closeknit explain job/train -n team-a
      closeknit explain train.yaml
      closeknit explain sweep-3 -n team-b --cluster cluster.yaml

    With --nodes, explains a job on nodes from files, without queues. The exit code is 0 whenever there is an
    explanation, including that the job fits.

    \b
      closeknit explain train.yaml --nodes nodes.yaml --pods pods.json

    Groups of pods of KAI, Kubernetes, Volcano and Grove are explained on the nodes of --nodes, --cluster or the files:
    the group that stops the tree, what each domain can hold of it, and changes that were tried.
    """
    of_groups = GroupOptions.of(options.pop("order"), options.pop("steps"), options["config"])
    files = [word for word in jobs if is_manifest(word)]
    if options["nodes"]:
        check_target(options["nodes"], {name: options[name] or None for name in (*OF_WHOLE, *TARGET)}, "--nodes")
        of_nodes = {name: value for name, value in options.items() if name not in (*OF_WHOLE, *TARGET)}
        _of_nodes(jobs, output, of_groups, of_nodes)
        return
    if files and len(files) == len(jobs) and has_groups(files):
        _of_nodes(jobs, output, of_groups, nodes_of_cluster(options))
        return
    for name in OF_NODES:
        if options.pop(name):
            raise refuse("requires --nodes", "add --nodes FILE, or remove it", what=f"--{name}")
    found = _of_cluster(jobs, namespace, options)
    _show(found, output)


# A cluster with queues


class ExplainAnswer(NamedTuple):
    """The answer to one argument: the state of a workload, or another object with the states of its workloads."""

    standings: Sequence[Standing]
    subject: Subject | None = None


def _of_cluster(words: Sequence[str], namespace: str | None, options: dict[str, Any]) -> list[ExplainAnswer]:
    from ..observe.given_jobs import add_jobs
    from .standings import StandingQuery, standings

    files = [word for word in words if is_manifest(word)]
    check_stdin(options["cluster"], files, options["config"])
    loaded, gates = load(**options)
    state, now = loaded.state, loaded.newest or 0.0
    given = read_jobs(files, gates) if files else []
    ask = StandingQuery(state, now)
    home = namespace or home_of(options)
    asked = [_meant(ask, word, home, options) for word in words if not is_manifest(word)]
    try:
        for one in add_jobs(state, given, now):
            asked.append(([one.key], None))
            if one.is_new:
                ask.given[one.key] = one.where
                state.notes.append(f"{one.name} is not in the cluster; explaining it as if it were submitted")
        _look_at_jobs(loaded, gates, [key for keys, _ in asked for key in keys])
    finally:
        tell(state, ask.around([key for keys, _ in asked for key in keys]))
    found = iter(standings(ask, [key for keys, _ in asked for key in keys]))
    return [ExplainAnswer([next(found) for _ in keys], subject) for keys, subject in asked]


def _look_at_jobs(loaded: GivenCluster, gates: Gates, keys: Sequence[str]) -> None:
    """Add warnings about jobs that have a Workload: a misspelt annotation is not copied to it."""
    state = loaded.state
    names = {state.name_of(key) for key in keys}
    for found in loaded.found.jobs:
        name = _name(found.raw)
        if name in names:
            odd = [replace(one, what=str(name)) for each in read([found], gates) for one in each.warnings]
            state.warnings += [one for one in odd if one not in state.warnings]


def _name(raw: dict[str, Any]) -> Name:
    return Name(raw["kind"], str(raw["metadata"].get("namespace") or "default"), str(raw["metadata"].get("name") or ""))


def _meant(ask: StandingQuery, word: str, home: str, options: dict[str, Any]) -> tuple[Sequence[str], Subject | None]:
    """The workloads for an argument: the one of that name, or those of the pods of another object."""
    asked = meant(word, home)
    key = ask.find(asked)
    if key is not None:
        return [key], None
    if (asked.kind is not None and not asked.kind.namespaced) or asked.kind is kinds.LOCAL_QUEUE:
        raise _no_work(word, asked)
    subject = None if options["cluster"] else _looked_up(asked, options)
    if subject is None:
        raise ask.not_found(word, asked)
    known = {**ask.state.workloads, **ask.state.finished}
    return [key for key in subject.workloads if key in known], subject


def _no_work(word: str, asked: Meant) -> InputError:
    """The error for a queue or a node, with the command that shows it."""
    assert asked.kind is not None
    shown = hint("describe", asked.kind.singular, asked.name)
    if asked.kind in (kinds.CLUSTER_QUEUE, kinds.COHORT):
        shown = hint("queue", asked.name)
    text = f"is a {asked.kind.kind}; only jobs, sets of pods and pods can be explained"
    return refuse(text, f"use `{shown}`", what=word)


def _looked_up(asked: Meant, options: dict[str, Any]) -> Subject | None:
    from .subjects import look_up
    from .target import run, target_of

    return run(target_of(*(options[name] for name in TARGET)), lambda client: look_up(client, asked))


def _show(found: Sequence[ExplainAnswer], output: str | None) -> None:
    from ..report.standing import lines

    if output in ("json", "yaml"):
        answers = [_answer_data(one) for one in found]
        emit(answers[0] if len(answers) == 1 else answers, output)
        return
    for one in found:
        if one.subject is not None:
            from .subjects import subject_lines

            write(subject_lines(one.subject, {each.workload.key: each for each in one.standings}))
        shown = _worth_telling(one)
        for each in shown:
            write(lines(each, output == "wide", hint))
        if len(shown) < len(one.standings):
            more = len(one.standings) - len(shown)
            be = "is" if more == 1 else "are"
            write([f"{number_of(more, 'more workload')} {be} in the same state; -o json lists all"])


def _worth_telling(one: ExplainAnswer) -> Sequence[Standing]:
    """The workloads to print: for a set of pods, the first one of each state or reason."""
    if one.subject is None or len(one.standings) == 1:
        return one.standings
    first: dict[object, Standing] = {}
    for each in one.standings:
        obstacle = each.obstacle
        mark = each.state if obstacle is None else (obstacle.reason, obstacle.cause or obstacle.message)
        first.setdefault(mark, each)
    return list(first.values())


def _answer_data(one: ExplainAnswer) -> dict[str, Any]:
    from ..report.standing import as_data

    if one.subject is None:
        return as_data(one.standings[0])
    from .subjects import subject_data

    return {**subject_data(one.subject), "workloads": [as_data(each) for each in one.standings]}


# Nodes alone


def _of_nodes(jobs: tuple[str, ...], output: str | None, options: GroupOptions, cluster: dict[str, Any]) -> None:
    asked = load_placeables(jobs, cluster)
    policy = Policy.of(asked.gates)
    shower = "what-if" if cluster.get("context") else "place"
    answers = []
    for job in map(asked.ruled, asked.subjects):
        if isinstance(job, Gang):
            assert asked.groups is not None
            answer = explained_gang(asked.groups.world, job, policy, options)._replace(shower=shower)
            if output in ("json", "yaml"):
                answers.append(answer.data())
            else:
                write(answer.lines(wide=output == "wide"))
            continue
        assert asked.nodes is not None
        found = explain(asked.nodes.snapshot, job.request, policy)
        if isinstance(found, Result):
            take_all(asked.nodes.snapshot, found)
        if output in ("json", "yaml"):
            answers.append(_data(job, found))
            continue
        if isinstance(found, Result):
            click.echo(f"{job.kind} {job.name} fits; {shows_where(shower)}")
            continue
        for line in diagnosis(f"{job.kind} {job.name}", found):
            click.echo(line)
    if answers and output is not None:
        emit(answers[0] if len(answers) == 1 else answers, output)


def _data(job: GivenJob, found: Explanation | Result) -> dict[str, Any]:
    identity = identity_of(job)
    if isinstance(found, Result):
        return {"workload": job.workload, "fits": True, "job": identity}
    return {"workload": job.workload, "fits": False, **diagnosis_json(found), "job": identity}
