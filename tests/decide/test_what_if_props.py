"""A story always ends, and ends where nothing more would happen."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings

from closeknit.decide.obstacles import Obstacles
from closeknit.decide.what_if import MOST_TIMES, StepKind, Story, play
from closeknit.model.quota import FlavorResource, quotas
from closeknit.model.workload import Workload, usage_of

from .clusters import Cluster, clusters

EXAMPLES = settings(max_examples=50)
NOW = 100.0


def everybody(cluster: Cluster) -> list[Workload]:
    return [one for _, arriving in cluster.waves for one in arriving]


def told(cluster: Cluster) -> Story:
    return play(cluster.scheduler(), everybody(cluster), NOW)


@EXAMPLES
@given(cluster=clusters())
def test_no_workload_is_preempted_twice_by_the_same_one_nor_many_times_at_all(cluster: Cluster) -> None:
    preempted = [step for step in told(cluster).steps if step.kind is StepKind.PREEMPTED and step.by is not None]
    pairs = Counter((step.workload.key, step.by.key) for step in preempted if step.by is not None)
    assert max(pairs.values(), default=0) <= 1
    assert max(Counter(step.workload.key for step in preempted).values(), default=0) <= MOST_TIMES


@EXAMPLES
@given(cluster=clusters())
def test_every_workload_is_admitted_or_has_an_obstacle(cluster: Cluster) -> None:
    scheduler = cluster.scheduler()
    story = play(scheduler, everybody(cluster), NOW)
    obstacles = Obstacles(scheduler, story, NOW)
    assert set(story.workloads) == {one.key for one in everybody(cluster)}
    for one in story.workloads.values():
        assert one.admitted == (one.key in scheduler.world.ledger)
        assert one.admitted or obstacles.of(one).reason, one.key


@EXAMPLES
@given(cluster=clusters())
def test_steps_add_up_to_the_final_state(cluster: Cluster) -> None:
    story = told(cluster)
    running: dict[str, Workload] = {}
    for step in story.steps:
        if step.kind is StepKind.ADMITTED:
            assert step.workload.key not in running
            running[step.workload.key] = step.workload
        elif step.kind is StepKind.PREEMPTED:
            del running[step.workload.key]
    assert running == {key: one for key, one in story.workloads.items() if one.admitted}


@EXAMPLES
@given(cluster=clusters())
def test_what_is_held_at_the_end_is_within_quota(cluster: Cluster) -> None:
    """No root of a tree gives out more than its queues and cohorts have together."""
    scheduler = cluster.scheduler()
    story = play(scheduler, everybody(cluster), NOW)
    used: Counter[tuple[str, FlavorResource]] = Counter()
    for one in story.workloads.values():
        if one.status.admission is not None:
            root = scheduler.world.node_of(one.status.admission.queue).root.name
            used.update({(root, fr): amount for fr, amount in usage_of(one.status.admission).items()})
    there: Counter[tuple[str, FlavorResource]] = Counter()
    nodes = [(scheduler.world.node_of(one.name), one.groups) for one in cluster.queues]
    nodes += [(scheduler.world.tree.cohorts[one.name], one.groups) for one in cluster.cohorts]
    for node, groups in nodes:
        there.update({(node.root.name, fr): quota.nominal for fr, quota in quotas(groups)})
    assert all(amount <= there[key] for key, amount in used.items())


def preemptions(story: Story) -> dict[tuple[str, str], str]:
    """The reason of each preemption, by victim and preemptor."""
    found = (step for step in story.steps if step.kind is StepKind.PREEMPTED)
    return {(step.workload.key, step.by.key): step.reason for step in found if step.by}


@EXAMPLES
@given(cluster=clusters())
def test_played_again_from_its_end_nothing_new_happens(cluster: Cluster) -> None:
    """Only a preemption that would repeat forever, depending on which heads share a cycle, may occur again.

    The head of a StrictFIFO queue that tries several flavors reserves in one after the other: which workloads meet
    which reservation depends on the cycle.
    """
    story = told(cluster)
    if story.cut or any(one.strategy == "StrictFIFO" and len(one.flavors) > 1 for one in cluster.queues):
        return
    again = play(cluster.scheduler(), story.workloads.values(), NOW)
    assert not preemptions(again).keys() - preemptions(story).keys()
    assert preemptions(again) or not again.steps
