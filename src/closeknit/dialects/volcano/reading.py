"""All of Volcano's objects in a set of files, as gangs and one tree of HyperNodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.gang import Gang
from ...model.topology import ListedTopology
from ..field import Field
from ..gang_reading import GangReading, Nodes, by, check_names, check_objects, reading, refuse_lost
from ..group_pods import key_of
from . import keys
from .hyper_nodes import TOPOLOGY, read_tiers
from .jobs import job_of, read_job
from .pod_groups import group_of, read_gang

KINDS = (
    (keys.TOPOLOGY_GROUP, "HyperNode"),
    (keys.SCHEDULING_GROUP, "PodGroup"),
    (keys.BATCH_GROUP, "Job"),
)


VERSIONS = {
    "HyperNode": (f"{keys.TOPOLOGY_GROUP}/v1alpha1",),
    "PodGroup": (f"{keys.SCHEDULING_GROUP}/v1beta1",),
    "Job": (f"{keys.BATCH_GROUP}/v1alpha1",),
}


def joins(pod: Field) -> bool:
    """Whether a pod names a PodGroup or Job."""
    return bool(group_of(pod) or job_of(pod))


def read_gangs(objects: Sequence[Field], pods: Sequence[Field], nodes: Nodes | None) -> GangReading:
    """The gangs of these objects of KINDS. With neither nodes nor HyperNodes, tiers are taken as written.

    While the tree of HyperNodes has a mistake, gangs that name a tier are left out: none could be placed by it.
    """
    if not objects:
        return GangReading()
    check_objects(objects, VERSIONS)
    kinds = by(objects, lambda one: one.at("kind").text())
    hyper_nodes = kinds.get("HyperNode", ())
    is_known = nodes is not None or bool(hyper_nodes)
    tree = read_tiers(hyper_nodes, nodes) if is_known else None
    tiers = tree if isinstance(tree, ListedTopology) else None
    used = [pod for pod in pods if joins(pod)]
    check_names(used)
    gangs = list(_gangs(kinds.get("PodGroup", ()), kinds.get("Job", ()), pods, tiers))
    if is_known and tiers is None:
        gangs = [one for one in gangs if one is not None and not _names_tier(one)]
    return reading(gangs, [*objects, *used], {} if tiers is None else {TOPOLOGY: tiers})


def _gangs(
    groups: Sequence[Field], jobs: Sequence[Field], pods: Sequence[Field], tiers: ListedTopology | None
) -> Iterator[Gang | None]:
    by_group, by_job = by(pods, group_of), by(pods, job_of)
    for group in groups:
        yield read_gang(group, by_group.get(key_of(group), ()), tiers)
    made = {owner for group in groups for owner in _owners(group)}
    for job in jobs:
        if key_of(job) not in made:  # else its PodGroup is there, and is read instead
            yield read_job(job, by_job.get(key_of(job), ()), tiers)
    of_jobs = {*map(key_of, jobs)}
    lost = {key: [pod for pod in own if job_of(pod) not in of_jobs] for key, own in by_group.items()}
    refuse_lost(lost, {*map(key_of, groups)}, "PodGroup", "metadata", "annotations", keys.GROUP_NAME)


def _names_tier(gang: Gang) -> bool:
    return any(True for group in gang.request.groups for _ in group.every_constraint)


def _owners(group: Field) -> Iterator[str]:
    """namespace/name of the Jobs that own a PodGroup."""
    for owner in group.at("metadata", "ownerReferences").items():
        if owner.at("kind").text() == "Job":
            yield f"{key_of(group).partition('/')[0]}/{owner.at('name').text()}"
