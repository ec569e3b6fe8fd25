"""Read objects into requests, in the order of the files; a pod group is one job, at the position of its first pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ....model.gates import Gates
from ....model.mistake import InputError, Mistake
from ....model.request import Request
from ...field import Field
from ...own_marks import ORDER
from .. import keys
from ..per_replica import order_mistakes
from ..topology_request import Grouped, grouped
from ..validation import elastic_mistakes, is_elastic
from .identity import ObjectIdentity
from .kinds import KINDS, JobKind
from .kinds.pod import template_of
from .names import workload_name
from .pods import group_name, group_templates, is_of_daemon_set, is_waiting, lone_pod, pod_group
from .queueing_options import UNKNOWN, QueueingOptions, of_job, of_workload
from .raw import mapping
from .roles import MAIN, Role, ValidationRules, pod_sets
from .spelling import check_fields, check_job, check_pod, check_template
from .train_job import GROUP as TRAINER
from .train_job import RUNTIMES, Source, rendered, runtime_of
from .workload import workload

MAX_COPIES = 10_000

Checks = Mapping[tuple[str, str], Callable[[Field], None]]
Runtimes = Mapping[Source, dict[str, Any]]

POD = ("", "Pod")
WORKLOAD = ("kueue.x-k8s.io", "Workload")
READ_KINDS = tuple("/".join(filter(None, key)) for key in (*KINDS, POD, WORKLOAD))
"""The kinds that can be placed, each with its API group: batch/Job."""
BESIDE = (
    ("kai.scheduler", "Topology"),
    ("kueue.x-k8s.io", "Topology"),
    ("scheduling.run.ai", "Queue"),
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("storage.k8s.io", "StorageClass"),
)
"""Kinds without pods that count where pods are placed."""


@dataclass(frozen=True, slots=True)
class GivenJob:
    """A job to place, and the name of its Workload in Kueue.

    A Deployment or LeaderWorkerSet is several of them, numbered. `workload` contains a hash of the object's uid: for an
    object that does not exist yet, it is a provisional name. `unranked` names the pod sets whose pods have no rank
    among the processes of the job: the launcher of MPI, the submitter of Ray. `order` names the pod sets in the
    object's order; that of the request, where groups are together, may differ. `templates` are their raw pod templates.
    """

    where: str
    kind: str
    namespace: str
    name: str
    request: Request
    workload: str
    unranked: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    standing: QueueingOptions = UNKNOWN
    templates: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parsed:
    """`skipped` has the reasons why objects are not jobs, each once."""

    jobs: list[GivenJob]
    warnings: tuple[Mistake, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The result for one object or pod group. `skipped` is the reason if it was not read."""

    where: str
    what: str
    jobs: tuple[GivenJob, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()
    skipped: str = ""


def requests(objects: Iterable[tuple[str, dict[str, Any]]], gates: Gates) -> Parsed:
    """The jobs in these objects; other kinds are skipped. Raises InputError with all mistakes."""
    readings = read(objects, gates)
    mistakes = [mistake for reading in readings for mistake in reading.mistakes]
    if mistakes:
        raise InputError(mistakes)
    return Parsed(
        [job for reading in readings for job in reading.jobs],
        tuple(warning for reading in readings for warning in reading.warnings),
        tuple(dict.fromkeys(one.skipped or f"{one.what} has nothing to place" for one in readings if not one.jobs)),
    )


def read(objects: Iterable[tuple[str, dict[str, Any]]], gates: Gates, checks: Checks | None = None) -> list[Reading]:
    """The result for each object, including mistakes; `checks` are run on kinds that are not jobs.

    An object that another of the objects owns is not placed again: the pods of a Job, the Workload of a JobSet.
    """
    identities = [ObjectIdentity.of(where, raw) for where, raw in objects]
    runtimes = _runtimes(identities)
    uids = {identity.uid for identity in identities if identity.uid}
    entries: dict[tuple[str, str], list[ObjectIdentity]] = {}
    for number, identity in enumerate(identities):
        group = group_name(identity) if _key(identity) == POD else ""
        entry = (identity.namespace, f"group {group}") if group else ("", f"object {number}")
        entries.setdefault(entry, []).append(identity)
    return [
        _reading(members[:1], [], members[0].what, "its owner is read instead")
        if members[0].owners & uids
        else _read_entry(members, gates, checks or {}, runtimes)
        for members in entries.values()
    ]


def _runtimes(identities: Iterable[ObjectIdentity]) -> Runtimes:
    return {
        Source(one.group, one.kind, one.namespace if one.kind == "TrainingRuntime" else "", one.name): one.field.value
        for one in identities
        if one.group == TRAINER and one.kind in RUNTIMES
    }


def _read_entry(members: Sequence[ObjectIdentity], gates: Gates, checks: Checks, runtimes: Runtimes) -> Reading:
    first = members[0]
    if _key(first) == POD and group_name(first):
        return _read_group(members, gates)
    first.check_kind()
    key = _key(first)
    known = key in KINDS or key in (POD, WORKLOAD) or key in checks
    if known:
        first.check_name()
    if key in KINDS:
        return _reading([first], _read_job(first, KINDS[key], gates, runtimes), first.what)
    jobs = []
    if key == POD and is_waiting(first):
        check_pod(first.field, gates)
        name = workload_name("Pod", "", first.name, first.uid)
        standing = of_job(first.field, first.field, [first.field])
        jobs = [_job(first, lone_pod(first, gates), name, standing, {MAIN: template_of(first.field.mapping())})]
    elif key == WORKLOAD:
        check_fields(first.field, first.kind)
        if key in checks:
            checks[key](first.field)
        sets = workload(first.field, gates)
        templates = {
            one.at("name").text() or MAIN: one.at("template").value for one in first.field.at("spec", "podSets").items()
        }
        jobs = [_job(first, sets, first.name, of_workload(first.field), templates)]
    elif key in checks:
        checks[key](first.field)
    elif keys.QUEUE in first.field.at("metadata", "labels").mapping() and not first.owners:
        first.field.wrong(f"{first.version}/{first.kind} is not supported yet", f"use one of {', '.join(READ_KINDS)}")
    if key == POD and is_of_daemon_set(first):
        return _reading([first], [], first.what, f"{first.what} is of a DaemonSet and waits in no queue")
    unread = f"{first.version}/{first.kind} is not read"
    if key in BESIDE:
        unread = f"{first.version}/{first.kind} has no pods; it is read beside those that need it"
    if key[0] == TRAINER and key[1] in RUNTIMES:
        unread = f"{first.what} is read with the jobs that name it"
    return _reading([first], jobs, first.what, "" if known else unread)


def _read_group(pods: Sequence[ObjectIdentity], gates: Gates) -> Reading:
    for pod in pods:
        pod.check_name()
    name = group_name(pods[0])
    waiting = any(is_waiting(pod) for pod in pods)
    for pod in pods if waiting else ():
        check_pod(pod.field, gates)
    sets = pod_group(pods, gates) if waiting else []
    first = pods[0].field
    job = GivenJob(
        first.report.where,
        "Pod group",
        pods[0].namespace,
        name,
        grouped(sets),
        name,
        order=tuple(one.name for one, _ in sets),
        standing=of_job(first, first, [first]),
        templates={role: template_of(pod.mapping()) for role, pod in group_templates(pods).items()} if waiting else {},
    )
    return _reading(pods, [job] if waiting else [], f"Pod group {name}")


def _reading(members: Sequence[ObjectIdentity], jobs: Sequence[GivenJob], what: str, skipped: str = "") -> Reading:
    reports = [member.field.report for member in members]
    mistakes = tuple(mistake for report in reports for mistake in report.mistakes)
    warnings = tuple(warning for report in reports for warning in report.warnings)
    return Reading(reports[0].where, what, () if mistakes else tuple(jobs), mistakes, warnings, skipped)


def odd(raw: dict[str, Any], gates: Gates, checks: Checks) -> tuple[Mistake, ...]:
    """The warnings of `read` for one object, without building its jobs: a Deployment may be ten thousand."""
    identity = ObjectIdentity.of("", raw)
    key = _key(identity)
    if key in KINDS:
        _read_body(identity, KINDS[key], gates, {})
    elif key == POD and is_waiting(identity):
        check_pod(identity.field, gates)
        lone_pod(identity, gates)
    elif key in checks:
        checks[key](identity.field)
    return tuple(replace(warning, what="") for warning in identity.field.report.warnings)


class _Body(NamedTuple):
    """The part of an object that looks like a job, its roles, and their pod sets."""

    field: Field
    roles: list[Role]
    sets: list[Grouped]


def _read_body(identity: ObjectIdentity, kind: JobKind, gates: Gates, runtimes: Runtimes) -> _Body | None:
    report = identity.field.report
    check_job(identity.field, identity.kind)
    body = _rendered(identity, runtimes) if kind.rendered else identity.field.at(*kind.body)
    if body is None:
        return None
    annotations = body.at("metadata", "annotations").strings()
    roles = kind.roles(body)
    for role in roles:
        check_template(role.template, gates)
    if ValidationRules.ELASTIC in kind.rules:
        for role in roles:
            report.add(elastic_mistakes(annotations, role.annotations(gates), gates, role.at))
    report.add(order_mistakes(annotations, gates, body.at("metadata", "annotations").path))
    return _Body(body, roles, pod_sets(roles, kind.rules, gates, report, annotations.get(ORDER, "")))


def _read_job(identity: ObjectIdentity, kind: JobKind, gates: Gates, runtimes: Runtimes) -> list[GivenJob]:
    report, found = identity.field.report, _read_body(identity, kind, gates, runtimes)
    if found is None:
        return []
    body, roles, sets = found
    names = _names(identity, kind, body)
    standing = of_job(body, identity.field, [role.template for role in roles])
    if report or not sets:
        return []
    owner, group = kind.owner or (identity.kind, identity.group)
    uid = "" if kind.owner else identity.uid
    annotations = body.at("metadata", "annotations").strings()
    extra = _generation(body) if kind.may_be_elastic and is_elastic(annotations, gates) else ""
    unranked = frozenset(role.name for role in roles if not role.ranked)
    templates = {role.name: role.template.value for role in roles}
    return [
        _job(identity, sets, workload_name(owner, group, name, uid, extra), standing, templates, name, unranked)
        for name in names
    ]


def _rendered(identity: ObjectIdentity, runtimes: Runtimes) -> Field | None:
    """The object that a job renders to with its runtime; reports a mistake and returns None without the runtime."""
    raw = identity.field.mapping()
    wanted = runtime_of({**raw, "metadata": {**mapping(raw, "metadata"), "namespace": identity.namespace}})
    runtime = runtimes.get(wanted)
    if runtime is None:
        text = f'refers to {wanted.kind} "{wanted.name}", which is not among the objects'
        identity.field.at("spec", "runtimeRef").wrong(text, "add it: it describes the pods of the job")
        return None
    return Field(rendered(raw, runtime), "", identity.field.report)


def _names(identity: ObjectIdentity, kind: JobKind, body: Field) -> list[str]:
    """The name of the job, or those of its copies: web-0, web-1."""
    if kind.copies is None:
        return [identity.name]
    copies = kind.copies(body)
    if copies > MAX_COPIES:
        body.at("spec", "replicas").wrong(f"makes {copies} workloads", f"at most {MAX_COPIES} per object are supported")
        return []
    return [f"{identity.name}-{number}" for number in range(copies)]


def _generation(body: Field) -> str:
    """The generation; 1 for a new object."""
    return str(body.at("metadata", "generation").count(1))


def _job(
    identity: ObjectIdentity,
    sets: Sequence[Grouped],
    workload: str,
    standing: QueueingOptions,
    templates: Mapping[str, Any],
    name: str = "",
    unranked: frozenset[str] = frozenset(),
) -> GivenJob:
    name = name or identity.name
    where = identity.field.report.where
    order = tuple(one.name for one, _ in sets)
    request = grouped(sets)
    return GivenJob(
        where, identity.kind, identity.namespace, name, request, workload, unranked, order, standing, templates
    )


def _key(identity: ObjectIdentity) -> tuple[str, str]:
    return identity.group, identity.kind
