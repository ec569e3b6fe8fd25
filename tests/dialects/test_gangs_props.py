"""Objects with anything anywhere are read or refused, and what is read can be written in every dialect."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.gangs import WRITERS, read_gangs
from closeknit.dialects.minimums import least_pods, missing_pods
from dialects.objects import Raw, named, pod

TOPOLOGY = {"mode": "hard", "highestTierAllowed": 1}
MEMBERS = [{"type": "Node", "selector": {"regexMatch": {"pattern": "^n"}}}]
POLICY = {"name": "p", "matchLabelKeys": ["part"], "subGroupSize": 1, "minSubGroups": 1, "networkTopology": TOPOLOGY}
PACK = {"packConstraint": {"required": "zone", "preferred": "rack"}}
CONSTRAINT = {"topology": [{"key": "rack"}]}
OBJECTS = [
    named("topology.volcano.sh/v1alpha1", "HyperNode", "s", {"tier": 1, "members": MEMBERS}),
    named(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        "v",
        {"minMember": 1, "networkTopology": TOPOLOGY, "subGroupPolicy": [POLICY]},
    ),
    named(
        "batch.volcano.sh/v1alpha1",
        "Job",
        "j",
        {"tasks": [{"name": "t", "replicas": 2, "template": {"spec": pod("x")["spec"]}}]},
    ),
    named("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "c", {"schedulingPolicy": {"basic": {}}}),
    named(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        "k",
        {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "schedulingConstraints": CONSTRAINT,
            "parentCompositePodGroupName": "c",
        },
    ),
    named("scheduling.k8s.io/v1alpha1", "Workload", "w", {"podGroups": [{"name": "g", "policy": {"basic": {}}}]}),
    named(
        "scheduler.grove.io/v1alpha1",
        "PodGang",
        "g",
        {
            "podgroups": [{"name": "a", "minReplicas": 1, "podReferences": [{"namespace": "default", "name": "d"}]}],
            "topologyConstraint": PACK,
            "topologyConstraintGroupConfigs": [{"name": "x", "podGroupNames": ["a"], "topologyConstraint": PACK}],
        },
    ),
    pod("a", labels={"part": "0"}, annotations={"scheduling.k8s.io/group-name": "v"}),
    pod("b", spec={"schedulingGroup": {"podGroupName": "k"}}),
    pod("c", spec={"workloadRef": {"name": "w", "podGroup": "g"}}),
    pod("d"),
]
NODES: dict[str, dict[str, str]] = {"n1": {"rack": "r", "zone": "z"}, "n2": {}}
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from(["", "a", "c", "k", "part", "tier-1", "(", "x" * 300]),
    st.lists(st.sampled_from([None, 1, "a", {}]), max_size=2),
    st.dictionaries(st.sampled_from(["name", "key", "gang", "mode"]), st.sampled_from([None, 1, "a", {}]), max_size=2),
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in an object below its kind and version."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [one for key, item in inner for one in paths(item, (*path, key))]
    return [path, *below] if path and path[0] not in ("apiVersion", "kind") else below


PLACES = [(number, path) for number, one in enumerate(OBJECTS) for path in paths(one)]


def _has(value: Any, key: Any) -> bool:
    """Whether the place is still there: an earlier change may have replaced what was around it."""
    if isinstance(value, dict):
        return key in value
    return isinstance(value, list) and isinstance(key, int) and key < len(value)


def changed(changes: list[tuple[tuple[int, tuple[Any, ...]], Any]]) -> list[Raw]:
    objects = deepcopy(OBJECTS)
    for (number, path), value in changes:
        at: Any = objects[number]
        for key in path[:-1]:
            at = at[key] if _has(at, key) else None
        if _has(at, path[-1]):
            at[path[-1]] = value
    return objects


@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), max_size=3), st.booleans())
def test_objects_are_read_or_refused_and_what_is_read_can_be_written(changes: list[Any], has_nodes: bool) -> None:
    found = read_gangs([("f", one) for one in changed(changes)], NODES if has_nodes else None)
    assert all(mistake.what and mistake.text for mistake in found.mistakes)
    for gang in found.gangs:
        [root] = gang.request.groups
        names = [one.name for one in root.pod_sets]
        assert len(names) == len(set(names))
        assert least_pods(root) >= 0 <= missing_pods(root)
        for write in WRITERS.values():
            written = write(gang, found.topologies)
            assert set(written.marks) == {key for one in root.pod_sets for key in one.pods}


def test_the_objects_are_right_as_they_are() -> None:
    found = read_gangs([("f", one) for one in OBJECTS], NODES)
    assert found.mistakes == ()
    assert [gang.name for gang in found.gangs] == ["c", "w-g", "v", "j", "g"]
