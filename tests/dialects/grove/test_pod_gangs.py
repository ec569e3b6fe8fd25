"""Grove's PodGangs, with the topology that they name."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.model.request import Constraint
from closeknit.model.topology import Topology
from dialects.objects import Raw, gang, named, pod, pods_of, read, said

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"
TOPOLOGY = named(
    "grove.io/v1alpha1",
    "ClusterTopology",
    "net",
    {"levels": [{"domain": domain, "key": key} for domain, key in (("zone", ZONE), ("rack", RACK), ("host", HOST))]},
)


def pack(required: str = "", preferred: str = "") -> Raw:
    given = {key: value for key, value in (("required", required), ("preferred", preferred)) if value}
    return {"topologyConstraint": {"packConstraint": given}}


def part(name: str, least: int, count: int = 0, **more: Any) -> Raw:
    references = [{"namespace": "default", "name": f"{name}-{number}"} for number in range(count or least)]
    return {"name": name, "minReplicas": least, "podReferences": references, **more}


def config(name: str, *groups: str, **more: Any) -> Raw:
    return {"name": name, "podGroupNames": list(groups), **more}


def pod_gang(*parts: Raw, topology: str = "net", **spec: Any) -> Raw:
    notes = {"grove.io/topology-name": topology} if topology else {}
    return named(
        "scheduler.grove.io/v1alpha1",
        "PodGang",
        "serve-0",
        {"podgroups": list(parts), **spec},
        annotations=notes,
        labels={"kai.scheduler/queue": "team"},
    )


def pods(*counts: tuple[str, int]) -> list[Raw]:
    return [pod(f"{name}-{number}") for name, count in counts for number in range(count)]


def test_a_gang_without_pod_groups_is_refused() -> None:
    assert said(read(pod_gang(topology=""))) == [
        "PodGang serve-0: spec.podgroups: is missing; list the groups of pods, each with name and podReferences"
    ]


def test_more_groups_than_are_supported_are_refused() -> None:
    parts = [{"name": f"p{number}"} for number in range(10_000)]
    assert said(read(pod_gang(*parts, topology=""))) == [
        "PodGang serve-0: metadata.name: has 10000 groups below it; at most 10000 are supported"
    ]


def test_pod_groups_are_leaves_and_group_configs_the_groups_around_them() -> None:
    parts = [part("leader", 1), part("worker", 2, 3, **pack(RACK, HOST)), part("router", 1)]
    configs = [config("decode", "leader", "worker", **pack(RACK))]
    wanted = pod_gang(*parts, topologyConstraintGroupConfigs=configs, **pack(ZONE, RACK), priorityClassName="high")
    found = gang(wanted, TOPOLOGY, *pods(("leader", 1), ("worker", 3), ("router", 1)))
    [root] = found.request.groups
    assert (found.dialect, found.queue, found.priority_class, found.missing) == ("grove", "team", "high", 0)
    assert (root.constraint, root.min_groups) == (Constraint(ZONE, RACK, topology="net"), None)
    decode, router = root.groups
    assert (decode.name, decode.constraint) == ("decode", Constraint(RACK, topology="net"))
    assert [(one.name, one.min_pods, one.constraint) for one in decode.groups] == [
        ("leader", 1, None),
        ("worker", 2, Constraint(RACK, HOST, topology="net")),
    ]
    assert (router.name, router.min_pods) == ("router", 1)
    assert pods_of(root)["worker"] == ("worker-0", "worker-1", "worker-2")


def test_referenced_pods_that_do_not_exist_yet_are_missing() -> None:
    assert gang(pod_gang(part("a", 3)), TOPOLOGY, *pods(("a", 1))).missing == 2


def test_without_a_named_topology_the_labels_are_one_of_their_own() -> None:
    found = read(pod_gang(part("a", 1, **pack(RACK)), topology="", **pack(ZONE, RACK)), *pods(("a", 1)))
    assert said(found) == []
    assert dict(found.topologies) == {
        f"{ZONE},{RACK}": Topology(f"{ZONE},{RACK}", (ZONE, RACK)),
        RACK: Topology(RACK, (RACK,)),
    }


def test_a_topology_of_another_kind_may_be_named() -> None:
    known = {"net": Topology("net", (ZONE, RACK))}
    assert said(read(pod_gang(part("a", 1), **pack(RACK)), *pods(("a", 1)), topologies=known)) == []


def test_the_topology_of_another_scheduler_among_the_files_may_be_named() -> None:
    theirs = named("kai.scheduler/v1alpha1", "Topology", "net", {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]})
    found = read(pod_gang(part("a", 1), **pack(RACK)), theirs, *pods(("a", 1)))
    assert said(found) == []
    assert found.topologies == {"net": Topology("net", (ZONE, RACK))}


def test_a_topology_that_is_not_known_yet_is_taken_as_written() -> None:
    found = read(pod_gang(part("a", 1), topology="other", **pack("row")), TOPOLOGY, *pods(("a", 1)), nodes=None)
    assert said(found) == []
    assert found.gangs[0].request.groups[0].constraint == Constraint("row", topology="other")
    assert said(read(pod_gang(part("a", 1), **pack("row")), TOPOLOGY, nodes=None)) != []


@pytest.mark.parametrize(
    ("wrong", "mistake"),
    [
        (
            pod_gang(part("a", 1), topology="nett"),
            "metadata.annotations[grove.io/topology-name]: there is no topology nett; "
            "did you mean net? give its ClusterTopology or Topology with the other files",
        ),
        (
            pod_gang(part("a", 1), **pack("rack")),
            f"spec.topologyConstraint.packConstraint.required: net has no level rack; "
            f"did you mean {RACK}? its levels are {ZONE}, {RACK}, {HOST}",
        ),
        (
            pod_gang(part("a", 1), **pack(RACK, ZONE)),
            f"spec.topologyConstraint.packConstraint.preferred: {ZONE} is above the required level {RACK}; "
            "prefer a level below the required one",
        ),
        (
            pod_gang(part("a", 1), part("a", 1)),
            "spec.podgroups[1].name: a is the name of two pod groups; give each pod group a name of its own",
        ),
        (
            pod_gang(part("a", 1), topologyConstraintGroupConfigs=[config("c", "b")]),
            "spec.topologyConstraintGroupConfigs[0].podGroupNames[0]: there is no pod group b; the pod groups are a",
        ),
        (
            pod_gang(part("a", 1), topologyConstraintGroupConfigs=[config("c", "a"), config("d", "a")]),
            "spec.topologyConstraintGroupConfigs[1].podGroupNames[0]: pod group a is in c already; list it once",
        ),
        (
            pod_gang(part("a", 1), topologyConstraintGroupConfigs=[config("c", "a", "a")]),
            "spec.topologyConstraintGroupConfigs[0].podGroupNames[1]: pod group a is in c already; list it once",
        ),
        (
            pod_gang(podGroups=[]),
            "spec.podGroups: is not a known field; did you mean podgroups?",
        ),
    ],
)
def test_a_gang_that_cannot_be_kept_is_refused(wrong: Raw, mistake: str) -> None:
    found = read(wrong, TOPOLOGY, *pods(("a", 1)))
    assert said(found)[0] == f"PodGang serve-0: {mistake}"
    assert found.gangs == ()


def test_a_pod_is_in_one_pod_group() -> None:
    twice = pod_gang(part("a", 1), {**part("b", 1), "podReferences": [{"name": "a-0"}]})
    assert said(read(twice, TOPOLOGY, *pods(("a", 1)))) == [
        "PodGang serve-0: spec.podgroups[1].podReferences[0]: pod default/a-0 is listed twice; list it once"
    ]


def test_a_cluster_topology_needs_levels_with_different_keys() -> None:
    levels = [{"domain": "rack", "key": RACK}, {"domain": "row", "key": RACK}]
    same = named("grove.io/v1alpha1", "ClusterTopology", "net", {"levels": levels})
    assert said(read(same)) == [
        f"ClusterTopology net: spec.levels[1].key: {RACK} is the key of two levels; remove one of them"
    ]
