"""All objects of `scheduling.k8s.io` in a set of files, as gangs and the topologies of the labels that they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.gang import Gang
from ...model.request import Group
from ...model.topology import Topology, label_topology
from ..field import Field
from ..gang_reading import GangReading, reading
from .groups import group_of, read_trees
from .policies import GROUP
from .workloads import read_workloads, workload_of

KINDS = ((GROUP, "PodGroup"), (GROUP, "CompositePodGroup"), (GROUP, "Workload"))


def joins(pod: Field) -> bool:
    """Whether a pod names a group."""
    return bool(group_of(pod) or workload_of(pod))


def read_gangs(objects: Sequence[Field], pods: Sequence[Field]) -> GangReading:
    """The gangs of these objects of KINDS."""
    workloads = [one for one in objects if one.at("kind").text() == "Workload"]
    groups = [one for one in objects if one.at("kind").text() != "Workload"]
    own = [pod for pod in pods if joins(pod)]
    gangs = [one for one in (*read_trees(groups, own), *read_workloads(workloads, own)) if one is not None]
    return reading(gangs, [*objects, *own], topologies_of(gangs))


def topologies_of(gangs: Iterable[Gang]) -> dict[str, Topology]:
    """For each label that a constraint names, the topology with that label as its only level."""
    labels = (label for gang in gangs for group in gang.request.groups for label in _labels(group))
    return {one.name: one for one in map(label_topology, labels)}


def _labels(group: Group) -> Iterable[str]:
    if group.constraint is not None and group.constraint.required:
        yield group.constraint.required
    for child in group.groups:
        yield from _labels(child)
