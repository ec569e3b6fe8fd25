"""All objects of `scheduling.k8s.io` in a set of files, as gangs and the topologies of the labels that they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.gang import Gang
from ...model.topology import Topology, label_topology
from ..field import Field
from ..gang_reading import GangReading, check_names, check_objects, reading
from .groups import group_of, read_trees
from .policies import GROUP
from .workloads import read_workloads, workload_of

KINDS = ((GROUP, "PodGroup"), (GROUP, "CompositePodGroup"), (GROUP, "Workload"))


VERSIONS = {
    "PodGroup": (f"{GROUP}/v1alpha2", f"{GROUP}/v1alpha3", f"{GROUP}/v1beta1"),
    "CompositePodGroup": (f"{GROUP}/v1alpha3",),
    "Workload": (f"{GROUP}/v1alpha1", f"{GROUP}/v1alpha2", f"{GROUP}/v1alpha3", f"{GROUP}/v1beta1"),
}


def joins(pod: Field) -> bool:
    """Whether a pod names a group."""
    return bool(group_of(pod) or workload_of(pod))


def read_gangs(objects: Sequence[Field], pods: Sequence[Field]) -> GangReading:
    """The gangs of these objects of KINDS."""
    check_objects(objects, VERSIONS)
    workloads = [one for one in objects if one.at("kind").text() == "Workload"]
    groups = [one for one in objects if one.at("kind").text() != "Workload"]
    own = [pod for pod in pods if joins(pod)]
    check_names(own)
    gangs = [one for one in (*read_trees(groups, own), *read_workloads(workloads, own)) if one is not None]
    return reading(gangs, [*objects, *own], topologies_of(gangs))


def topologies_of(gangs: Iterable[Gang]) -> dict[str, Topology]:
    """For each label that a constraint names, the topology with that label as its only level."""
    constraints = (one for gang in gangs for group in gang.request.groups for one in group.every_constraint)
    return {found.name: found for one in constraints if (found := label_topology(one.required or ""))}
