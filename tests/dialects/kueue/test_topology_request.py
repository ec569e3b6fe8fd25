"""Pod sets of Kueue's dialect as a tree: one level of groups, by group name."""

from __future__ import annotations

from closeknit.dialects.kueue.objects import workload
from closeknit.dialects.kueue.topology_request import grouped
from closeknit.model.request import Constraint, Group, PodSet, Ranks, Request
from closeknit.model.shape import Shape

LEADER, WORKERS, STORE, ALONE = (PodSet(name, 2, Shape.of({})) for name in ("leader", "workers", "store", "alone"))


def test_pod_sets_of_one_group_are_together_at_the_position_of_the_first() -> None:
    given = [(LEADER, "g"), (STORE, None), (WORKERS, "g"), (ALONE, "")]
    assert [(group.name, group.members) for group in grouped(given).groups] == [
        ("g", (LEADER, WORKERS)),
        (None, (STORE,)),
        ("", (ALONE,)),
    ]


def test_the_pods_of_two_pod_sets_are_numbered_through_those_of_more_each_by_itself() -> None:
    assert list(grouped((one, "g") for one in (LEADER, WORKERS)).numbered) == [(LEADER, WORKERS)]
    assert list(grouped((one, "g") for one in (LEADER, WORKERS, STORE)).numbered) == []


def test_a_workload_is_read_as_the_tree_that_its_pod_sets_name() -> None:
    asks = {"required": "rack", "podSetGroupName": "g", "podIndexLabel": "i"}
    sets = [
        {"name": "leader", "count": 1, "topologyRequest": asks},
        {"name": "store", "count": 2, "topologyRequest": {"preferred": "block"}},
        {"name": "workers", "count": 4, "topologyRequest": asks},
    ]
    one = workload({"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"podSets": sets}})
    shape, rack, by_index = Shape.of({}), Constraint("rack"), Ranks("i")
    pair = (PodSet("leader", 1, shape, rack, by_index), PodSet("workers", 4, shape, rack, by_index))
    assert one.request == Request((Group(pair, "g"), Group((PodSet("store", 2, shape, Constraint(None, "block")),))))
    assert [part.name for part in one.parts] == ["leader", "store", "workers"], "as they are written"
