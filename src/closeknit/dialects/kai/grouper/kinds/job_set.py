"""JobSet, as KAI groups it from 0.16: a sub-group for each replicated job, and in it one for each replica.

A minimum on the JobSet counts replicated jobs, one on a replicated job's template counts pods of each replica. With an
exclusive topology on the JobSet all replicas are directly in the group, since all of them are apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....field import Field
from ....kueue.jobs.kinds.job import COMPLETION_INDEX, pods_in
from ....kueue.jobs.kinds.job_set import JOB_INDEX, roles
from ... import keys
from ..exclusive import exclusive_constraint
from ..plan import (
    MOST_PODS,
    GroupKind,
    GroupPlan,
    Owned,
    PlannedGroup,
    Raw,
    check_minimum,
    labels,
    name_of,
    notes,
    number_of,
    placement,
    whole_number,
)
from ..segments import Segments, cut, read_segments, too_many
from .job import check_indexed, job_pods

REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"


@dataclass(frozen=True, slots=True)
class _Job:
    """A replicated job: `pods` are those of each replica, `level` is that of its own exclusive topology."""

    name: str
    replicas: int
    pods: int
    least: int
    constraint: Raw | None
    segments: Segments | None
    level: str

    @property
    def whole(self) -> PlannedGroup:
        """The sub-group of all replicas, with the topology of the level at which they are apart."""
        apart = {"topology": self.constraint["topology"]} if self.level and self.constraint else None
        return PlannedGroup(self.name, min_sub_group=self.replicas, constraint=apart)

    def replica(self, index: int | str) -> str:
        return f"{self.name}-replica-{index}"

    def entries(self, parent: str) -> Iterator[PlannedGroup]:
        for index in range(self.replicas):
            replica = PlannedGroup(self.replica(index), parent, self.least, constraint=self.constraint)
            parts = [] if self.segments is None else cut(self.segments, self.pods, replica.name, replica.name)
            if parts:
                needed = self.segments.count(self.least) if self.segments else 0
                replica = replace(replica, min_member=None, min_sub_group=min(needed, len(parts)))
            yield replica
            yield from parts


def plan(owned: Owned) -> GroupPlan:
    level = owned.note(keys.JOB_SET_EXCLUSIVE)
    together = bool(level.text()) and not owned.like_kai
    bounds = exclusive_constraint(owned, level) if together else None
    listed = owned.owner.at("spec", "replicatedJobs").items()
    jobs = [job for one in listed if (job := _job(owned, one, bounds)).replicas and job.pods]
    entries: list[PlannedGroup] = []
    for job in jobs:
        entries += [] if together else [job.whole]
        entries += job.entries("" if together else job.name)
    outermost = sum(not entry.parent for entry in entries)
    apart = _apart(jobs, level.text() if together and outermost > 1 else "")
    topology = {"topology": bounds["topology"]} if bounds and apart else None
    least = _minimum(owned, len(jobs), outermost, together)
    by_name = {job.name: job for job in jobs}
    return GroupPlan(
        min_sub_group=least,
        entries=tuple(entries),
        join=lambda pod: _join(pod, by_name),
        apart=apart,
        constraint=topology,
    )


def _job(owned: Owned, one: Field, bounds: Raw | None) -> _Job:
    name, spec, template = one.at("name").text(), one.at("template", "spec"), notes(one.at("template"))
    count, least = pods_in(spec), template.at(keys.MIN_MEMBER)
    minimum = (whole_number(least, 1) if least.text() else None) or count
    check_minimum(least, minimum, count)
    own = "" if owned.like_kai or bounds else template.at(keys.JOB_SET_EXCLUSIVE).text()
    return _Job(
        name,
        one.at("replicas").count(1),
        count,
        minimum,
        _bounds(owned, template, bounds),
        _segments(owned, one, count),
        own,
    )


def _bounds(owned: Owned, template: Field, exclusive: Raw | None) -> Raw | None:
    """The constraint of each replica: of an exclusive topology of the JobSet or its own, else of the annotations."""
    own = placement(owned.note(keys.TOPOLOGY), template)
    level = template.at(keys.JOB_SET_EXCLUSIVE)
    if exclusive is None and level.text() and not owned.like_kai:
        exclusive = exclusive_constraint(owned, level)
        if len(owned.owner.at("spec", "replicatedJobs").items()) > 1:
            text = "keeps replicas of this job apart from one another, not from those of other replicated jobs"
            level.warn(text, "put it on the JobSet to keep all of them apart")
    if own is not None and exclusive is not None:
        text = "cannot be combined with an exclusive topology, which is required too"
        template.at(keys.REQUIRED if "requiredTopologyLevel" in own else keys.PREFERRED).wrong(text, "remove one")
    return exclusive or own


def _segments(owned: Owned, one: Field, count: int) -> Segments | None:
    spec, name = one.at("template", "spec"), one.at("name").text()
    pods = [pod for pod in owned.pods if labels(pod).at(REPLICATED_JOB).text() == name]
    found = None if owned.like_kai else read_segments(owned, pods, spec.at("template"), one.at("template"))
    if found is None or too_many(found, count * one.at("replicas").count(1), one.at("replicas")):
        return None
    check_indexed(spec)
    return found


def _minimum(owned: Owned, jobs: int, outermost: int, together: bool) -> int:
    """How many of the outermost sub-groups are needed; a JobSet that starts in order has one at first."""
    note = owned.note(keys.MIN_MEMBER)
    if note.text():
        if together:
            note.wrong("counts replicated jobs, and an exclusive topology has none as groups", "remove one of the two")
        wanted = whole_number(note, 1) or 1
        if wanted > jobs:
            note.warn(f"is {wanted}, but there are only {jobs} replicated jobs", f"{jobs} is written")
        return min(wanted, outermost)
    order = owned.owner.at("spec", "startupPolicy", "startupPolicyOrder").text()
    return 1 if order == "InOrder" else outermost


def _apart(jobs: list[_Job], level: str) -> str:
    own = [f"{job.name}={job.level}" for job in jobs if job.level and job.replicas > 1]
    return level or ",".join(own)


def _join(pod: Field, jobs: dict[str, _Job]) -> str:
    job, index = jobs.get(labels(pod).at(REPLICATED_JOB).text()), labels(pod).at(JOB_INDEX).text()
    if job is None or not index:
        return ""
    if job.segments is None:
        return job.replica(index)
    number = number_of(pod, COMPLETION_INDEX)
    return "" if number is None else f"{job.replica(index)}-{number // job.segments.size}"


def pods(owner: Field) -> Iterator[Raw]:
    if sum(role.count for role in roles(owner)) > MOST_PODS:
        owner.at("spec", "replicatedJobs").wrong("makes too many pods", f"at most {MOST_PODS} are supported")
        return
    for one in owner.at("spec", "replicatedJobs").items():
        name = one.at("name").text()
        for index in range(one.at("replicas").count(1)):
            marks = {REPLICATED_JOB: name, JOB_INDEX: str(index)}
            yield from job_pods(owner, one.at("template", "spec"), f"{name_of(owner)}-{name}-{index}", marks)


JOB_SET = GroupKind(plan=plan, pods=pods, numbered=True)
