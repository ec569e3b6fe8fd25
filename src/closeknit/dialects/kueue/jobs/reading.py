"""Objects to requests, in the order of the files; pods of one group come together at the place of the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....model.gates import Gates
from ....model.mistake import InputError, Mistake
from ....model.request import PodSet, Request
from ...field import Field
from .. import keys
from ..validation import elastic_mistakes, is_elastic
from .identity import Identity
from .kinds import KINDS, NOT_PLACED, Kind
from .names import workload_name
from .pods import group_name, is_waiting, lone_pod, pod_group
from .roles import Rules, pod_sets
from .workload import workload

MAX_COPIES = 10_000

Checks = Mapping[tuple[str, str], Callable[[Field], None]]

POD = ("", "Pod")
WORKLOAD = ("kueue.x-k8s.io", "Workload")


@dataclass(frozen=True, slots=True)
class Job:
    """Something to place, and the name of its Workload in Kueue.

    A Deployment or LeaderWorkerSet is several of them, numbered. `workload` hashes the uid of the object: for one
    that was not created yet, it is the name as far as it can be known.
    """

    where: str
    kind: str
    namespace: str
    name: str
    request: Request
    workload: str


@dataclass(frozen=True, slots=True)
class Parsed:
    jobs: list[Job]
    warnings: tuple[Mistake, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of one object or pod group. `known` is false for kinds that are no jobs."""

    where: str
    what: str
    jobs: tuple[Job, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()
    known: bool = True


def requests(objects: Iterable[tuple[str, dict[str, Any]]], gates: Gates) -> Parsed:
    """The jobs in these objects; other kinds are passed over. Raises InputError with all mistakes found."""
    readings = read(objects, gates)
    mistakes = [mistake for reading in readings for mistake in reading.mistakes]
    if mistakes:
        raise InputError(mistakes)
    return Parsed(
        [job for reading in readings for job in reading.jobs],
        tuple(warning for reading in readings for warning in reading.warnings),
    )


def read(objects: Iterable[tuple[str, dict[str, Any]]], gates: Gates, checks: Checks | None = None) -> list[Reading]:
    """What came of each object, mistakes and all; `checks` are run on kinds that are no jobs.

    What another of the objects owns is not placed again: the pods of a Job, the Workload of a JobSet.
    """
    identities = [Identity.of(where, raw) for where, raw in objects]
    uids = {identity.uid for identity in identities if identity.uid}
    entries: dict[tuple[str, str], list[Identity]] = {}
    for number, identity in enumerate(identities):
        group = group_name(identity) if _key(identity) == POD else ""
        entry = (identity.namespace, f"group {group}") if group else ("", f"object {number}")
        entries.setdefault(entry, []).append(identity)
    return [
        _reading(members[:1], [], members[0].what, known=False)
        if members[0].owners & uids
        else _read_entry(members, gates, checks or {})
        for members in entries.values()
    ]


def _read_entry(members: Sequence[Identity], gates: Gates, checks: Checks) -> Reading:
    first = members[0]
    if _key(first) == POD and group_name(first):
        return _read_group(members, gates)
    first.check_kind()
    key = _key(first)
    known = key in KINDS or key in (POD, WORKLOAD) or key in checks
    if known:
        first.check_name()
    if key in KINDS:
        return _reading([first], _read_job(first, KINDS[key], gates), first.what, _misplaced(first))
    jobs = []
    if key == POD and is_waiting(first):
        jobs = [_job(first, lone_pod(first, gates), workload_name("Pod", "", first.name, first.uid))]
    elif key == WORKLOAD:
        jobs = [_job(first, workload(first.field, gates), first.name)]
    elif key in checks:
        checks[key](first.field)
    elif key in NOT_PLACED or (keys.QUEUE in first.field.at("metadata", "labels").mapping() and not first.owners):
        first.field.wrong(f"kind {first.kind} is not placed yet", "give a Job, JobSet, Pod group or Workload")
    return _reading([first], jobs, first.what, known=known)


def _read_group(pods: Sequence[Identity], gates: Gates) -> Reading:
    for pod in pods:
        pod.check_name()
    name = group_name(pods[0])
    waiting = any(is_waiting(pod) for pod in pods)
    sets = pod_group(pods, gates) if waiting else []
    job = Job(pods[0].field.report.where, "Pod group", pods[0].namespace, name, Request.of(sets, name), name)
    return _reading(pods, [job] if waiting else [], f"Pod group {name}")


def _reading(
    members: Sequence[Identity],
    jobs: Sequence[Job],
    what: str,
    warnings: Sequence[Mistake] = (),
    known: bool = True,
) -> Reading:
    mistakes = tuple(mistake for member in members for mistake in member.field.report.mistakes)
    where = members[0].field.report.where
    return Reading(where, what, () if mistakes else tuple(jobs), mistakes, tuple(warnings), known)


def _read_job(identity: Identity, kind: Kind, gates: Gates) -> list[Job]:
    report = identity.field.report
    body = identity.field.at(*kind.body)
    annotations = body.at("metadata", "annotations").strings()
    roles = kind.roles(body)
    if Rules.ELASTIC in kind.rules:
        for role in roles:
            report.add(elastic_mistakes(annotations, role.annotations(gates), gates, role.at))
    sets = pod_sets(roles, kind.rules, gates, report)
    names = _names(identity, kind, body)
    if report or not sets:
        return []
    owner, group = kind.owner or (identity.kind, identity.group)
    uid = "" if kind.owner else identity.uid
    extra = _generation(body) if kind.elastic and is_elastic(annotations, gates) else ""
    return [_job(identity, sets, workload_name(owner, group, name, uid, extra), name) for name in names]


def _names(identity: Identity, kind: Kind, body: Field) -> list[str]:
    """The name of the job, or those of its copies: web-0, web-1."""
    if kind.copies is None:
        return [identity.name]
    copies = kind.copies(body)
    if copies > MAX_COPIES:
        body.at("spec", "replicas").wrong(f"makes {copies} workloads", f"we place at most {MAX_COPIES} of one object")
        return []
    return [f"{identity.name}-{number}" for number in range(copies)]


def _generation(body: Field) -> str:
    """A new object will be of generation 1."""
    return str(body.at("metadata", "generation").count(1))


def _job(identity: Identity, sets: Sequence[PodSet], workload: str, name: str = "") -> Job:
    name = name or identity.name
    where = identity.field.report.where
    return Job(where, identity.kind, identity.namespace, name, Request.of(sets, name), workload)


def _misplaced(identity: Identity) -> list[Mistake]:
    """Topology is read from the pod template; on the job itself it would do nothing, without a word."""
    annotations = identity.field.at("metadata", "annotations")
    return [
        Mistake(
            "is not read there",
            "put it on the pod template",
            identity.field.report.where,
            identity.what,
            annotations.at(key).path,
        )
        for key in (*keys.TOPOLOGY_ANNOTATIONS, keys.SLICE_SIZE, keys.GROUP)
        if key in annotations.mapping()
    ]


def _key(identity: Identity) -> tuple[str, str]:
    return identity.group, identity.kind
