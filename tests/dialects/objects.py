"""Raw objects for tests of the group dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closeknit.dialects.gang_reading import GangReading
from closeknit.dialects.gangs import read_gangs
from closeknit.model.gang import Gang
from closeknit.model.request import Group
from closeknit.model.topology import Topology

Raw = dict[str, Any]


def named(api_version: str, kind: str, name: str, spec: Raw, **meta: Any) -> Raw:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


def pod(name: str, cpu: str = "1", node: str = "", spec: Raw | None = None, phase: str = "", **meta: Any) -> Raw:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    own = {"containers": [container], **({"nodeName": node} if node else {}), **(spec or {})}
    return {**named("v1", "Pod", name, own, **meta), "status": {"phase": phase or ("Running" if node else "Pending")}}


def read(
    *objects: Raw,
    nodes: Sequence[str] | Mapping[str, Mapping[str, str]] | None = (),
    topologies: dict[str, Topology] | None = None,
) -> GangReading:
    labels = nodes if nodes is None or isinstance(nodes, Mapping) else {name: {} for name in nodes}
    return read_gangs([("groups.yaml", one) for one in objects], labels, topologies)


def gang(*objects: Raw, nodes: Sequence[str] | None = ()) -> Gang:
    """The only gang, with no mistake anywhere."""
    found = read(*objects, nodes=nodes)
    assert found.mistakes == ()
    [one] = found.gangs
    return one


def tree(*objects: Raw, nodes: Sequence[str] | None = ()) -> Group:
    [group] = gang(*objects, nodes=nodes).request.groups
    return group


def said(found: GangReading) -> list[str]:
    """The mistakes, without the name of the file."""
    assert all(mistake.where == "groups.yaml" for mistake in found.mistakes)
    return [str(mistake).removeprefix("groups.yaml: ") for mistake in found.mistakes]


def pods_of(group: Group) -> dict[str, tuple[str, ...]]:
    """The names of the pods to place, by pod set."""
    return {one.name: tuple(key.partition("/")[2] for key in one.pods) for one in group.pod_sets}
