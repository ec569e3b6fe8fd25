"""Gangs written in another dialect: what is said there is what was said, and the rest is listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.dialects.gangs import WRITERS
from closeknit.dialects.pod_marks import remarked
from closeknit.dialects.written_gang import WrittenGang
from closeknit.model.gang import Gang
from closeknit.model.request import Apart, Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import Topology
from dialects.objects import Raw, pod, read

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
NETWORK = Topology("network", (ZONE, RACK))
CPU, BIG = Shape.of({"cpu": 1000}), Shape.of({"cpu": 4000})
IN_ZONE, IN_RACK = Constraint(ZONE, topology="network"), Constraint(RACK, topology="network")


def pods(name: str, count: int, shape: Shape = CPU) -> PodSet:
    return PodSet(name, count, shape, pods=tuple(f"default/{name}-{number}" for number in range(count)))


def leaf(name: str, count: int = 2, least: int | None = None, shape: Shape = CPU, bounds: Any = IN_RACK) -> Group:
    return Group((pods(name, count, shape),), name, bounds, min_pods=least)


def gang(*members: Group | PodSet, bounds: Constraint | None = IN_ZONE, **more: Any) -> Gang:
    return Gang("grove", "default", "train", Request((Group(members, "train", bounds, **more),)), queue="team")


def written(target: str, one: Gang, *topologies: Topology) -> WrittenGang:
    known = topologies or (NETWORK,)
    return WRITERS[target](one, {topology.name: topology for topology in known})


def lost(found: WrittenGang) -> list[str]:
    return [str(loss).removeprefix("gang default/train: ") for loss in found.losses]


def again(found: WrittenGang) -> Group:
    """The objects and pods, read as that dialect."""
    own = [remarked(pod(key.partition("/")[2]), marks) for key, marks in found.marks.items()]
    reading = read(*found.objects, *own, nodes=None)
    assert reading.mistakes == ()
    [one] = reading.gangs
    [root] = one.request.groups
    return root


def by_name(*objects: Raw) -> dict[str, Raw]:
    return {f"{one['kind']} {one['metadata']['name']}": one["spec"] for one in objects}


def test_kai_gets_a_pod_group_with_sub_groups_and_the_topology() -> None:
    tree = gang(
        leaf("a"),
        Group((leaf("b", 3, 2), leaf("c")), "set", min_groups=1),
        bounds=Constraint(ZONE, RACK, topology="network"),
    )
    found = written("kai", tree)
    assert lost(found) == []
    assert by_name(*found.objects) == {
        "Topology network": {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]},
        "PodGroup train": {
            "queue": "team",
            "topologyConstraint": {
                "topology": "network",
                "requiredTopologyLevel": ZONE,
                "preferredTopologyLevel": RACK,
            },
            "subGroups": [
                {"name": "a", "minMember": 2,
                 "topologyConstraint": {"topology": "network", "requiredTopologyLevel": RACK}},
                {"name": "set", "minSubGroup": 1},
                {"name": "b", "parent": "set", "minMember": 2,
                 "topologyConstraint": {"topology": "network", "requiredTopologyLevel": RACK}},
                {"name": "c", "parent": "set", "minMember": 2,
                 "topologyConstraint": {"topology": "network", "requiredTopologyLevel": RACK}},
            ],
        },
    }  # fmt: skip
    assert found.marks["default/b-0"].labels["kai.scheduler/subgroup-name"] == "b"
    assert found.marks["default/b-0"].annotations == {"pod-group-name": "train"}


def test_a_gang_written_for_kai_is_read_as_the_same_tree() -> None:
    root = again(written("kai", gang(leaf("a", 3, 2), leaf("b", 3, 1), min_groups=1)))
    assert (root.name, root.min_groups, root.constraint) == ("train", 1, IN_ZONE)
    assert [(one.name, one.min_pods, one.constraint) for one in root.groups] == [("a", 2, IN_RACK), ("b", 1, IN_RACK)]
    assert [one.count for one in root.pod_sets] == [3, 3]


def test_pods_beside_groups_become_a_group_of_their_own() -> None:
    found = written("kai", gang(pods("own", 2), leaf("a"), leaf("b"), min_pods=1, min_groups=1))
    assert [(one["name"], one.get("parent"), one.get("minMember"), one.get("minSubGroup"))
            for one in by_name(*found.objects)["PodGroup train"]["subGroups"]] == [
        ("train-pods", None, 1, None),
        ("train-groups", None, None, 1),
        ("a", "train-groups", 2, None),
        ("b", "train-groups", 2, None),
    ]  # fmt: skip


def test_kubernetes_gets_pod_groups_below_composites() -> None:
    found = written("upstream", gang(leaf("a", 3, 2), leaf("b"), min_groups=1))
    assert lost(found) == ["queue team: Kubernetes has no queues"]
    root = again(found)
    assert (root.name, root.min_groups, root.constraint) == ("train", 1, Constraint(ZONE, topology=ZONE))
    assert [(one.name, one.min_pods, one.constraint) for one in root.groups] == [
        ("train-a", 2, Constraint(RACK, topology=RACK)),
        ("train-b", 2, Constraint(RACK, topology=RACK)),
    ]
    assert [one.count for one in root.pod_sets] == [3, 2]


def test_volcano_gets_sub_groups_by_a_label_and_tiers_by_name() -> None:
    found = written("volcano", gang(leaf("a", 3, 2), leaf("b", 3, 2), min_groups=1))
    assert lost(found) == []
    assert [note.field for note in found.notes] == [
        "tier example.com-rack",
        "tier topology.kubernetes.io-zone",
    ]
    root = again(found)
    assert (root.min_groups, root.constraint) == (
        1,
        Constraint("topology.kubernetes.io-zone", "tier-1", topology="hypernodes"),
    )
    assert [(one.name, one.min_pods) for one in root.groups] == [("groups/a", 2), ("groups/b", 2)]


def test_a_gang_of_volcano_comes_back_with_its_tiers() -> None:
    tiers = Constraint("tier-2", "tier-1", topology="hypernodes")
    found = written("volcano", gang(leaf("a", bounds=Constraint("tier-1", topology="hypernodes")), bounds=tiers))
    assert again(found).constraint == tiers
    assert (lost(found), found.notes) == ([], [])


def test_kueue_gets_a_pod_group_with_slices() -> None:
    found = written("kueue", gang(leaf("a"), leaf("b")))
    assert lost(found) == []
    assert by_name(*found.objects) == {"Topology network": {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]}}
    marks = found.marks["default/b-1"]
    assert marks.annotations == {
        "kueue.x-k8s.io/pod-group-total-count": "4",
        "kueue.x-k8s.io/podset-required-topology": ZONE,
        "kueue.x-k8s.io/podset-slice-required-topology": RACK,
        "kueue.x-k8s.io/podset-slice-size": "2",
    }
    assert marks.labels == {
        "kueue.x-k8s.io/pod-group-name": "train",
        "kueue.x-k8s.io/queue-name": "team",
        "kueue.x-k8s.io/pod-group-pod-index": "3",
    }


TIERS = Constraint("tier-2", topology="hypernodes")
DEEP = Group((Group((Group((Group((leaf("a"),), "4"),), "3"),), "2"),), "1")


@pytest.mark.parametrize(
    ("target", "one", "losses"),
    [
        ("kai", gang(leaf("a"), bounds=TIERS),
         ["required tier-2: tiers of HyperNodes are not node labels, which KAI needs"]),
        ("kai", gang(leaf("a"), leaf("b"), min_groups=0), ["needs none of its groups: KAI needs at least one of them"]),
        ("kai", gang(leaf("a"), min_total=1), ["1 pods in all: KAI has minimums of single groups only"]),
        ("kai", gang(leaf("a"), apart=Apart(RACK)), [f"apart by {RACK}: KAI cannot keep groups apart"]),
        ("kai", gang(leaf("a"), order="spread"), ["order spread: KAI has one order for all groups"]),
        ("upstream", replace(gang(leaf("a", bounds=Constraint(ZONE, RACK, topology="network"))), queue=""),
         [f"group a: preferred {RACK}: Kubernetes has required labels only"]),
        ("upstream", replace(gang(DEEP), queue=""),
         ["6 levels of groups: Kubernetes nests at most 4 CompositePodGroups: the API server refuses these"]),
        ("upstream", replace(gang(leaf("a", least=0), bounds=None), queue=""),
         ["group a: needs nothing: a group of Kubernetes needs one pod or group at least"]),
        ("volcano", gang(Group((leaf("a"), leaf("b")), "set", IN_ZONE)),
         ["group set: a group of groups: Volcano has one level of sub-groups: it is left out"]),
        ("volcano", gang(leaf("a"), leaf("b", 3), min_groups=1),
         ["1 of its 2 groups: Volcano counts groups that are alike only"]),
        ("kueue", gang(leaf("a", 3, 2), bounds=None),
         ["group a: 2 of 3 pods: Kueue starts all pods of a group or none"]),
        ("kueue", gang(leaf("a"), leaf("b"), min_groups=1),
         ["1 of 2 groups: Kueue starts all pods of a group or none"]),
        ("kueue", gang(leaf("a"), leaf("b", 3)),
         ["constraints of 2 of its groups: Kueue has required slices of one size and shape only"]),
        ("kueue", gang(leaf("a"), leaf("b", shape=BIG)),
         ["constraints of 2 of its groups: Kueue has required slices of one size and shape only"]),
        ("kueue", gang(Group((leaf("a", bounds=None),), "mid", IN_RACK), bounds=None),
         ["constraints of 1 of its groups: Kueue has required slices of one size and shape only"]),
        ("kueue", gang(leaf("a", bounds=Constraint("feed", topology="power"))),
         ["constraints of 1 of its groups: Kueue reads the levels of a job from one Topology"]),
        ("kueue", gang(leaf("a", bounds=None), bounds=None, min_total=1),
         ["1 of 2 pods: Kueue starts all pods of a group or none"]),
        ("kai", gang(pods("own", 2), bounds=None, min_pods=0),
         ["needs none of its pods: KAI needs at least one of them"]),
        ("kai", replace(gang(leaf("a")), preemptible=False),
         ["not preemptible: KAI decides that by its own rules"]),
        ("volcano", replace(gang(leaf("a")), dialect="kubernetes", priority=7),
         ["priority 7: Volcano reads priorities from a PriorityClass, and the group names none"]),
        ("volcano", gang(leaf("a", bounds=Constraint(preferred=ZONE, topology="network"))),
         [f"group a: preferred {ZONE}: Volcano tries the lowest tier first, then each above it"]),
        ("volcano", gang(leaf("a"), Group((leaf("b"), leaf("c")), "set"), min_groups=1),
         ["1 of its 2 groups: Volcano counts groups that are alike only"]),
        ("kueue", gang(leaf("a", bounds=None), bounds=Constraint(ZONE, RACK, topology="network")),
         [f"preferred {RACK} beside required {ZONE}: Kueue allows one of the two; "
          "Closeknit reads both with the gate RequiredAndPreferred"]),
        ("kueue", gang(leaf("a", bounds=TIERS), bounds=None),
         ["constraints of 1 of its groups: tiers of HyperNodes are not node labels, which Kueue needs"]),
    ],
)  # fmt: skip
def test_what_a_target_cannot_say_is_listed(target: str, one: Gang, losses: list[str]) -> None:
    assert lost(written(target, one)) == losses


def test_a_minimum_of_all_groups_is_written_for_volcano_as_one_for_each() -> None:
    found = written("volcano", gang(leaf("a", 2), leaf("b", 3), min_groups=2))
    assert lost(found) == []
    policies = by_name(*found.objects)["PodGroup train"]["subGroupPolicy"]
    assert [(one["name"], one["subGroupSize"], one["minSubGroups"]) for one in policies] == [("a", 2, 1), ("b", 3, 1)]


def test_pods_beside_groups_keep_their_minimum_in_volcano() -> None:
    root = again(written("volcano", gang(pods("own", 2), leaf("a", 3, 2, bounds=None), bounds=None)))
    assert [(one.name, one.min_pods) for one in root.groups] == [("groups/a", 2), ("groups/train-pods", 2)]
    assert root.min_groups == 2


def test_parts_with_one_plain_name_are_told_apart() -> None:
    tree = gang(Group((leaf("decode"), leaf("Decode"), leaf("x" * 70)), "decode"), leaf("x" * 71))
    for target in ("kai", "upstream", "volcano"):
        found = written(target, tree)
        assert sorted(one.count for one in again(found).pod_sets) == [2, 2, 2, 2]
        labels = {value for marks in found.marks.values() for value in marks.labels.values()}
        assert all(len(value) <= 63 for value in labels)


def test_a_topology_that_is_not_known_has_to_exist() -> None:
    tree = gang(leaf("a"), bounds=Constraint(ZONE, topology="other"))
    for target in ("kai", "kueue"):
        found = written(target, tree, NETWORK)
        assert [str(note) for note in found.notes] == [
            "gang default/train: Topology other: is not in the files; it has to exist"
        ]


def test_kueue_counts_pods_that_do_not_exist_yet() -> None:
    found = written("kueue", gang(leaf("a", 1, 2), leaf("b", 1, 3)))
    assert found.marks["default/a-0"].annotations["kueue.x-k8s.io/pod-group-total-count"] == "5"


def test_running_pods_keep_the_first_places_of_their_slice() -> None:
    bound = replace(pods("a", 1), running=("n1",))
    found = written("kueue", gang(Group((bound,), "a", IN_RACK), leaf("b")))
    index = "kueue.x-k8s.io/pod-group-pod-index"
    assert {key: marks.labels[index] for key, marks in found.marks.items()} == {
        "default/a-0": "1",
        "default/b-0": "2",
        "default/b-1": "3",
    }


def test_marks_of_other_dialects_are_replaced() -> None:
    old = pod(
        "a",
        spec={"schedulerName": "volcano", "schedulingGroup": {"podGroupName": "old"}},
        labels={"kai.scheduler/subgroup-name": "old", "app": "x"},
        annotations={"scheduling.k8s.io/group-name": "old"},
    )
    marks = written("upstream", gang(leaf("a"))).marks["default/a-0"]
    new = remarked(old, marks)
    assert new["metadata"] == {"name": "a", "labels": {"app": "x"}}
    assert new["spec"]["schedulingGroup"] == {"podGroupName": "train-a"}
    assert "schedulerName" not in new["spec"]
