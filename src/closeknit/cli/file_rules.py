"""What the pods of jobs and groups in files ask of volumes and of running pods.

A cluster finds that out each time it plans a job, in `World.ruled`. On files it is found out before each job is placed,
with the pods that were given and those of the jobs before it. Volumes are considered only if the files have some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from ..cluster.kinds import kind_of
from ..cluster.port import Change
from ..cluster.volumes import VOLUME_KINDS, follow
from ..dialects.kueue.jobs import GivenJob
from ..dialects.kueue.jobs.kinds.job import NAME_LABELS
from ..dialects.pod_rules import with_rules
from ..dialects.pod_template import NAMESPACE
from ..model.claims import Volumes
from ..model.gang import Gang
from ..model.mistake import InputError, Mistake
from ..model.request import Group, PodSet, Request
from ..model.shape import Shape
from ..state.neighbours import Neighbours

VOLUMES = tuple(kind.kind for kind in VOLUME_KINDS)


def read_volumes(objects: Iterable[tuple[str, dict[str, Any]]]) -> Volumes:
    """The claims, volumes and classes among these objects; raises what cannot be read."""
    volumes = Volumes()
    found = 0
    for where, raw in objects:
        kind = kind_of(str(raw.get("apiVersion")), str(raw.get("kind")))
        if kind not in VOLUME_KINDS:
            continue
        found += 1
        meta = {"namespace": NAMESPACE, **raw["metadata"]} if kind.namespaced else raw["metadata"]
        try:
            follow(volumes, Change(0, "ADDED", kind, {**raw, "metadata": meta}))
        except (msgspec.ValidationError, ValueError) as error:
            what = f"{kind.kind} {meta.get('name') or ''}"
            raise InputError([Mistake(str(error), "write it as the Kubernetes API has it", where, what)]) from None
    volumes.is_known = lambda: found > 0
    return volumes


def namespaces_in(objects: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, str]]:
    """The labels of the namespaces among these objects, by name."""
    found = (raw["metadata"] for _, raw in objects if raw.get("kind") == "Namespace")
    return {str(meta.get("name")): meta.get("labels") or {} for meta in found}


class FileRules(NamedTuple):
    volumes: Volumes
    neighbours: Neighbours

    def of(self, subject: GivenJob | Gang) -> GivenJob | Gang:
        """The job or gang with the rules that hold for its pods now."""
        if isinstance(subject, Gang):
            return replace(subject, request=_mapped(subject.request, self.volumes.ruled))
        request = _mapped_sets(subject.request, lambda one: _created(subject, one))
        beside = [one.shape for one in request.pod_sets]
        ruled = _mapped(request, lambda shape: self.neighbours.ruled(self.volumes.ruled(shape), beside))
        return replace(subject, request=ruled)


def _created(job: GivenJob, pod_set: PodSet) -> Shape:
    """The shape with rules as the API server would have them: in the job's own namespace, with the name of a Job."""
    template = job.templates.get(pod_set.name)
    if pod_set.shape.kind is None or not isinstance(template, dict):
        return pod_set.shape
    named = dict.fromkeys(NAME_LABELS, job.name) if job.kind == "Job" and job.name else {}
    if job.namespace == NAMESPACE and not named:
        return pod_set.shape
    labels = {**((template.get("metadata") or {}).get("labels") or {}), **named}
    return with_rules(pod_set.shape, job.namespace, labels, template.get("spec") or {})


def _mapped(request: Request, change: Callable[[Shape], Shape]) -> Request:
    return _mapped_sets(request, lambda one: change(one.shape))


def _mapped_sets(request: Request, change: Callable[[PodSet], Shape]) -> Request:
    def changed(one: PodSet) -> PodSet:
        shape = change(one)
        return one if shape is one.shape else replace(one, shape=shape)

    return Request(tuple(_mapped_group(group, changed) for group in request.groups))


def _mapped_group(group: Group, change: Callable[[PodSet], PodSet]) -> Group:
    members = tuple(change(one) if isinstance(one, PodSet) else _mapped_group(one, change) for one in group.members)
    same = all(new is old for new, old in zip(members, group.members, strict=True))
    return group if same else replace(group, members=members)
