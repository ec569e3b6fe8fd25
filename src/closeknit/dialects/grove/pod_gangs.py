"""PodGangs, `scheduler.grove.io/v1alpha1`: pod groups, some of them grouped again to be placed close together.

PodGang, zone                                       Group, required zone
  topologyConstraintGroupConfigs decode-0, rack       ├ Group decode-0, required rack
    podgroups leader, worker                          │   ├ Group leader, min_pods 1
                                                      │   └ Group worker, min_pods 4
  podgroup router                                     └ Group router, min_pods 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...model.gang import Gang
from ...model.request import Group, Request
from ..field import Field
from ..gang_reading import GangReading, check_groups, check_names, check_objects, created, near, reading, some
from ..group_pods import key_of, pod_sets, read_pods
from ..minimums import missing_pods
from ..strictness import READ, UNUSED, Tree, check_fields
from . import constraints
from .constraints import Constraints, Topologies, read_cluster_topology

GROUP = "scheduler.grove.io"
KINDS = ((GROUP, "PodGang"), ("grove.io", "ClusterTopology"))
QUEUE = "kai.scheduler/queue"
VERSIONS = {"PodGang": (f"{GROUP}/v1alpha1",), "ClusterTopology": ("grove.io/v1alpha1",)}
FIELDS: Tree = {
    "podgroups": [
        {
            "name": READ,
            "podReferences": [{"namespace": READ, "name": READ}],
            "minReplicas": READ,
            "topologyConstraint": constraints.FIELDS,
        }
    ],
    "topologyConstraint": constraints.FIELDS,
    "topologyConstraintGroupConfigs": [{"name": READ, "podGroupNames": READ, "topologyConstraint": constraints.FIELDS}],
    "priorityClassName": READ,
    "reuseReservationRef": UNUSED,
}


def listed_pods(raw: Any) -> Iterator[str]:
    """namespace/name of the pods that a PodGang lists."""
    gang = Field.root(raw)
    for one in gang.at("spec", "podgroups").items():
        for reference in one.at("podReferences").items():
            yield _pod_key(gang, reference)


def read_gangs(objects: Sequence[Field], pods: Sequence[Field], known: Topologies, is_complete: bool) -> GangReading:
    """The gangs of these objects of KINDS. `known` are further topologies; `is_complete`: there are no others."""
    check_objects(objects, VERSIONS)
    own = [one for one in objects if one.at("kind").text() == "ClusterTopology"]
    topologies = {**known, **{one.at("metadata", "name").text(): read_cluster_topology(one, known) for one in own}}
    listed = {key for one in objects for key in listed_pods(one.value)}
    check_names(pod for pod in pods if key_of(pod) in listed)
    by_key = {key_of(pod): pod for pod in pods}
    read = [
        _PodGang(one, by_key, Constraints(one, topologies, is_complete))
        for one in objects
        if one.at("kind").text() == "PodGang"
    ]
    gangs = [one.read() for one in read]
    made = {name: topology for one in read for name, topology in one.constraints.made.items()}
    return reading(gangs, [*objects, *(pod for one in read for pod in one.used.values())], {**topologies, **made})


class _PodGang:
    """One PodGang; `used` are its pods, by namespace/name."""

    def __init__(self, gang: Field, pods: Mapping[str, Field], constraints: Constraints) -> None:
        self.gang, self.spec, self.constraints = gang, gang.at("spec"), constraints
        self.used: dict[str, Field] = {}
        self._pods = pods

    def read(self) -> Gang | None:
        check_fields(self.spec, FIELDS)
        name = self.gang.at("metadata", "name").text()
        tree = Group(tuple(self._groups()), name, self.constraints.read(self.spec))
        stamp = created(self.gang)
        check_groups(self.gang, sum(1 + len(group.groups) for group in tree.groups))
        if self.gang.report or any(pod.report for pod in self.used.values()):
            return None
        return Gang(
            "grove",
            key_of(self.gang).partition("/")[0],
            name,
            Request((tree,)),
            queue=self.gang.at("metadata", "labels", QUEUE).text(),
            priority_class=self.spec.at("priorityClassName").text(),
            created=stamp,
            missing=missing_pods(tree),
            kind="PodGang",
            where=self.gang.report.where,
        )

    def _groups(self) -> Iterator[Group]:
        """The groups of pod groups, then the pod groups that are in none of them."""
        leaves = self._leaves()
        grouped: dict[str, str] = {}
        for config in self.spec.at("topologyConstraintGroupConfigs").items():
            name, listed = config.at("name").text(), config.at("podGroupNames").items()
            members = tuple(leaves[one.text()] for one in listed if self._joins(one, name, leaves, grouped))
            yield Group(members, name, self.constraints.read(config))
        yield from (group for name, group in leaves.items() if name not in grouped)

    def _leaves(self) -> dict[str, Group]:
        leaves: dict[str, Group] = {}
        if not self.spec.at("podgroups").items():
            self.spec.at("podgroups").wrong("is missing", "list the groups of pods, each with name and podReferences")
        for one in self.spec.at("podgroups").items():
            name = one.at("name")
            if not name.text() or name.text() in leaves:
                text = f"{name.text()} is the name of two pod groups" if name.text() else "is missing"
                name.wrong(text, "give each pod group a name of its own")
            leaves[name.text()] = self._leaf(one)
        return leaves

    def _joins(self, name: Field, config: str, leaves: Mapping[str, Group], grouped: dict[str, str]) -> bool:
        """Whether a pod group can be part of this group: it exists, and is in no other."""
        if name.text() not in leaves:
            remedy = near(name.text(), leaves) + f"the pod groups are {some(leaves)}"
            name.wrong(f"there is no pod group {name.text()}", remedy)
            return False
        if name.text() in grouped:
            name.wrong(f"pod group {name.text()} is in {grouped[name.text()]} already", "list it once")
            return False
        grouped[name.text()] = config
        return True

    def _leaf(self, one: Field) -> Group:
        name = one.at("name").text()
        found = [pod for reference in one.at("podReferences").items() if (pod := self._pod(reference)) is not None]
        least = one.at("minReplicas").count(1)
        return Group(pod_sets(name, read_pods(found)), name, self.constraints.read(one), min_pods=least)

    def _pod(self, reference: Field) -> Field | None:
        """The pod of a reference; None if it does not exist yet."""
        key = _pod_key(self.gang, reference)
        if key in self.used:
            reference.wrong(f"pod {key} is listed twice", "list it once")
            return None
        if key in self._pods:
            self.used[key] = self._pods[key]
        return self._pods.get(key)


def _pod_key(gang: Field, reference: Field) -> str:
    namespace = reference.at("namespace").text() or key_of(gang).partition("/")[0]
    return f"{namespace}/{reference.at('name').text()}"
