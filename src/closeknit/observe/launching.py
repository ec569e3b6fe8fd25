"""What the pods of a workload are told about their places: labels on each, and a file for its launcher on request."""

from __future__ import annotations

from collections.abc import Mapping

from ..cluster.kinds import BY_NAME
from ..cluster.port import Raw
from ..decide.world import World
from ..dialects.field import Field
from ..dialects.kueue.jobs.kinds import KINDS
from ..dialects.own_marks import HOSTFILE, HOSTFILES
from ..lifecycle.action import Ungate
from ..model.launch import RANK, domain_label
from ..model.workload import Workload
from .cluster_cache import ClusterCache


def unranked(cache: ClusterCache, workload: Raw) -> frozenset[str]:
    """The pod sets whose pods only start the others, such as the launcher of MPI; by the kind of the job."""
    job = job_of(cache, workload)
    kind = None if job is None else KINDS.get((job["apiVersion"].rpartition("/")[0], job["kind"]))
    if job is None or kind is None or kind.rendered:
        return frozenset()
    roles = kind.roles(Field.root(job).at(*kind.body))
    return frozenset(role.name for role in roles if not role.ranked)


def job_of(cache: ClusterCache, workload: Raw) -> Raw | None:
    """The job that owns a Workload."""
    for owner in workload["metadata"].get("ownerReferences") or ():
        key = cache.by_uid.get(owner.get("uid", ""))
        if key is not None and (key.kind.group, key.kind.kind) in BY_NAME:
            return cache.find(key)
    return None


def hostfile_form(cache: ClusterCache, workload: Raw) -> str:
    """The launcher for which a file is requested, on the job or on one of its pod templates; "" for none."""
    templates = [one.get("template") or {} for one in workload["spec"].get("podSets") or ()]
    for one in (job_of(cache, workload) or {}, *templates):
        form = ((one.get("metadata") or {}).get("annotations") or {}).get(HOSTFILE, "")
        if form in HOSTFILES:
            return str(form)
    return ""


def place_labels(world: World, workload: Workload, action: Ungate) -> Mapping[str, str]:
    """The labels of a pod that is sent to its place: its rank, and its domain on every level of the topology."""
    rank = {} if action.rank is None else {RANK: str(action.rank)}
    admission = workload.status.admission
    given = next((one for one in (admission.pod_sets if admission else ()) if one.name == action.pod.pod_set), None)
    flavors = () if given is None else sorted(set(given.flavors.values()))
    view = next((world.views[name] for name in flavors if name in world.views), None)
    leaf = None if view is None else view.snapshot.tree.leaf_of.get(tuple(action.selector.values()))
    if view is None or leaf is None:
        return rank
    levels, path = view.topology.levels, view.snapshot.tree.path(view.topology.lowest, leaf)
    domains = {domain_label(level, levels): value for level, value in zip(levels, path, strict=True)}
    return {**rank, **domains}
