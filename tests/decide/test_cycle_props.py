"""What holds after every cycle, from an empty cluster on, with our gates on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from closeknit.model.workload import PodSetAssignment, Workload

from .clusters import Cluster, Story, clusters

EXAMPLES = settings(max_examples=40)
victims_may_stay = pytest.mark.parametrize("victims_stop", [True, False], ids=["victims-stop", "victims-stay"])


def after_every_cycle(cluster: Cluster, victims_stop: bool) -> Iterator[Story]:
    story = Story(cluster, victims_stop)
    while story.step() is not None:
        yield story


def given_sets(one: Workload) -> dict[str, PodSetAssignment]:
    assert one.status.admission is not None
    return {each.name: each for each in one.status.admission.pod_sets}


@victims_may_stay
@EXAMPLES
@given(cluster=clusters())
def test_no_queue_and_no_cohort_ever_holds_more_than_quota_and_limits_allow(
    victims_stop: bool, cluster: Cluster
) -> None:
    for story in after_every_cycle(cluster, victims_stop):
        assert cluster.reference.broken(story.used()) == []


@victims_may_stay
@EXAMPLES
@given(cluster=clusters())
def test_the_tree_counts_what_admissions_say(victims_stop: bool, cluster: Cluster) -> None:
    for story in after_every_cycle(cluster, victims_stop):
        tree, used = story.scheduler.world.tree, story.used()
        for name, node in [*tree.queues.items(), *tree.cohorts.items()]:
            sign = f"{'q' if node.is_queue else 'c'}:{name}"
            for fr in cluster.reference.frs:
                assert node.usage.get(fr, 0) == cluster.reference.used(sign, fr, used)


def pods_by_leaf(cluster: Cluster, story: Story) -> dict[tuple[str, ...], dict[str, int]]:
    """What admitted workloads take of every host, or of every rack where places are racks."""
    taken: dict[tuple[str, ...], dict[str, int]] = {}
    for one in story.holding:
        for name, mine in given_sets(one).items():
            pod_set = one.pod_set(name)
            assert pod_set is not None
            for path, count in mine.topology.domains if mine.topology is not None else ():
                leaf = taken.setdefault(path, {})
                for resource, amount in {**dict(pod_set.shape.requests), "pods": 1}.items():
                    leaf[resource] = leaf.get(resource, 0) + amount * count
    return taken


def room_by_leaf(cluster: Cluster) -> dict[tuple[str, ...], dict[str, int]]:
    """What hosts hold, by name; and what the nodes of a rack hold together, by path."""
    room: dict[tuple[str, ...], dict[str, int]] = {}
    for flavor in cluster.flavors:
        topology = cluster.topology(flavor.name)
        if topology is None:
            continue
        for node in cluster.nodes:
            if any(node.labels[key] != value for key, value in flavor.labels.items()):
                continue
            path = (node.name,) if topology.ends_at_host else tuple(node.labels[key] for key in topology.levels)
            leaf = room.setdefault(path, {})
            if not topology.ends_at_host or not leaf:
                for resource, amount in node.allocatable.items():
                    leaf[resource] = leaf.get(resource, 0) + amount
    return room


@victims_may_stay
@EXAMPLES
@given(cluster=clusters())
def test_no_node_is_promised_more_than_it_has(victims_stop: bool, cluster: Cluster) -> None:
    room = room_by_leaf(cluster)
    for story in after_every_cycle(cluster, victims_stop):
        for path, taken in pods_by_leaf(cluster, story).items():
            for resource, amount in taken.items():
                assert amount <= room[path].get(resource, 0), (path, resource)


@victims_may_stay
@EXAMPLES
@given(cluster=clusters())
def test_a_workload_is_admitted_whole_or_not_at_all(victims_stop: bool, cluster: Cluster) -> None:
    for story in after_every_cycle(cluster, victims_stop):
        for one in story.holding:
            sets = given_sets(one)
            assert list(sets) == [part.name for part in one.parts]
            for part in one.parts:
                mine, pod_set = sets[part.name], one.pod_set(part.name)
                assert pod_set is not None
                least = pod_set.count if part.min_count is None else part.min_count
                assert least <= mine.count <= pod_set.count
                assert dict(mine.usage) == {name: amount * mine.count for name, amount in part.requests.items()}
                assert set(mine.flavors) == set(part.requests)
                if pod_set.constraint is not None:
                    assert mine.topology is not None
                    assert mine.topology.pods == mine.count


def ancestors(cluster: Cluster, mine: PodSetAssignment, level: str) -> dict[str, int]:
    """Pods by domain of a level."""
    assert mine.topology is not None
    labels = {node.name: node.labels for node in cluster.nodes}
    found: dict[str, int] = {}
    for path, count in mine.topology.domains:
        at = labels[path[0]][level] if mine.topology.by_host else path[mine.topology.levels.index(level)]
        found[at] = found.get(at, 0) + count
    return found


@victims_may_stay
@EXAMPLES
@given(cluster=clusters())
def test_required_levels_and_slices_are_kept(victims_stop: bool, cluster: Cluster) -> None:
    for story in after_every_cycle(cluster, victims_stop):
        for one in story.holding:
            sets, groups = given_sets(one), dict[int, set[str]]()
            for number, pod_set in (
                (at, each) for at, group in enumerate(one.request.groups) for each in group.pod_sets
            ):
                constraint, mine = pod_set.constraint, sets[pod_set.name]
                if constraint is None:
                    continue
                if constraint.required:
                    domains = ancestors(cluster, mine, constraint.required)
                    groups.setdefault(number, set()).update(domains)
                for layer in constraint.slices if pod_set.name != "leader" else ():
                    domains = ancestors(cluster, mine, layer.level)
                    assert all(count % (layer.size or 1) == 0 for count in domains.values())
            assert all(len(domains) == 1 for domains in groups.values())
