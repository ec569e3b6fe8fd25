"""Builds a cluster from the nodes of `up --nodes`: the nodes, and the minimum that jobs need to run on them.

That is a Topology with the levels suggested by the nodes' labels, a flavor for all nodes, and a queue with quota for
their whole capacity. Anything else, such as queues for several teams, is left to the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import click

from ..cluster.files import STDIN, stdin_kept
from ..cluster.kinds import NODE
from ..dialects.cloud_labels import OUR_POOL
from ..dialects.own_marks import NUMA
from ..model.resources import show
from ..observe.nodes import FileNodes, read_nodes
from ..observe.suggest import API_VERSION, Suggestion, suggest
from .manifests import read_objects
from .progress import Progress

Raw = dict[str, Any]

NAME = "default"
"""The name of all generated objects."""
KEPT = ("capacity", "allocatable", "conditions", "addresses", "nodeInfo")
"""The fields of a node's status that are copied."""


class OwnCluster(NamedTuple):
    objects: Sequence[Raw] = ()
    notes: Sequence[str] = ()


def cluster_of(paths: Sequence[str]) -> OwnCluster:
    """The cluster's objects and notes; raises InputError if a file cannot be read."""
    with stdin_kept() if STDIN in paths else nullcontext():
        with Progress("nodes") as tick:
            read = read_nodes(paths, tick)
        nodes = [one.raw for one in read_objects(paths, NAME, namespace_given=False) if one.kind is NODE]
    for warning in read.warnings:
        click.echo(f"warning: {warning}", err=True)
    found = suggest(read.table)
    objects = [*(_node(raw, found) for raw in nodes), *_flavor(found), _queue(read)]
    objects.append({**_kueue("LocalQueue", {"clusterQueue": NAME}), "metadata": {"name": NAME, "namespace": NAME}})
    return OwnCluster(objects, list(_notes(len(nodes), found)))


def _node(raw: Raw, found: Suggestion) -> Raw:
    """The node as written, without the fields that only its original cluster can set."""
    meta, status = raw["metadata"], raw.get("status") or {}
    pool = {key: value for key, value in found.node_labels.items() if key == OUR_POOL}
    notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key == NUMA}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": meta["name"],
            "labels": {**(meta.get("labels") or {}), **pool},
            **({"annotations": notes} if notes else {}),
        },
        "spec": {key: value for key, value in (raw.get("spec") or {}).items() if key in ("taints", "unschedulable")},
        "status": {key: value for key, value in status.items() if key in KEPT},
    }


def _flavor(found: Suggestion) -> list[Raw]:
    return found.manifests(NAME) or [_kueue("ResourceFlavor", {})]


def _queue(read: FileNodes) -> Raw:
    room = {resource: int(column.sum()) for resource, column in sorted(read.table.allocatable.items())}
    quotas = [{"name": resource, "nominalQuota": show(resource, amount)} for resource, amount in room.items() if amount]
    group = {
        "coveredResources": [one["name"] for one in quotas],
        "flavors": [{"name": NAME, "resources": quotas}],
    }
    return _kueue("ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [group]})


def _kueue(kind: str, spec: Raw) -> Raw:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def _notes(count: int, found: Suggestion) -> Iterator[str]:
    made = "ResourceFlavor, ClusterQueue and LocalQueue"
    if found.levels:
        yield f"{_nodes(count)}; levels from their labels: {', '.join(found.levels)}"
        made = f"Topology, {made}"
    else:
        yield f"{_nodes(count)}, no topology: {found.text}"
    yield f"created {made}, all named {NAME}, with quota for the whole capacity of the nodes"
    yield from (*found.problems, *found.remarks)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"
